package fakehandler

import (
	"context"
	"fmt"

	"pugmark.dev/conform/protocol"
)

// Session is what a handler's code has of its invocation: the calls that the page of
// an SDK describes.
type Session interface {
	// Entries is the whole log in order, inherited entries too, and nothing but
	// entries (K1/read-all).
	Entries() []Entry
	// Events is the typed events in order (K6/events).
	Events() []Event
	// Latest is the entry that was written last under a name (K3/state).
	Latest(name string) (Entry, bool)
	// Write emits an Output (section 5).
	Write(protocol.Output) error
}

// Entry is an entry of the log as code gets it.
type Entry struct {
	protocol.Input
	// Body is the body, unpacked (K4/body). It is fetched when it is first asked for,
	// and at most once.
	Body func(context.Context) ([]byte, error)
}

// Event is a typed event: start, fork, wake, or push with the name of the entry that
// was pushed.
type Event struct {
	Event string `json:"event"`
	Name  string `json:"name,omitempty"`
}

// Entries is the log.
func (t *turn) Entries() []Entry {
	entries := make([]Entry, 0, len(t.log.entries))
	for _, e := range t.log.entries {
		entries = append(entries, t.entry(e))
	}
	return entries
}

// Events is what readLog took for events.
func (t *turn) Events() []Event { return t.log.events }

// Latest looks through the log from its end.
func (t *turn) Latest(name string) (Entry, bool) {
	if e := t.log.latest(name); e != nil {
		return t.entry(e), true
	}
	return Entry{}, false
}

// Write encodes an Output at once.
func (t *turn) Write(out protocol.Output) error {
	if err := t.encoder.Encode(out); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

func (t *turn) entry(e *logEntry) Entry {
	return Entry{Input: e.Input, Body: func(ctx context.Context) ([]byte, error) { return t.fetcher.body(ctx, e) }}
}
