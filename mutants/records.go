package mutants

import (
	"bytes"
	"io"

	"pugmark.dev/conform/protocol"
)

// An edit changes one record of a stream. A nil record leaves it out; an error
// ends the stream with that error.
type edit func(o object) (object, error)

// edited is a stream whose records were edited. It reads no further than its own
// reader asks for, so that a record is passed on as soon as it has arrived.
type edited[T protocol.Direction] struct {
	decoder *protocol.Decoder[T]
	edit    edit
	pending []byte
	err     error
}

// editInputs wraps the stream of Inputs that a handler reads.
func editInputs(r io.Reader, e edit) io.Reader {
	return &edited[protocol.Input]{decoder: protocol.NewInputDecoder(r), edit: e}
}

// editOutputs wraps the stream of Outputs that a runtime reads.
func editOutputs(r io.Reader, e edit) io.Reader {
	return &edited[protocol.Output]{decoder: protocol.NewOutputDecoder(r), edit: e}
}

func (s *edited[T]) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		record, err := s.decoder.Next()
		if err != nil {
			s.err = err
			continue
		}
		var o object
		if o, s.err = parse(record.Raw); s.err != nil {
			continue
		}
		if o, s.err = s.edit(o); s.err == nil && o != nil {
			s.pending = append(o.bytes(), '\n')
		}
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// layout is how a stream of records is written, right or wrong. The zero value
// leaves nothing between records, and nothing after them.
type layout struct {
	before, between, after string
	// record rewrites a record, which comes compact and without its LF; number
	// counts from 1. Nil leaves records as they are, and a nil result leaves one out.
	record func(number int, raw []byte) []byte
	// chunk is the number of bytes a write in the first 64 KiB of a stream, since a
	// case may have millions; zero is a whole record.
	chunk int
}

// chunkedPart is how much of a stream is written in chunks.
const chunkedPart = 64 << 10

// lined is the recommended form, from which most mutants and twins differ in one
// thing.
func lined(record func(int, []byte) []byte) layout {
	return layout{between: "\n", after: "\n", record: record}
}

// editing is a record function of a layout that edits the members.
func editing(edit func(o object) object) func(int, []byte) []byte {
	return func(_ int, raw []byte) []byte {
		o, err := parse(raw)
		if err != nil {
			return raw
		}
		return edit(o).bytes()
	}
}

// own restricts a record function to Outputs that a case asked for: what an SDK's
// author sees work in every answer may still go wrong in what its users write.
func own(record func(int, []byte) []byte) func(int, []byte) []byte {
	return func(number int, raw []byte) []byte {
		if o, err := parse(raw); err != nil || o.isAnswer() {
			return raw
		}
		return record(number, raw)
	}
}

// emitter writes what is written to it, compact records with an LF after each, in
// a layout.
type emitter struct {
	w io.Writer
	layout
	partial []byte
	count   int
	written int
	cut     int // bytes that were written in chunks
}

func (e *emitter) Write(p []byte) (int, error) {
	for rest := p; ; {
		head, tail, whole := bytes.Cut(rest, []byte("\n"))
		e.partial = append(e.partial, head...)
		if !whole {
			return len(p), nil
		}
		rest = tail
		raw := e.partial
		e.partial = nil
		e.count++
		if e.record != nil {
			if raw = e.record(e.count, raw); raw == nil {
				continue
			}
		}
		gap := e.between
		if e.written == 0 {
			gap = e.before
		}
		e.written++
		if err := e.put(append([]byte(gap), raw...)); err != nil {
			return 0, err
		}
	}
}

// Close ends the stream, not the writer below.
func (e *emitter) Close() error {
	if e.written == 0 {
		return nil
	}
	return e.put([]byte(e.after))
}

func (e *emitter) put(data []byte) error {
	for len(data) > 0 {
		n := len(data)
		if e.chunk > 0 && e.cut < chunkedPart {
			n = min(n, e.chunk)
			e.cut += n
		}
		if _, err := e.w.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// writes makes the Output seam of a handler out of a layout.
func writes(l layout) func(io.Writer) io.Writer {
	return func(w io.Writer) io.Writer { return &emitter{w: w, layout: l} }
}
