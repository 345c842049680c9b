package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/subject"
	"pugmark.dev/conform/transcript"
)

// The roles of a handler case's invocations.
const (
	RoleMain    = "main"
	RoleControl = "control"
	RoleBeside  = "beside"
)

// invocation is one stream that a handler case plays.
type invocation struct {
	role      string
	script    fakeruntime.Script
	identity  *casefile.Identity
	variables map[string]string
	kept      *fakeruntime.Kept
	last      bool
	// hold is that of [fakeruntime.Invocation].
	hold func(stop <-chan struct{})
}

// stageHandler plays a handler case: its control, if it has one, then its stream,
// as often as it says.
func stageHandler(ctx context.Context, job Job, e *result.Evidence) error {
	c := job.Case.Handler
	var plan []invocation
	if c.Control != nil {
		control := invocation{role: RoleControl, script: c.Control.Input, identity: &c.Identity, variables: c.Environment}
		if control.script.Records == nil {
			control.script.Records = c.Input.Records
		}
		if c.Control.Identity != nil {
			control.identity = c.Control.Identity
		}
		if c.Control.Environment != nil {
			control.variables = c.Control.Environment
		}
		plan = append(plan, control)
	}
	for range max(c.Invocations, 1) {
		plan = append(plan, invocation{role: RoleMain, script: c.Input, identity: &c.Identity, variables: c.Environment})
	}
	e.Sessions = map[string]string{}
	h := &held{}
	defer h.letGo()
	var kept *fakeruntime.Kept
	if c.KeepServers {
		kept = &fakeruntime.Kept{}
		defer kept.Close()
	}
	if c.Beside != nil {
		main := len(plan) - 1
		for _, step := range plan[:main] {
			if err := invoke(ctx, job, step, h, e); err != nil {
				return err
			}
		}
		beside := invocation{role: RoleBeside, script: c.Beside.Input, identity: &c.Beside.Identity, variables: c.Environment}
		return invokeBoth(ctx, job, beside, plan[main], h, e)
	}
	for i, step := range plan {
		step.kept, step.last = kept, i == len(plan)-1
		if err := invoke(ctx, job, step, h, e); err != nil {
			return err
		}
	}
	return nil
}

// held is the process that has served the invocations of a case so far: what one
// invocation leaves behind in it (a URL, an identity) shows in the next one only
// there.
type held struct {
	variables map[string]string
	target    fakeruntime.Target
	release   func() // nil while nothing is held
}

func (h *held) letGo() {
	if h.release != nil {
		h.release()
		h.release = nil
	}
}

// lend returns the process that is held, when it was started with these variables,
// or another one, which is held from now on.
func (h *held) lend(ctx context.Context, job Job, variables map[string]string) (fakeruntime.Target, error) {
	if h.release != nil && maps.Equal(h.variables, variables) {
		return h.target, nil
	}
	h.letGo()
	t, release, err := target(ctx, job, variables)
	if err != nil {
		return t, err
	}
	*h = held{variables, t, release}
	return t, nil
}

// invoke plays one stream to the handler and adds what happened to the evidence. A
// process that came well out of it is held for the next invocation.
func invoke(ctx context.Context, job Job, step invocation, h *held, e *result.Evidence) error {
	at := begin(job, step, e)
	target, err := h.lend(ctx, job, step.variables)
	if err != nil {
		return notStarted(job, err, &e.Steps[at])
	}
	p := play(ctx, job, step, target)
	if step.last || !p.success() {
		h.letGo()
	}
	return p.add(at, step.role, e)
}

// begin adds the step of an invocation to the evidence, and returns its index.
func begin(job Job, step invocation, e *result.Evidence) int {
	id, _ := identity(job, step)
	e.Sessions[step.role] = id.Session
	e.Steps = append(e.Steps, result.Step{Verb: "invoke", Args: []string{step.role}})
	return len(e.Steps) - 1
}

// notStarted is what becomes of an invocation for which there is no process.
func notStarted(job Job, err error, step *result.Step) error {
	var refused *startError
	if !errors.As(err, &refused) {
		return fmt.Errorf("start the handler over %s: %w", job.Transport, err)
	}
	step.Error = &result.StepError{Kind: string(subject.BadRequest), Message: refused.Error()}
	return ErrUnexpected
}

// played is what came of an invocation.
type played struct {
	transcript transcript.Transcript
	names      map[string]string
	took       time.Duration
	err        error
}

func play(ctx context.Context, job Job, step invocation, target fakeruntime.Target) (p played) {
	id, trace := identity(job, step)
	limit := job.limit()
	if step.hold != nil {
		limit *= 2 // it waits for another invocation, which has as long
	}
	started := time.Now()
	p.transcript, p.names, p.err = fakeruntime.Invocation{
		Case: job.Case.ID, Told: job.Told, Identity: id, Trace: trace, Script: step.script, Target: target, Limit: limit, Kept: step.kept,
		Hold: step.hold,
	}.Play(ctx)
	p.took = time.Since(started)
	return p
}

func (p played) success() bool {
	end := p.transcript.Ended()
	return end != nil && end.Success()
}

// add adds the invocation of a step to the evidence.
func (p played) add(at int, role string, e *result.Evidence) error {
	if p.err != nil {
		return p.err
	}
	e.Invocations = append(e.Invocations, result.Invocation{Step: at, Role: role, Transcript: p.transcript, Objects: p.names})
	e.Steps[at].Invocations = len(e.Invocations)
	e.Steps[at].TookMS = p.took.Milliseconds()
	return nil
}

// target is the subject on the job's transport.
func target(ctx context.Context, job Job, variables map[string]string) (fakeruntime.Target, func(), error) {
	if job.Transport == protocol.TransportSubprocess {
		c := job.Handler.Subprocess
		return fakeruntime.Target{
			Command: c.Args, Dir: c.Dir, Env: c.Env, Variables: variables, Programs: job.Pool.Programs,
		}, func() {}, nil
	}
	l, err := job.Pool.lease(ctx, job.Handler, job.Transport, variables)
	if err != nil {
		return fakeruntime.Target{}, nil, err
	}
	return l.target, l.release, nil
}

// identity fills in what the case leaves open, the same in every run with the
// same seed.
func identity(job Job, step invocation) (protocol.Identity, fakeruntime.Trace) {
	given, from := *step.identity, fmt.Sprintf("%d/%s/%s", job.Seed, job.Case.ID, job.Transport)
	if step.role == RoleBeside {
		from += "/" + RoleBeside
	}
	sum := sha256.Sum256([]byte(from))
	id := protocol.Identity{Agent: "conform-agent", Session: given.Session, Snapshot: 1, Metadata: given.Metadata}
	if given.Agent != nil {
		id.Agent = *given.Agent
	}
	if id.Session == "" {
		id.Session = hex.EncodeToString(sum[:16])
	}
	if given.Snapshot != nil {
		id.Snapshot = *given.Snapshot
	}
	trace := job.Case.Handler.Trace
	switch {
	case trace.None:
		return id, fakeruntime.Trace{}
	case trace.Parent != "":
		return id, fakeruntime.Trace{Parent: trace.Parent, State: trace.State}
	}
	// Section 14.1: the session ID is the trace ID.
	return id, fakeruntime.Trace{Parent: "00-" + id.Session + "-" + hex.EncodeToString(sum[16:24]) + "-01", State: trace.State}
}
