package reference

import (
	"context"
	"errors"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

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
		begun := time.Now()
		v, err := r.prepare(ctx, result.Session)
		if err != nil {
			return false, r.traceUnprepared(ctx, result.Session, options.Trace, begun, err)
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
		outputs, wrote, err := r.attempt(ctx, v, options, begun)
		if outputs != nil {
			result.Invocations++
		}
		if !wrote && errors.Is(err, storage.ErrConflict) {
			r.logger().Info("the session went on meanwhile; invoking again", "session", result.Session, "version", v.version)
			continue
		}
		if wrote {
			result.Version = v.version + 1
			result.State = StateRan
			if outputs.pause != nil || outputs.locals+outputs.writes == 0 {
				result.State = StatePaused
			}
		} else if err == nil {
			result.State = StateIdle
		}
		return wrote, err
	}
}

// attempt invokes the handler on a view and commits what it wrote, if the session
// did not go on meanwhile; then the error is [storage.ErrConflict]. The outputs are
// nil if no handler was reached.
func (r *Runtime) attempt(ctx context.Context, v view, options RunOptions, begun time.Time) (o *outputs, wrote bool, err error) {
	ctx, span := r.startInvocation(ctx, v.manifest.Session, options.Trace, begun)
	span.SetAttributes(
		attribute.Int64("pugmark.version", v.version), attribute.String("pugmark.agent", v.manifest.Agent),
		attribute.String("pugmark.handler", v.manifest.Handler), attribute.String("pugmark.event", v.lifecycle()))
	defer func() {
		span.SetAttributes(attribute.String("pugmark.outcome", outcome(wrote, err)))
		endSpan(span, err)
	}()
	if o, err = r.invoke(ctx, v, options); err != nil {
		return o, false, err
	}
	ctx, commit := r.tracer().Start(ctx, spanCommit)
	wrote, err = r.commit(ctx, v, o)
	endSpan(commit, err)
	return o, wrote, err
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
	parts, err := r.chain(ctx, v.manifest, v.version)
	if err != nil {
		return nil, err
	}
	index := newObjectIndex(func() iter.Seq2[located, error] { return r.entries(ctx, parts) })
	servers, err := r.startServers(ctx, v.manifest.Session, index)
	if err != nil {
		return nil, err
	}
	defer servers.close() // P7/reachable: not before the invocation has ended
	ctx, span := r.tracer().Start(ctx, spanInvoke, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("pugmark.transport", transportName(transport))))
	o := r.newOutputs(ctx, v.manifest)
	err = transport.Invoke(ctx, Invocation{
		Identity: protocol.Identity{
			Agent: v.manifest.Agent, Session: v.manifest.Session, Snapshot: v.version, Metadata: v.manifest.Metadata,
		},
		Trace:  r.traceContext(ctx, v.manifest.Session, options.Trace),
		Inputs: r.inputs(ctx, v, parts, servers, index),
		Output: o.take,
	})
	var failure *InvocationError
	if errors.As(err, &failure) {
		failure.Session, failure.Version = v.manifest.Session, v.version
		err = failure
	}
	endSpan(span, err)
	return o, err
}
