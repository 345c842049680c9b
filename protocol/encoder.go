package protocol

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrInvalidUTF8 is wrapped by the errors of encoding a text that is not UTF-8. It
// is refused, and never sent as U+FFFD (P3/utf8).
var ErrInvalidUTF8 = errors.New("invalid UTF-8")

// Encodable is [Input] or [Output], and nothing else.
type Encodable interface {
	// encodeTo writes the fields in the order of the schema.
	encodeTo(o *objectWriter)
}

// streamedData is the length of a body in bytes past which an [Encoder] encodes
// it in pieces instead of holding its base64.
const streamedData = 24 << 10

// Encoder writes records as section 3 asks: each is one complete object in UTF-8
// and one LF, without empty fields, mark or line breaks within, and its data in
// padded base64 of the standard alphabet. The same record gives the same bytes. An
// Encoder is not safe for concurrent use.
type Encoder struct {
	w     io.Writer
	buf   []byte
	chunk []byte
	err   error
}

// NewEncoder returns an encoder that writes to w, and buffers nothing between
// records.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w} }

// Encode writes one record and an LF. A record whose body has at most 24 KiB is
// one Write; a larger body is encoded in pieces as it is written, so that its
// base64 is never held as a whole.
//
// A record with a text that is not UTF-8 is refused with [ErrInvalidUTF8] before
// anything is written. An error of the writer leaves the stream in the middle of a
// record; it comes again on every later call.
func (e *Encoder) Encode(record Encodable) error {
	if e.err != nil {
		return e.err
	}
	o := objectWriter{dst: append(e.buf[:0], '{'), streams: true}
	record.encodeTo(&o)
	if o.err != nil {
		return o.err
	}
	o.dst = append(o.dst, '}', '\n')
	if cap(o.dst) <= largeRecord {
		e.buf = o.dst
	}
	if e.err = e.write(&o); e.err != nil {
		e.err = fmt.Errorf("writing a record: %w", e.err)
	}
	return e.err
}

func (e *Encoder) write(o *objectWriter) error {
	if len(o.data) == 0 {
		_, err := e.w.Write(o.dst)
		return err
	}
	if _, err := e.w.Write(o.dst[:o.dataAt]); err != nil {
		return err
	}
	for rest := o.data; len(rest) > 0; {
		// A multiple of three, so that only the last piece is padded.
		piece := rest[:min(len(rest), streamedData)]
		rest = rest[len(piece):]
		e.chunk = base64.StdEncoding.AppendEncode(e.chunk[:0], piece)
		if _, err := e.w.Write(e.chunk); err != nil {
			return err
		}
	}
	_, err := e.w.Write(o.dst[o.dataAt:])
	return err
}

// AppendInput appends the record to dst as [Encoder.Encode] would write it, but
// with no LF. After an error dst is returned as it was.
func AppendInput(dst []byte, in Input) ([]byte, error) { return appendRecord(dst, in) }

// AppendOutput appends the record to dst as [Encoder.Encode] would write it, but
// with no LF. After an error dst is returned as it was.
func AppendOutput(dst []byte, out Output) ([]byte, error) { return appendRecord(dst, out) }

func appendRecord(dst []byte, record Encodable) ([]byte, error) {
	o := objectWriter{dst: append(dst, '{')}
	record.encodeTo(&o)
	if o.err != nil {
		return dst, o.err
	}
	return append(o.dst, '}'), nil
}

func (in Input) encodeTo(o *objectWriter) {
	o.text("event", in.Event)
	o.text("url", in.URL)
	o.integer("size", in.Size)
	o.text("content-type", in.ContentType)
	o.text("content-encoding", in.ContentEncoding)
	o.text("schema-url", in.SchemaURL)
	o.text("name", in.Name)
	o.stringMap("metadata", in.Metadata)
	o.binary("data", in.Data)
}

func (out Output) encodeTo(o *objectWriter) {
	o.text("uri", out.URI)
	o.binary("data", out.Data)
	o.text("content-type", out.ContentType)
	o.text("content-encoding", out.ContentEncoding)
	o.text("schema-url", out.SchemaURL)
	o.text("name", out.Name)
	o.stringMap("metadata", out.Metadata)
	o.boolean("fork", out.Fork)
	o.text("session", out.Session)
}

// objectWriter appends the fields of one object that are not empty. After an
// error it does nothing more.
type objectWriter struct {
	dst    []byte
	fields int
	err    error
	// streams asks to leave a large body out of dst: it is then in data, and
	// belongs at dataAt.
	streams bool
	data    []byte
	dataAt  int
}

func (o *objectWriter) begin(name string) {
	if o.fields++; o.fields > 1 {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(append(append(o.dst, '"'), name...), '"', ':')
}

func (o *objectWriter) quote(name, text string) {
	if !utf8.ValidString(text) {
		o.err = fmt.Errorf("encoding field %q, %.64q: %w", name, text, ErrInvalidUTF8)
		return
	}
	o.dst, o.err = jsontext.AppendQuote(o.dst, text)
}

func (o *objectWriter) text(name, text string) {
	if o.err == nil && text != "" {
		o.begin(name)
		o.quote(name, text)
	}
}

func (o *objectWriter) integer(name string, n int64) {
	if o.err == nil && n != 0 {
		o.begin(name)
		o.dst = strconv.AppendInt(o.dst, n, 10)
	}
}

func (o *objectWriter) boolean(name string, b bool) {
	if o.err == nil && b {
		o.begin(name)
		o.dst = append(o.dst, "true"...)
	}
}

func (o *objectWriter) binary(name string, data []byte) {
	if o.err != nil || len(data) == 0 {
		return
	}
	o.begin(name)
	o.dst = append(o.dst, '"')
	if o.streams && len(data) > streamedData {
		o.data, o.dataAt = data, len(o.dst)
	} else {
		o.dst = base64.StdEncoding.AppendEncode(o.dst, data)
	}
	o.dst = append(o.dst, '"')
}

func (o *objectWriter) stringMap(name string, members map[string]string) {
	if o.err != nil || len(members) == 0 {
		return
	}
	o.begin(name)
	separator := byte('{')
	for _, key := range slices.Sorted(maps.Keys(members)) {
		o.dst = append(o.dst, separator)
		separator = ','
		if o.quote(name, key); o.err != nil {
			return
		}
		o.dst = append(o.dst, ':')
		if o.quote(name, members[key]); o.err != nil {
			return
		}
	}
	o.dst = append(o.dst, '}')
}
