package fakehandler

import (
	"errors"
	"io"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/transcript"
)

// input is the invocation's input stream: what was read of it is recorded, read by
// read, and kept as records for fetches.
type input struct {
	source  io.Reader
	decoder *protocol.Decoder[protocol.Input]
	// records is what was read so far, in order.
	records []protocol.Input
	// ended: no more will come, or can be understood.
	ended bool
	note  func(format string, args ...any)
}

func newInput(r io.Reader, stream string, rec *record) *input {
	source := &recordedReader{r: r, stream: stream, rec: rec}
	return &input{source: source, decoder: protocol.NewInputDecoder(source), note: rec.note}
}

// next reads one record. A record that is no Input is noted and counts as one. What
// comes after a break in the stream is read to its end, since the handler's part in
// the recording does not depend on its making sense.
func (in *input) next() (protocol.Input, bool) {
	if in.ended {
		return protocol.Input{}, false
	}
	rec, err := in.decoder.Next()
	var fault *protocol.SyntaxError
	switch {
	case err == nil:
	case errors.As(err, &fault) && (fault.Kind == protocol.KindWrongType || fault.Kind == protocol.KindBadBase64):
		in.note("input: %v", err)
		rec.Value = protocol.Input{}
	default:
		in.ended = true
		if !errors.Is(err, io.EOF) {
			in.note("input: %v", err)
			_, _ = io.Copy(io.Discard, in.source)
		}
		return protocol.Input{}, false
	}
	in.records = append(in.records, rec.Value)
	return rec.Value, true
}

// all reads to the end of input.
func (in *input) all() {
	for ok := true; ok; {
		_, ok = in.next()
	}
}

// count reads n records.
func (in *input) count(n int) {
	for ok := true; ok && n > 0; n-- {
		_, ok = in.next()
	}
}

// lifecycle reads until the lifecycle event has arrived. The empty one can be told
// from a no-op record by the end of input only (reading R27).
func (in *input) lifecycle() {
	for {
		switch record, ok := in.next(); {
		case !ok:
			return
		case beginsWork(record.Event):
			return
		}
	}
}

// beginsWork reports whether an event is a lifecycle event that shows by itself,
// without what follows it.
func beginsWork(event string) bool {
	return event == protocol.EventStart || event == protocol.EventFork || event == protocol.EventWake
}

// recordedReader records what is read through it, and how it ends.
type recordedReader struct {
	r      io.Reader
	stream string
	rec    *record
	ended  bool
}

func (r *recordedReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if n > 0 {
		r.rec.Add(transcript.Event{Kind: transcript.Received, Stream: r.stream, Data: p[:n]})
	}
	if err != nil && !r.ended {
		r.ended = true
		how := "by the peer"
		if !errors.Is(err, io.EOF) {
			how += ": " + err.Error()
		}
		r.rec.closed(r.stream, how)
	}
	return n, err
}
