package stage

import (
	"context"
	"sync"

	"pugmark.dev/conform/result"
)

// invokeBoth plays two invocations to one process so that both are in flight at the
// same time, in an order that is the same every time: one is sent but for its last
// record, or asks for an answer that is held, the main one is played until its end, then
// what the first waits for is sent and its end is waited for. A handler that takes one request at a time ends the
// main one with its limit; the other one still comes to its end behind it.
//
// A process that an invocation failed in is let go when both are over.
func invokeBoth(ctx context.Context, job Job, beside, main invocation, h *held, e *result.Evidence) error {
	defer h.letGo()
	at := begin(job, beside, e)
	target, err := h.lend(ctx, job, beside.variables)
	if err != nil {
		return notStarted(job, err, &e.Steps[at])
	}
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once // an answer may be asked for twice
	beside.hold = func(stop <-chan struct{}) {
		once.Do(func() { close(held) })
		select {
		case <-release:
		case <-stop:
		}
	}
	other := make(chan played, 1)
	go func() { other <- play(ctx, job, beside, target) }()
	select {
	case <-held:
	case p := <-other: // it came to its end before that: there is nothing to be beside
		return p.add(at, beside.role, e)
	}
	mainAt := begin(job, main, e)
	p := play(ctx, job, main, target)
	close(release)
	q := <-other
	if err := q.add(at, beside.role, e); err != nil {
		return err
	}
	return p.add(mainAt, main.role, e)
}
