package stage

import (
	"context"
	"fmt"
	"time"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/subject"
	"pugmark.dev/conform/transcript"
)

// Kill waits for so long, and then kills the runtime with all that it has started. The
// acts that go on beside the story end with it; what they came to is of no account. The
// operations that follow are done by a runtime that is started anew on the same store,
// and every point of scripts holds again.
func (w *World) Kill(ctx context.Context, at At, after time.Duration) error {
	if w.mortal == nil {
		return w.step(ctx, at, &act{verb: "kill-runtime", do: func(context.Context) (any, error) {
			return nil, &subject.Error{Op: "kill-runtime", Kind: subject.Unsupported, Message: "this runtime can't be killed and started anew"}
		}})
	}
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, l := range w.lays {
		if err := l.lastLook(); err != nil {
			return err
		}
	}
	w.killed = true
	if err := w.mortal.Kill(); err != nil {
		return err
	}
	// Nothing is to be told at its end.
	_ = w.mortal.Close()
	w.note(at, "kill-runtime", after.String())
	w.points = nil
	w.live()
	return w.finish(ctx)
}

// live starts the runtime for the operations up to the next kill.
func (w *World) live() {
	w.mortal = w.apart.Apart()
	w.runtime.Ops = w.mortal
}

// lastLook notes which invocations of a run that is to be killed have read their input
// to its end: what the others read is cut off where the kill has cut it, and nothing
// can be held against the runtime.
func (l *lay) lastLook() error {
	if l.over {
		return nil
	}
	transcripts, err := fakehandler.ReadRecords(l.records)
	if err != nil {
		return fmt.Errorf("the scripted handler's records: %w", err)
	}
	l.killed = true
	for i := range transcripts {
		l.whole = append(l.whole, isWhole(&transcripts[i]))
	}
	return nil
}

// tells reports whether the transcript of an invocation speaks of the runtime.
func (l *lay) tells(i int) bool { return !l.killed || i < len(l.whole) && l.whole[i] }

// isWhole reports whether a handler has read its input to the end.
func isWhole(t *transcript.Transcript) bool {
	for _, e := range t.Events {
		if e.Kind == transcript.Closed && (e.Stream == transcript.Stdin || e.Stream == transcript.Post) && e.Text == "by the peer" {
			return true
		}
	}
	return false
}
