package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
)

// patience is how long a handler runs before the program says that it waits for it.
const patience = 10 * time.Second

// waiting says what a run waits for: nobody shall wonder about a program that is
// silent.
type waiting struct {
	app     *app
	runtime *reference.Runtime
	session string

	mu      sync.Mutex
	handler *time.Timer // says that a handler runs; nil between handlers
	told    bool        // it was said of a handler
	begun   int         // how many handlers were
	next    int         // at how many it is said; 0 is at ten
	until   time.Time   // the sleep that was told of last
}

// handlerBegins is called when a handler is about to run.
func (w *waiting) handlerBegins() {
	w.handlerEnds()
	w.mu.Lock()
	defer w.mu.Unlock()
	// One that answers its own answers goes on for ever, and adds to the log each time.
	if w.begun++; w.begun > max(w.next, 10) {
		w.next = max(w.next, 10) * 10
		w.app.say(fmt.Sprintf("the handler of session %s added to the log %d times in a row; Ctrl-C ends the run, and --once makes one invocation",
			w.session, w.begun-1))
	}
	if w.told {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(w.app.patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.handler != timer {
			return // the handler ended just now
		}
		w.told = true
		w.app.say(fmt.Sprintf("waiting for the handler of session %s, which has run for %v; Ctrl-C ends it", w.session, w.app.patience))
	})
	w.handler = timer
}

// handlerEnds is called when none runs.
func (w *waiting) handlerEnds() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.handler != nil {
		w.handler.Stop()
		w.handler = nil
	}
}

// Now implements [reference.Clock].
func (w *waiting) Now() time.Time { return time.Now() }

// Sleep implements [reference.Clock]. A sleep of a session is waited out in several.
func (w *waiting) Sleep(ctx context.Context, d time.Duration) error {
	w.handlerEnds()
	if until, err := wakeTime(ctx, w.runtime, w.session); err == nil && !until.Equal(w.until) {
		w.until = until
		w.app.say(fmt.Sprintf("session %s sleeps until %s, %v from now; waiting for that or for a push, Ctrl-C ends the wait",
			w.session, until.Format(time.RFC3339), time.Until(until).Round(time.Second)))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// wakeTime is when a session's latest sleep is over.
func wakeTime(ctx context.Context, runtime *reference.Runtime, session string) (time.Time, error) {
	version, err := runtime.Store.Version(ctx, session)
	if err != nil {
		return time.Time{}, err
	}
	head, err := runtime.Store.Head(ctx, session, version)
	if err != nil {
		return time.Time{}, err
	}
	for entry, err := range runtime.Store.Entries(ctx, session, head.Controlled) {
		if err != nil {
			return time.Time{}, err
		}
		if !protocol.IsControl(entry.ContentType) {
			continue
		}
		body, err := runtime.Body(ctx, reference.DumpEntry{Digest: entry.Digest, Size: entry.Size})
		if err != nil {
			return time.Time{}, err
		}
		defer body.Close()
		var control reference.Control
		return control.StartAt, json.UnmarshalRead(body, &control)
	}
	return time.Time{}, errors.New("no control message")
}

// hintedHandlers is a registry whose errors say which flag is missing.
type hintedHandlers struct {
	reference.Registry
	waiting *waiting
}

// Transport implements [reference.Handlers].
func (h hintedHandlers) Transport(name string) (reference.Transport, error) {
	transport, err := h.Registry.Transport(name)
	switch {
	case err == nil:
		h.waiting.handlerBegins()
		return transport, nil
	case name == "":
		return nil, hint(err, "give a command after --, as in `pugmark-ref run -- python handler.py`")
	default:
		return nil, hint(err, "register it with --handler %s='COMMAND'", fact(name))
	}
}

// isTerminal reports whether a stream is one that somebody types at.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && terminal(file)
}

// interruptible reads on until ctx ends: a read of a terminal or a pipe can't be
// ended otherwise. The read that is left behind ends with the program.
type interruptible struct {
	ctx context.Context
	r   io.Reader
	// buffer is not the caller's, who may use that again when a read is left behind.
	buffer [32 << 10]byte
}

// Read implements [io.Reader].
func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	type result struct {
		n   int
		err error
	}
	buffer := i.buffer[:min(len(p), len(i.buffer))]
	done := make(chan result, 1)
	go func() {
		n, err := i.r.Read(buffer)
		done <- result{n, err}
	}()
	select {
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	case read := <-done:
		return copy(p, buffer[:read.n]), read.err
	}
}

// lockedWriter lets what handlers write and what the program says pass one after
// the other. When that can't be written, as when its reader has gone, it is lost, and no
// invocation fails by it.
type lockedWriter struct {
	mu   sync.Mutex
	w    io.Writer
	lost bool
}

// Write implements [io.Writer].
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lost {
		_, err := l.w.Write(p)
		l.lost = err != nil
	}
	return len(p), nil
}
