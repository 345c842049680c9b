package reference_test

import (
	"context"
	"encoding/hex"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// sessionIDs is the ID generator that a provider needs.
type sessionIDs struct{ last byte }

func (g *sessionIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, ok := reference.SessionTraceID(ctx)
	if !ok {
		panic("a root span without a session")
	}
	return id, g.NewSpanID(ctx, id)
}

func (g *sessionIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	g.last++
	return trace.SpanID{7: g.last}
}

func (w *world) traced(sampler sdktrace.Sampler) *tracetest.SpanRecorder {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(recorder), sdktrace.WithIDGenerator(new(sessionIDs)), sdktrace.WithSampler(sampler))
	w.runtime.Tracer = provider.Tracer("test")
	return recorder
}

// spanTree gives ended spans as "parent > name outcome" lines, in the order of
// their ends, and requires that all are of the session's trace.
func spanTree(t *testing.T, session string, recorder *tracetest.SpanRecorder) []string {
	t.Helper()
	names := map[trace.SpanID]string{}
	for _, span := range recorder.Ended() {
		names[span.SpanContext().SpanID()] = span.Name()
		require.Equal(t, session, span.SpanContext().TraceID().String(), "trace ID of %s", span.Name())
	}
	var lines []string
	for _, span := range recorder.Ended() {
		line := span.Name()
		if parent := span.Parent().SpanID(); parent.IsValid() {
			line = names[parent] + " > " + line
		}
		for _, attribute := range span.Attributes() {
			switch attribute.Key {
			case "pugmark.outcome", "pugmark.transport", "http.response.status_code":
				line += " " + attribute.Value.Emit()
			}
		}
		if span.Status().Description != "" {
			line += " (" + span.Status().Description + ")"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// get reads a URL with a trace context.
func get(t *testing.T, url, traceParent string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("traceparent", traceParent)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
}

// P14.1/session-trace-id: one root span an invocation, the phases below it, and
// what the handler's requests carry on below the handler's context.
func TestSpansOfAnInvocation(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "x")
	recorder := w.traced(sdktrace.AlwaysSample())
	_, call := w.once(parentID, func(call *invocation) error {
		get(t, call.inputs[1].URL, call.Trace.TraceParent)
		get(t, call.inputs[0].URL+"ns/none", call.Trace.TraceParent)
		get(t, call.inputs[1].URL, "")
		get(t, call.inputs[1].URL, "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01")
		get(t, call.inputs[1].URL, "ff"+call.Trace.TraceParent[2:])
		return call.emit(text("b", "y"))
	})
	wantLines(t, "spans", []string{
		"pugmark invocation > pugmark commit",
		"pugmark invocation > pugmark invoke other",
		"pugmark invocation > pugmark materialise",
		"pugmark invocation committed",
		"pugmark invoke > pugmark read memory 404",
		"pugmark invoke > pugmark read object 200",
	}, spanTree(t, parentID, recorder))
	for _, span := range recorder.Ended() {
		if span.Name() == "pugmark invoke" {
			require.Equal(t, "00-"+parentID+"-"+span.SpanContext().SpanID().String()+"-01", call.Trace.TraceParent)
		}
	}
}

func TestSpansOfInvocationsThatDoNotCommit(t *testing.T) {
	w := newWorld(t, parentID)
	recorder := w.traced(sdktrace.AlwaysSample())
	w.once(parentID,
		func(call *invocation) error {
			w.push(parentID, "meanwhile", "")
			return call.emit(text("b", "y"))
		})
	_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(&scripted{
		steps: []func(*invocation) error{func(*invocation) error { return errors.New("broken") }},
	}))
	require.Error(t, err)
	w.once(parentID, emits(pause("done")))
	recorded := len(recorder.Ended())
	w.once(parentID) // paused: no invocation, no span
	require.Len(t, recorder.Ended(), recorded)
	var roots []string
	for _, line := range spanTree(t, parentID, recorder) {
		if cut, found := strings.CutPrefix(line, "pugmark invocation "); found && cut[0] != '>' {
			roots = append(roots, cut)
		}
	}
	wantLines(t, "root spans", []string{"committed", "conflict", "failed (broken)", "nothing"}, roots)
}

// Reading R53: what came in can't be the parent, so it is linked.
func TestIncomingContextIsLinked(t *testing.T) {
	w := newWorld(t, parentID)
	recorder := w.traced(sdktrace.AlwaysSample())
	options := handledBy(new(scripted))
	options.Trace = protocol.TraceContext{TraceParent: "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01", TraceState: "v=1"}
	_, err := w.runtime.RunOnce(t.Context(), parentID, options)
	require.NoError(t, err)
	var links []string
	for _, span := range recorder.Ended() {
		for _, link := range span.Links() {
			links = append(links, span.Name()+" "+link.SpanContext.TraceID().String()+" "+link.SpanContext.TraceState().String())
		}
	}
	require.Equal(t, []string{"pugmark invocation aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa v=1"}, links)
}

// A sampler that records nothing is passed on, and the trace ID is the session's
// all the same.
func TestTraceContextOfAnInvocationThatIsNotSampled(t *testing.T) {
	w := newWorld(t, parentID)
	recorder := w.traced(sdktrace.NeverSample())
	_, call := w.once(parentID)
	require.Regexp(t, "^00-"+parentID+"-[0-9a-f]{16}-00$", call.Trace.TraceParent)
	require.Empty(t, recorder.Ended())
}

// A provider with other IDs must not lead to another trace ID at the handler.
func TestTraceIDIsTheSessionsWhateverTheProvider(t *testing.T) {
	w := newWorld(t, parentID)
	w.runtime.Tracer = sdktrace.NewTracerProvider().Tracer("test")
	_, call := w.once(parentID)
	require.Regexp(t, "^00-"+parentID+"-[0-9a-f]{16}-01$", call.Trace.TraceParent)
}

// F50, F51: nothing of a context that is not valid comes through.
func TestIncomingContextsThatAreNotValid(t *testing.T) {
	const ids = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb"
	for name, parent := range map[string]string{
		"none": "", "version ff": "ff-" + ids + "-01", "text after the flags": "00-" + ids + "-01-x",
		"upper case": "00-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-bbbbbbbbbbbbbbbb-01", "54 characters": "00-" + ids + "-1",
		"zero trace": "00-00000000000000000000000000000000-bbbbbbbbbbbbbbbb-01", "broken": "nonsense",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parentID)
			transport := new(scripted)
			options := handledBy(transport)
			options.Trace = protocol.TraceContext{TraceParent: parent, TraceState: "vendor=1"}
			_, err := w.runtime.RunOnce(t.Context(), parentID, options)
			require.NoError(t, err)
			got := transport.seen[0].Trace
			span := got.TraceParent[36:52]
			_, err = hex.DecodeString(span)
			require.NoError(t, err)
			want := protocol.TraceContext{TraceParent: "00-" + parentID + "-" + span + "-01"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("context (-want +got):\n%s", diff)
			}
		})
	}
}

// A store that fails while a session is materialised is seen in the trace.
func TestSpanOfASessionThatCanNotBeMaterialised(t *testing.T) {
	w := newWorld(t, parentID)
	recorder := w.traced(sdktrace.AlwaysSample())
	w.runtime.Store = &storage.Store{Bucket: unlisted{w.bucket}}
	_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(new(scripted)))
	require.ErrorIs(t, err, errUnlisted)
	require.Len(t, recorder.Ended(), 2)
	require.Contains(t, spanTree(t, parentID, recorder)[0], "pugmark invocation (listing ")
	_, err = w.runtime.RunOnce(t.Context(), "nonsense", handledBy(new(scripted)))
	require.Error(t, err)
	require.Len(t, recorder.Ended(), 2, "a session that does not exist has a trace")
}

// unlisted is a bucket whose listings fail.
type unlisted struct{ storage.Bucket }

var errUnlisted = errors.New("no listing today")

func (unlisted) List(context.Context, string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("", errUnlisted) }
}
