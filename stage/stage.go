package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/result"
)

// mainSession is what a YAML case calls its one session.
const mainSession = "main"

// Job is one case to be staged with one subject on one transport.
type Job struct {
	Case      *casefile.Case
	Transport string
	// Told is what instructions call the case; its ID when empty.
	Told string
	// Handler or Runtime is the subject, by the case's kind.
	Handler *HandlerSubject
	Runtime *RuntimeSubject
	// Features is what the subject claims; the judge needs to know.
	Features []string
	// Fake is the scripted handler that a runtime is told to run.
	Fake Fake
	// Pool holds the handler processes that serve many cases.
	Pool *Pool
	// Story plays a .txtar case in a world.
	Story func(context.Context, *casefile.Case, *World) error
	// Seed makes session IDs; TimeScale multiplies time limits, zero is 1.
	Seed      int64
	TimeScale float64
	// Scratch is the folder that the case's own folder is made in; the system's
	// when empty.
	Scratch string
}

// Limit is the time that one invocation, or the whole of a story, may take.
func (j Job) limit() time.Duration {
	scale := j.TimeScale
	if scale == 0 {
		scale = 1
	}
	return time.Duration(float64(j.Case.LimitOrDefault()) * scale)
}

// Stage does what the case says and returns what happened. It always returns
// evidence; a fault of the harness or of the case stands in it.
func Stage(ctx context.Context, job Job) *result.Evidence {
	e := &result.Evidence{
		Case: job.Case.ID, Kind: job.Case.Kind, Transport: job.Transport, Features: job.Features,
		Started: time.Now().UTC(), TimeScale: job.TimeScale,
		Steps: []result.Step{}, Invocations: []result.Invocation{},
	}
	var err error
	switch {
	case job.Case.Handler != nil && job.Handler != nil:
		e.Subject = job.Handler.Name
		err = stageHandler(ctx, job, e)
	case job.Case.Handler == nil && job.Runtime != nil:
		e.Subject = job.Runtime.Name
		err = stageRuntime(ctx, job, e)
	default:
		err = fmt.Errorf("the subject is no %s", job.Case.Kind)
	}
	switch {
	case err == nil, errors.Is(err, ErrUnexpected):
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		e.TimedOut = job.limit().String()
	default:
		e.Fault = err.Error()
	}
	return e
}

// stageRuntime plays a runtime case, data or story, in a fresh world.
func stageRuntime(ctx context.Context, job Job, e *result.Evidence) (err error) {
	dir, err := os.MkdirTemp(job.Scratch, "case-")
	if err != nil {
		return err
	}
	defer func() {
		if rm := os.RemoveAll(dir); err == nil && rm != nil {
			err = rm
		}
	}()
	w, err := newWorld(job, dir, e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, job.limit())
	defer w.close(cancel)
	if job.Case.Story != nil {
		w.files = job.Case.Story.Files
		return job.Story(ctx, job.Case, w)
	}
	return playRuntime(ctx, job.Case.Runtime, w)
}

// playRuntime does what a YAML runtime case implies: start, push, script, run,
// and the looks that its expectations need.
func playRuntime(ctx context.Context, c *casefile.Runtime, w *World) error {
	if err := w.Start(ctx, At{}, mainSession, c.Session); err != nil {
		return err
	}
	for _, p := range c.Push {
		if err := w.Push(ctx, At{}, mainSession, p); err != nil {
			return err
		}
	}
	if err := w.Script(At{}, "script", [][]fakehandler.Op{c.Script}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Handlers)) {
		if err := w.Handler(At{}, name, "handlers", [][]fakehandler.Op{c.Handlers[name]}); err != nil {
			return err
		}
	}
	if err := w.Run(ctx, At{Either: true}, mainSession, Run{Once: c.Run != "idle", Around: c.Around}); err != nil {
		return err
	}
	return w.Expect(ctx, At{}, "expect", c.Expect)
}
