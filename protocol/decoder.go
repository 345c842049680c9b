package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Direction is the record type of one of the two streams of an invocation.
type Direction interface{ Input | Output }

// Record is one record of a stream: what a peer reads, and what a judge looks at.
type Record[T Direction] struct {
	// Value is the typed record. A field that is missing or null is zero
	// (section 3.2, reading R17); metadata without entries is nil.
	Value T
	// Raw holds the record's own bytes, from its opening to its closing brace.
	// It belongs to the caller.
	Raw []byte
	// Offset is where in the stream Raw begins, in bytes from 0.
	Offset int64
}

// Decoder reads the records of a stream, strictly by section 3. It takes any
// JSON whitespace between records, or none, and ignores unknown fields of any
// type. It hands out a record as soon as its closing brace has arrived and knows
// no limit on the length of a line or a record short of memory. A record may nest
// 10,000 levels deep, its own braces included.
//
// What it refuses is told apart by the [Kind] of a [SyntaxError]; what its reader
// could not do is a [ReadError]. A Decoder is not safe for concurrent use.
type Decoder[T Direction] struct {
	src  source
	json *jsontext.Decoder
	// base is what must be added to an offset of json to make it one of the
	// stream: json is begun anew after a large record, and never sees the
	// whitespace that src skips.
	base   int64
	count  int
	fields fieldReader
	err    error
}

// NewInputDecoder returns a decoder of what a runtime writes. It reads from r no
// earlier than Next asks for a record, and may read past the record it returns.
func NewInputDecoder(r io.Reader) *Decoder[Input] { return newDecoder[Input](r) }

// NewOutputDecoder returns a decoder of what a handler writes. It reads from r no
// earlier than Next asks for a record, and may read past the record it returns.
func NewOutputDecoder(r io.Reader) *Decoder[Output] { return newDecoder[Output](r) }

func newDecoder[T Direction](r io.Reader) *Decoder[T] {
	d := &Decoder[T]{src: source{r: bufio.NewReaderSize(r, sourceSize)}}
	d.json = jsontext.NewDecoder(&d.src)
	return d
}

// Next returns the next record. At the clean end of the stream, after a whole
// record or before any, the error is io.EOF; otherwise it is a [*SyntaxError] or
// a [*ReadError].
//
// An error is final and comes again on every later call, except for KindWrongType
// and KindBadBase64: there the record was framed well, so its Raw and Offset are
// given beside the error and the next call goes on behind it. Its Value is then
// of no use.
func (d *Decoder[T]) Next() (Record[T], error) {
	var rec Record[T]
	if d.err != nil {
		return rec, d.err
	}
	d.count++
	rec.Raw, rec.Offset, d.err = d.nextRaw()
	if d.err != nil {
		return Record[T]{}, d.err
	}
	if fault := d.fields.read(rec.Raw, any(&rec.Value).(fieldSetter)); fault != nil {
		from := rec.Raw[min(fault.at, len(rec.Raw)):]
		return rec, &SyntaxError{
			Offset: rec.Offset + int64(fault.at), Kind: fault.kind, Record: d.count, Start: rec.Offset,
			Excerpt: appendUpTo(nil, from, excerptLimit), Err: fault.err,
		}
	}
	return rec, nil
}

// nextRaw returns a copy of the bytes of the next record, and where it begins.
func (d *Decoder[T]) nextRaw() ([]byte, int64, error) {
	first, start, err := d.findStart()
	switch {
	case errors.Is(err, io.EOF):
		return nil, 0, io.EOF
	case err != nil:
		return nil, 0, d.readError(start, err)
	case first != '{':
		return nil, 0, d.refuseStart(first, start)
	}
	value, err := d.json.ReadValue()
	if err != nil {
		return nil, 0, d.explain(err, start)
	}
	raw := bytes.Clone(value)
	if len(raw) > largeRecord {
		d.dropBuffer()
	}
	return raw, start, nil
}

// largeRecord is the record length in bytes past which the buffer that grew with
// the record is given up: one large record must not hold its memory for the rest
// of the stream.
const largeRecord = 1 << 20

// dropBuffer begins a new JSON decoder behind the record just read.
func (d *Decoder[T]) dropBuffer() {
	d.base += d.json.InputOffset()
	d.src.held = append(bytes.Clone(d.json.UnreadBuffer()), d.src.held...)
	d.json = jsontext.NewDecoder(&d.src)
}

// findStart skips whitespace and returns the next byte and its offset. With an
// error, the offset is that of the end.
func (d *Decoder[T]) findStart() (byte, int64, error) {
	unread := d.json.UnreadBuffer()
	at := d.base + d.json.InputOffset()
	if n := countSpace(unread); n < len(unread) {
		return unread[n], at + int64(n), nil
	}
	next, skipped, err := d.src.skipSpace()
	d.base += skipped
	return next, at + int64(len(unread)) + skipped, err
}

// arrived returns what has arrived of the stream from the next record's first
// byte on, whitespace skipped, up to limit bytes.
func (d *Decoder[T]) arrived(limit int) []byte {
	unread := d.json.UnreadBuffer()
	return d.src.appendArrived(appendUpTo(nil, unread[countSpace(unread):], limit), limit)
}

func (d *Decoder[T]) readError(offset int64, err error) error {
	return &ReadError{Offset: offset, Record: d.count, Err: err}
}
