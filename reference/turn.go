package reference

import (
	"context"
	"encoding/hex"
	"errors"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// State is how a run left its session.
type State string

// The states.
const (
	// StateRan is a session whose last invocation committed and may have more to do.
	StateRan State = "ran"
	// StateIdle is a session whose last invocation added nothing to it.
	StateIdle State = "idle"
	// StatePaused is a session that is paused or asleep with nothing new.
	StatePaused State = "paused"
)

// Result is what a run did.
type Result struct {
	// Session is the session that was run.
	Session string
	// Version is its version after the run.
	Version int64
	// State is how the run left it.
	State State
	// Invocations is how often a handler was invoked, invocations that lost a
	// commit included.
	Invocations int
}

// RunOptions say how a session is run.
type RunOptions struct {
	// Handlers chooses the handler.
	Handlers Handlers
	// Trace is the context that the run itself was started with. Its trace ID is
	// not taken over (P14.1/session-trace-id), its state is (reading R53).
	Trace protocol.TraceContext
}

// RunOnce invokes the session's handler once. A session that is paused with nothing
// new is left alone (P10/pure-pause); a sleep is waited out (P10/sleep).
//
// A handler that failed is an [*InvocationError]. When something else was committed
// while the handler ran, its outputs are dropped and it is invoked again on the new
// version, so that it has seen everything that stands before its outputs
// (S3/conflict-loses-nothing, reading R11).
func (r *Runtime) RunOnce(ctx context.Context, session string, options RunOptions) (Result, error) {
	result := Result{Session: session}
	_, err := r.turn(ctx, options, &result)
	return result, err
}

// Run invokes the session's handler until the session pauses, an invocation adds
// nothing, or one fails (reading R6). Sleeps are waited out. The result tells what
// was done also beside an error.
func (r *Runtime) Run(ctx context.Context, session string, options RunOptions) (Result, error) {
	result := Result{Session: session}
	for {
		committed, err := r.turn(ctx, options, &result)
		if err != nil || !committed {
			return result, err
		}
	}
}

// turn is one invocation, with those before it that lost their commit; committed
// tells whether it added a version.
func (r *Runtime) turn(ctx context.Context, options RunOptions, result *Result) (committed bool, err error) {
	for {
		v, err := r.prepare(ctx, result.Session)
		if err != nil {
			return false, err
		}
		result.Version = v.version
		if v.asleep() && !v.over(r.clock().Now()) {
			result.State = StatePaused
			if err := r.waitOut(ctx, v); err != nil {
				return false, err
			}
			continue
		}
		if v.paused() && !v.asleep() {
			result.State = StatePaused
			return false, nil
		}
		outputs, err := r.invoke(ctx, v, options)
		if outputs != nil {
			result.Invocations++
		}
		if err != nil {
			return false, err
		}
		wrote, err := r.commit(ctx, v, outputs)
		if errors.Is(err, storage.ErrConflict) {
			r.logger().Info("the session went on meanwhile; invoking again", "session", result.Session, "version", v.version)
			continue
		}
		result.State = StateIdle
		if wrote {
			result.Version = v.version + 1
			result.State = StateRan
			if outputs.pause != nil || outputs.locals+outputs.writes == 0 {
				result.State = StatePaused
			}
		}
		return wrote, err
	}
}

// invoke runs the handler on a view of the session and returns what it wrote. The
// outputs are nil if no handler was reached.
func (r *Runtime) invoke(ctx context.Context, v view, options RunOptions) (*outputs, error) {
	if options.Handlers == nil {
		return nil, &RequestError{errors.New("running a session: no handlers are given")}
	}
	transport, err := options.Handlers.Transport(v.manifest.Handler)
	if err != nil {
		return nil, &RequestError{err}
	}
	index := newObjectIndex()
	servers, err := r.startServers(ctx, index)
	if err != nil {
		return nil, err
	}
	defer servers.close() // P7/reachable: not before the invocation has ended
	o := r.newOutputs(ctx, v.manifest)
	err = transport.Invoke(ctx, Invocation{
		Identity: protocol.Identity{
			Agent: v.manifest.Agent, Session: v.manifest.Session, Snapshot: v.version, Metadata: v.manifest.Metadata,
		},
		Trace:  r.traceContext(v.manifest.Session, options.Trace),
		Inputs: r.inputs(ctx, v, servers, index),
		Output: o.take,
	})
	var failure *InvocationError
	if errors.As(err, &failure) {
		failure.Session, failure.Version = v.manifest.Session, v.version
		return o, failure
	}
	return o, err
}

// traceContext makes the context of one invocation: the session's ID is the trace
// ID, whatever came in (P14.1/session-trace-id).
func (r *Runtime) traceContext(session string, incoming protocol.TraceContext) protocol.TraceContext {
	var trace [16]byte
	_, _ = hex.Decode(trace[:], []byte(session)) // the session was loaded, so its ID is valid
	return protocol.TraceContext{
		TraceParent: protocol.FormatTraceParent(trace, r.ids().Span(), protocol.FlagSampled),
		TraceState:  incoming.Valid().TraceState, // P14/tracestate
	}
}
