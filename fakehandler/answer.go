package fakehandler

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// answer is the channel of the HTTP transports. What is written is kept until the
// turn's end and then sent with its Content-Length, in the same writes, flushed one
// by one; with Answer.Chunked each is sent when it is written. Kept Outputs go out
// with status 500 too, so that a failed invocation can carry valid ones.
//
// Everything is recorded just before it is done, the end of the invocation too: as
// soon as the runtime has the answer, the record may be read.
type answer struct {
	ctx      context.Context
	w        http.ResponseWriter
	control  *http.ResponseController
	rec      *record
	exchange int
	process  bool
	how      script.Answer
	kept     []piece
	begun    bool // the head has been sent
	status   int  // what the head says
	sent     int  // bytes of the body
	broken   bool // the peer takes no more
}

// piece is one write and what was to be waited before it.
type piece struct {
	data  []byte
	pause time.Duration
}

func (a *answer) own() bool { return a.process }

func (a *answer) shape(how script.Answer) error {
	if a.begun || len(a.kept) > 0 {
		return errors.New("an answer is shaped before any Output is written")
	}
	a.how = how
	return nil
}

func (a *answer) close(stream string) error {
	return errors.New(stream + " can be closed on the subprocess transport only")
}

// diagnose leaves the harness's own stderr alone where the handler is part of it.
func (a *answer) diagnose(data []byte) error {
	if !a.process {
		a.rec.sent(transcript.Stderr, data)
		return nil
	}
	_ = writeRecorded(os.Stderr, transcript.Stderr, data, a.rec)
	return nil
}

func (a *answer) write(data []byte, pause time.Duration) error {
	switch {
	case a.how.Body != nil: // it stands in place of what is written
		return nil
	case !a.how.Chunked:
		a.kept = append(a.kept, piece{data, pause})
		return nil
	case !a.begun:
		a.head(http.StatusOK, -1)
	}
	sleep(a.ctx, pause)
	return a.send(data)
}

// finish sends what has not been sent, records the end, and reports whether the
// answer is whole: if not, its connection has to be broken. The end is recorded
// again when it turns out otherwise; the last record of it counts.
func (a *answer) finish(status int) (whole bool) {
	code := http.StatusOK
	if status != 0 {
		code = http.StatusInternalServerError
	}
	if a.ctx.Err() != nil {
		a.rec.closed(transcript.Answer, "by the peer")
		a.end(false)
		return false
	}
	if a.begun {
		// The status has been sent: all that is left for a failure is to break off.
		whole = status == 0 && a.how.Truncate == nil && !a.broken
		a.end(whole)
		return whole
	}
	if a.how.Body != nil {
		body, err := a.how.Body.Stored()
		if err != nil {
			a.rec.note("%s%v", FaultNote, err)
		}
		a.kept = []piece{{data: body}}
	}
	length := 0
	for _, piece := range a.kept {
		length += len(piece.data)
	}
	whole = a.how.Truncate == nil || !a.how.Chunked && *a.how.Truncate >= length
	if a.how.Chunked {
		length = -1
	}
	a.head(code, length)
	if !bodyAllowed(a.status) {
		a.kept = nil
	}
	for i, piece := range a.kept {
		sleep(a.ctx, piece.pause)
		if i == len(a.kept)-1 {
			a.end(whole)
		}
		_ = a.send(piece.data)
	}
	if len(a.kept) == 0 {
		a.end(whole)
	}
	if a.broken && whole {
		whole = false
		a.end(whole)
	}
	return whole
}

func (a *answer) end(whole bool) {
	how := transcript.HowAnswer
	if !whole {
		how = transcript.HowCut
	}
	a.rec.exited(transcript.Ended{How: how, Code: a.status})
}

// head prepares the status and the fields; they go out with the first flush. With a length below zero the library sends the body in chunks.
func (a *answer) head(status int, length int) {
	sleep(a.ctx, time.Duration(a.how.Delay))
	if a.how.Missing {
		status = http.StatusNotFound
	}
	if a.how.Status != 0 {
		status = a.how.Status
	}
	header := a.w.Header()
	header.Set("Content-Type", "application/json")
	if length >= 0 && bodyAllowed(status) {
		header.Set("Content-Length", strconv.Itoa(length))
	}
	for name, value := range a.how.Headers {
		if value == "" {
			header[http.CanonicalHeaderKey(name)] = nil // keeps the library from adding its own
		} else {
			header.Set(name, value)
		}
	}
	a.begun, a.status = true, status
	a.rec.Add(transcript.Event{Kind: transcript.Response, Stream: transcript.Answer, HTTP: &transcript.HTTP{
		Exchange: a.exchange, Status: status, Header: header.Clone(), Length: int64(max(length, 0)), Cut: a.how.Truncate != nil,
	}})
	a.w.WriteHeader(status)
	if a.how.Chunked || a.how.Truncate != nil {
		_ = a.control.Flush() // else the library may choose a length, or send nothing before a cut
	}
}

// send writes part of the body and flushes it, up to where the answer is cut.
func (a *answer) send(data []byte) error {
	if cut := a.how.Truncate; cut != nil && a.sent+len(data) > *cut {
		data = data[:max(*cut-a.sent, 0)]
	}
	if a.broken || len(data) == 0 {
		return nil
	}
	a.rec.sent(transcript.Answer, data)
	a.sent += len(data)
	_, err := a.w.Write(data)
	if err == nil {
		err = a.control.Flush()
	}
	if err != nil {
		a.broken = true
		a.rec.closed(transcript.Answer, "by the peer: "+err.Error())
	}
	return err
}

// bodyAllowed reports whether HTTP lets an answer with this status have a body.
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
