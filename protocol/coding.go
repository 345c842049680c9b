package protocol

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// The content codings of version 1 (sections 4, 5 and 7; reading R56).
const (
	// CodingGzip is RFC 1952, of one or more members.
	CodingGzip = "gzip"
	// CodingZstd is RFC 8878, of one or more frames.
	CodingZstd = "zstd"
	// CodingIdentity is HTTP's name for no coding; records leave the field out.
	CodingIdentity = "identity"
)

// zstdWindow is the largest zstd window that is decoded, in bytes: what the zstd
// command line takes without being told of more. It bounds a decoder's memory.
const zstdWindow = 128 << 20

// UnknownEncodingError is the error for a content coding that this package does
// not have. A body in such a coding is an error, and never passed on packed
// (reading R30).
type UnknownEncodingError struct {
	// Encoding is the coding as it was named.
	Encoding string
}

// Error names the coding and those that are known.
func (e *UnknownEncodingError) Error() string {
	return fmt.Sprintf("unknown content encoding %.64q (known: gzip, zstd)", e.Encoding)
}

// Decompress returns the decoded body of r, for the encoding of a record or of a
// Content-Encoding header: "", identity, gzip or zstd, exactly so written. All
// members of a gzip body and all frames of a zstd body are decoded, one after the
// other; a body of none is an error, io.ErrUnexpectedEOF, as is one cut short. Any
// other encoding, a list of several too, is an [*UnknownEncodingError].
//
// It waits for the first bytes of r. The caller closes the result, which frees the
// decoder and leaves r open. A zstd frame whose window is over 128 MiB is refused.
func Decompress(encoding string, r io.Reader) (io.ReadCloser, error) {
	switch encoding {
	case "", CodingIdentity:
		return io.NopCloser(r), nil
	case CodingGzip:
		body, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("gzip body: %w", unexpectedEOF(err))
		}
		return &decompressor{coding: CodingGzip, body: body, close: body.Close}, nil
	case CodingZstd:
		buffered := bufio.NewReader(r)
		if _, err := buffered.Peek(1); err != nil {
			return nil, fmt.Errorf("zstd body: %w", unexpectedEOF(err))
		}
		// Without concurrency the decoder starts no goroutines.
		body, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd body: %w", err)
		}
		return &decompressor{coding: CodingZstd, body: body, close: func() error { body.Close(); return nil }}, nil
	}
	return nil, &UnknownEncodingError{Encoding: encoding}
}

// unexpectedEOF makes the end of a body that has not begun an error.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// decompressor puts the coding's name into the errors of its body.
type decompressor struct {
	coding string
	body   io.Reader
	close  func() error
}

func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s body: %w", d.coding, err)
	}
	return n, err
}

func (d *decompressor) Close() error { return d.close() }

// Compress returns body in an encoding as [Decompress] takes them, as one member or
// frame. With no encoding, the result is body itself. The same body gives the same
// bytes with one version of this package.
func Compress(encoding string, body []byte) ([]byte, error) {
	switch encoding {
	case "", CodingIdentity:
		return body, nil
	case CodingGzip:
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(body); err != nil {
			return nil, fmt.Errorf("gzip body: %w", err)
		}
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("gzip body: %w", err)
		}
		return packed.Bytes(), nil
	case CodingZstd:
		// An empty body must be a frame too.
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
		if err != nil {
			return nil, fmt.Errorf("zstd body: %w", err)
		}
		packed := w.EncodeAll(body, nil)
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("zstd body: %w", err)
		}
		return packed, nil
	}
	return nil, &UnknownEncodingError{Encoding: encoding}
}
