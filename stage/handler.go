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
)

// The roles of a handler case's invocations.
const (
	RoleMain    = "main"
	RoleControl = "control"
)

// invocation is one stream that a handler case plays.
type invocation struct {
	role      string
	script    fakeruntime.Script
	identity  *casefile.Identity
	variables map[string]string
	kept      *fakeruntime.Kept
	last      bool
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
	id, trace := identity(job, *step.identity)
	e.Sessions[step.role] = id.Session
	started := time.Now()
	at := len(e.Steps)
	e.Steps = append(e.Steps, result.Step{Verb: "invoke", Args: []string{step.role}})
	target, err := h.lend(ctx, job, step.variables)
	if err != nil {
		var refused *startError
		if !errors.As(err, &refused) {
			return fmt.Errorf("start the handler over %s: %w", job.Transport, err)
		}
		e.Steps[at].Error = &result.StepError{Kind: string(subject.BadRequest), Message: refused.Error()}
		return ErrUnexpected
	}
	played, names, err := fakeruntime.Invocation{
		Case: job.Case.ID, Told: job.Told, Identity: id, Trace: trace, Script: step.script, Target: target, Limit: job.limit(), Kept: step.kept,
	}.Play(ctx)
	if end := played.Ended(); step.last || end == nil || !end.Success() {
		h.letGo()
	}
	if err != nil {
		return err
	}
	e.Invocations = append(e.Invocations, result.Invocation{Step: at, Role: step.role, Transcript: played, Objects: names})
	e.Steps[at].Invocations = len(e.Invocations)
	e.Steps[at].TookMS = time.Since(started).Milliseconds()
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
func identity(job Job, given casefile.Identity) (protocol.Identity, fakeruntime.Trace) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s", job.Seed, job.Case.ID, job.Transport))
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
