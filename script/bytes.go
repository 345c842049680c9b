package script

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Plain returns the decoded body.
func (b Body) Plain() ([]byte, error) {
	switch set := b.set(); {
	case len(set) == 0:
		return nil, fmt.Errorf("a body needs text, json, base64 or repeat")
	case len(set) > 1:
		return nil, fmt.Errorf("a body has one of text, json, base64 and repeat, not %s", strings.Join(set, " and "))
	case b.Text != nil:
		return []byte(*b.Text), nil
	case b.JSON != nil:
		return b.JSON, nil
	case b.Base64 != nil:
		data, err := base64.StdEncoding.Strict().DecodeString(*b.Base64)
		if err != nil {
			return nil, fmt.Errorf("base64 of a body: %w", err)
		}
		return data, nil
	default:
		if b.Repeat.Times < 0 {
			return nil, fmt.Errorf("a body can't be repeated %d times", b.Repeat.Times)
		}
		return bytes.Repeat([]byte(b.Repeat.Text), b.Repeat.Times), nil
	}
}

// Stored returns the body as it is stored and delivered: in its encoding, split
// into its frames.
func (b Body) Stored() ([]byte, error) {
	plain, err := b.Plain()
	if err != nil || b.Encoding == "" {
		return plain, err
	}
	frames := max(b.Frames, 1)
	var out []byte
	for i := range frames {
		part := plain[len(plain)*i/frames : len(plain)*(i+1)/frames]
		if out, err = pack(out, b.Encoding, part); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// DefaultType is the content type of an entry whose script names none: what the
// kind of value suggests.
func (b Body) DefaultType() string {
	switch {
	case b.JSON != nil:
		return "application/json"
	case b.Base64 != nil:
		return "application/octet-stream"
	}
	return "text/plain"
}

func (b Body) set() (set []string) {
	if b.Text != nil {
		set = append(set, "text")
	}
	if b.JSON != nil {
		set = append(set, "json")
	}
	if b.Base64 != nil {
		set = append(set, "base64")
	}
	if b.Repeat != nil {
		set = append(set, "repeat")
	}
	return set
}

// pack appends one frame of data to out.
func pack(out []byte, encoding string, data []byte) ([]byte, error) {
	switch encoding {
	case "gzip":
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		return append(out, b.Bytes()...), nil
	case "zstd":
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer w.Close()
		return w.EncodeAll(data, out), nil
	}
	return nil, fmt.Errorf("a body is encoded with gzip or zstd, not %q", encoding)
}
