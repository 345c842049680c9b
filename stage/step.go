package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/subject"
)

// act is one thing that the world asks of the runtime.
type act struct {
	verb string
	args []string
	do   func(context.Context) (any, error)
	// took takes in what do returned without an error.
	took func(any)
	// lay is where the invocations of a run are recorded.
	lay *lay

	at          At
	requirement string
	started     time.Time
	elapsed     time.Duration
	output      any
	err         error
	done        chan struct{}
}

// step does one act and records its outcome, or has it go on beside the story.
func (w *World) step(ctx context.Context, at At, a *act) error {
	a.at, a.requirement, a.started, a.done = at, w.requirement, time.Now(), make(chan struct{})
	run := func() {
		a.output, a.err = bounded(ctx, a.do)
		a.elapsed = time.Since(a.started)
		close(a.done)
	}
	if at.Background {
		w.under = append(w.under, a)
		go run()
		return nil
	}
	run()
	return w.record(ctx, a)
}

// record takes in the outcome of an act that is done.
func (w *World) record(ctx context.Context, a *act) error {
	s := result.Step{
		Line: a.at.Line, Verb: a.verb, Args: a.args, Requirement: a.requirement, WantError: a.at.WantError, Either: a.at.Either,
		Started: a.started.UTC(), TookMS: a.elapsed.Milliseconds(),
	}
	var fault error
	if errors.Is(a.err, subject.ErrKilled) && w.killed {
		// The story has done this; it is neither the one outcome nor the other.
		a.err, a.output, s.Either = nil, map[string]bool{result.Killed: true}, true
	}
	if a.err != nil {
		s.Error, fault = stepError(ctx, a.err)
	} else if output, err := json.Marshal(a.output); err != nil {
		// A runtime that answers log or inspect with something that is no JSON.
		s.Error = &result.StepError{Kind: string(subject.Crash), Message: "the answer is no JSON: " + err.Error()}
	} else if s.Output = output; a.took != nil && !s.Either {
		a.took(a.output)
	}
	if a.lay != nil {
		a.lay.over = true
	}
	if err := w.collect(); err != nil {
		return err
	}
	s.Invocations = w.seen
	w.evidence.Steps = append(w.evidence.Steps, s)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case fault != nil:
		return fmt.Errorf("%s %s: %w", a.verb, strings.Join(a.args, " "), fault)
	}
	// A refusal by a runtime that does not offer the operation is no outcome that a
	// case could admit.
	unsupported := s.Error != nil && s.Error.Kind == string(subject.Unsupported)
	expected := s.Either || s.Error == nil && !a.at.WantError || a.at.WantError && s.Error.IsRefusal()
	if unsupported || !expected {
		return ErrUnexpected
	}
	return nil
}

// returnGrace is how long an operation may go on after its time was up: a runtime
// in this process can't be killed.
const returnGrace = 5 * time.Second

// errStuck is an operation that did not return when its time was up.
var errStuck = fmt.Errorf("the operation did not end within %s after its time was up", returnGrace)

// bounded does an act and comes back, whether the act does or not.
func bounded(ctx context.Context, act func(context.Context) (any, error)) (any, error) {
	type outcome struct {
		output any
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		output, err := act(ctx)
		done <- outcome{output, err}
	}()
	select {
	case o := <-done:
		return o.output, o.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(returnGrace)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.output, o.err
	case <-timer.C:
		return nil, errStuck
	}
}

// note records a step that acts on nothing.
func (w *World) note(at At, verb string, args ...string) {
	w.evidence.Steps = append(w.evidence.Steps, result.Step{
		Line: at.Line, Verb: verb, Args: args, Requirement: w.requirement, Invocations: w.seen,
	})
}

// stepError is a failure as the evidence has it. What no runtime has reported, and
// is not the end of time, is a fault of the harness.
func stepError(ctx context.Context, err error) (s *result.StepError, fault error) {
	var failed *subject.Error
	switch {
	case ctx.Err() != nil:
		return &result.StepError{Kind: string(result.Hang), Message: err.Error()}, nil
	case errors.As(err, &failed):
		return &result.StepError{Kind: string(failed.Kind), Message: failed.Message}, nil
	}
	return &result.StepError{Kind: string(subject.Internal), Message: err.Error()}, err
}
