package reference

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// The names of the spans. Each invocation has a root span, and below it one for
// each of its phases; the handler's own spans belong below spanInvoke, and reads
// below the span that the handler's request names.
const (
	spanInvocation  = "pugmark invocation"
	spanMaterialise = "pugmark materialise"
	spanInvoke      = "pugmark invoke"
	spanCommit      = "pugmark commit"
	spanObject      = "pugmark read object"
	spanMemory      = "pugmark read memory"
)

// outcome is how an attempt at an invocation ended, as the attribute
// "pugmark.outcome" says it.
func outcome(wrote bool, err error) string {
	switch {
	case !wrote && errors.Is(err, storage.ErrConflict):
		return "conflict"
	case err != nil:
		return "failed"
	case wrote:
		return "committed"
	default:
		return "nothing"
	}
}

type sessionTraceKey struct{}

// SessionTraceID gives the trace ID that a root span made in ctx must have: the
// session ID (P14.1/session-trace-id). A provider whose ID generator asks it makes
// spans that share the trace of the context that handlers are given.
func SessionTraceID(ctx context.Context) (id trace.TraceID, ok bool) {
	id, ok = ctx.Value(sessionTraceKey{}).(trace.TraceID)
	return id, ok
}

func (r *Runtime) tracer() trace.Tracer {
	if r.Tracer != nil {
		return r.Tracer
	}
	return noop.Tracer{}
}

// startInvocation begins the root span of an invocation that began to materialise
// a session at a time. Whether a handler is invoked at all is known only after
// that, and a run that finds its session paused is no invocation; so the root and
// its first child begin in the past. What came in from outside is linked, since it
// can't be the parent (reading R53).
func (r *Runtime) startInvocation(ctx context.Context, session string, incoming protocol.TraceContext, begun time.Time) (context.Context, trace.Span) {
	options := []trace.SpanStartOption{
		trace.WithNewRoot(), trace.WithTimestamp(begun),
		trace.WithAttributes(attribute.String("pugmark.session", session)),
	}
	if caller, ok := remoteContext(incoming); ok {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: caller}))
	}
	ctx = context.WithValue(ctx, sessionTraceKey{}, trace.TraceID(sessionTraceID(session)))
	ctx, root := r.tracer().Start(ctx, spanInvocation, options...)
	_, materialise := r.tracer().Start(ctx, spanMaterialise, trace.WithTimestamp(begun))
	materialise.End()
	return ctx, root
}

// traceUnprepared records that a session could not be materialised, and gives the
// error back. A session that does not exist has no trace.
func (r *Runtime) traceUnprepared(ctx context.Context, session string, incoming protocol.TraceContext, begun time.Time, err error) error {
	var refused *RequestError
	if !errors.As(err, &refused) {
		_, root := r.startInvocation(ctx, session, incoming, begun)
		endSpan(root, err)
	}
	return err
}

// endSpan ends a span, as failed if there is an error. That a version was taken by
// someone else is none.
func endSpan(span trace.Span, err error) {
	if err != nil && !errors.Is(err, storage.ErrConflict) {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// traceContext makes the context that a handler is given. Its trace ID is the
// session's ID, whatever came in and whoever makes our spans
// (P14.1/session-trace-id); its span is ours if we have one, so that the handler's spans
// stand below it. Without a tracer it asks for sampling, since the handler may have
// one.
func (r *Runtime) traceContext(ctx context.Context, session string, incoming protocol.TraceContext) protocol.TraceContext {
	id := sessionTraceID(session)
	result := protocol.TraceContext{TraceState: incoming.Valid().TraceState} // P14/tracestate
	span := trace.SpanContextFromContext(ctx)
	if span.IsValid() && span.TraceID() == id {
		result.TraceParent = protocol.FormatTraceParent(id, span.SpanID(), byte(span.TraceFlags()))
	} else {
		result.TraceParent = protocol.FormatTraceParent(id, r.ids().Span(), protocol.FlagSampled)
	}
	return result
}

// sessionTraceID is a session ID as a trace ID. Sessions are loaded before they are
// traced, so the ID is valid.
func sessionTraceID(session string) (id [16]byte) {
	_, _ = hex.Decode(id[:], []byte(session))
	return id
}

// remoteContext is a context that came over a wire; ok is false for one that is
// not valid.
func remoteContext(wire protocol.TraceContext) (sc trace.SpanContext, ok bool) {
	parent, err := protocol.ParseTraceParent(wire.TraceParent)
	if err != nil {
		return trace.SpanContext{}, false
	}
	state, _ := trace.ParseTraceState(wire.Valid().TraceState)
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: parent.TraceID, SpanID: parent.SpanID, TraceFlags: trace.TraceFlags(parent.Flags),
		TraceState: state, Remote: true,
	}), true
}

// tracedReads makes a span of each request that carries the session's trace
// context on (section 14). Requests without it have no place in the trace.
func (r *Runtime) tracedReads(name, session string, next http.Handler) http.Handler {
	if r.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		caller, ok := remoteContext(protocol.TraceContextFromHeader(req.Header))
		if !ok || caller.TraceID() != sessionTraceID(session) {
			next.ServeHTTP(w, req)
			return
		}
		ctx := trace.ContextWithRemoteSpanContext(req.Context(), caller)
		ctx, span := r.Tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			attribute.String("http.request.method", req.Method), attribute.String("url.path", req.URL.Path)))
		defer span.End()
		recorded := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(recorded, req.WithContext(ctx))
		span.SetAttributes(attribute.Int("http.response.status_code", recorded.status))
		if recorded.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(recorded.status))
		}
	})
}

// statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives [http.ResponseController] the writer below.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
