package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/subject"
)

// Join waits for the acts that go on beside the story, and records their outcomes in
// the order of their start.
func (w *World) Join(ctx context.Context, at At) error {
	w.note(at, "join")
	return w.finish(ctx)
}

func (w *World) finish(ctx context.Context) (err error) {
	clear(w.fresh)
	for _, a := range w.under {
		<-a.done // it comes back soon after ctx has ended
		if e := w.record(ctx, a); e != nil && err == nil {
			err = e
		}
	}
	w.under = nil
	return err
}

// close ends what still goes on when a story has ended early.
func (w *World) close(cancel func()) {
	cancel()
	for _, a := range w.under {
		<-a.done
	}
	if w.mortal != nil {
		// What a runtime does at its end, other cases see in one that is shared.
		_ = w.mortal.Close()
	}
}

// lookEvery is how often Await looks at the records of runs.
const lookEvery = 5 * time.Millisecond

// Await waits until n handlers of runs beside the story are waiting at a point of
// their scripts. That these runs end without getting there is recorded as a failure of
// this step.
func (w *World) Await(ctx context.Context, at At, point string, n int) error {
	started := time.Now()
	for {
		ended := w.ended() // looked at first: what ends meanwhile is seen the next time
		waiting, err := w.waiting(point)
		if err != nil {
			return err
		}
		if waiting >= n {
			w.note(at, "await", point)
			return nil
		}
		if ended {
			if err := w.finish(ctx); err != nil {
				return err
			}
			return w.step(ctx, at, &act{verb: "await", args: []string{point}, do: func(context.Context) (any, error) {
				return nil, &subject.Error{Op: "await", Kind: subject.Internal,
					Message: fmt.Sprintf("the runs ended, and of %d handlers %d came to this point", n, waiting)}
			}})
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			w.evidence.Steps = append(w.evidence.Steps, result.Step{
				Line: at.Line, Verb: "await", Args: []string{point}, Requirement: w.requirement, Invocations: w.seen,
				Started: started.UTC(), TookMS: time.Since(started).Milliseconds(),
				Error: &result.StepError{Kind: string(result.Hang),
					Message: fmt.Sprintf("of %d handlers %d came to this point", n, waiting)},
			})
			return ctx.Err()
		}
	}
}

// ended reports whether no act goes on beside the story.
func (w *World) ended() bool {
	for _, a := range w.under {
		select {
		case <-a.done:
		default:
			return false
		}
	}
	return true
}

// waiting counts the handlers that have come to a point.
func (w *World) waiting(point string) (n int, err error) {
	for _, l := range w.lays {
		if l.over {
			continue
		}
		transcripts, err := fakehandler.ReadRecords(l.records)
		if err != nil {
			return 0, fmt.Errorf("the scripted handler's records: %w", err)
		}
		for i := range transcripts {
			if fakehandler.WaitsFor(&transcripts[i], point) {
				n++
			}
		}
	}
	return n, nil
}

// Release lets scripts go on that wait at a point, or will come to it.
func (w *World) Release(at At, point string) error {
	w.note(at, "release", point)
	w.points = append(w.points, point)
	for _, l := range w.lays {
		if err := l.release(point); err != nil {
			return err
		}
	}
	return nil
}

func (l *lay) release(point string) error {
	if err := os.WriteFile(filepath.Join(l.records, point), nil, 0o666); err != nil {
		return fmt.Errorf("release %s: %w", point, err)
	}
	return nil
}
