package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP/HTTP receiver.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	status   []int // of the next answers; then 200
	requests []*http.Request
	spans    []*tracepb.ResourceSpans
}

func newCollector(t *testing.T, status ...int) *collector {
	c := &collector{status: status}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, req)
	if len(c.status) > 0 {
		w.WriteHeader(c.status[0])
		c.status = c.status[1:]
		return
	}
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(req.Body)
	}
	data, err := io.ReadAll(body)
	var message tracepb.TracesData
	if err == nil {
		err = proto.Unmarshal(data, &message)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.spans = append(c.spans, message.ResourceSpans...)
}

// all gives the spans by name, and requires that they are of one trace.
func (c *collector) all(t *testing.T, session string) map[string]*tracepb.Span {
	t.Helper()
	spans := map[string]*tracepb.Span{}
	for _, resource := range c.spans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				require.Equal(t, session, hex.EncodeToString(span.TraceId), "trace ID of %s", span.Name)
				spans[span.Name] = span
			}
		}
	}
	return spans
}

// call runs the program in the working folder of the test.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, diagnostics bytes.Buffer
	status = run(t.Context(), args, streams{in: strings.NewReader("hello"), out: &out, err: &diagnostics})
	return status, strings.TrimSpace(out.String()), diagnostics.String()
}

// started begins a session with one entry in a fresh folder.
func started(t *testing.T) (session string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{"TRACEPARENT", "TRACESTATE"} {
		t.Setenv(name, "")
	}
	status, session, stderr := call(t, "start")
	require.Zero(t, status, stderr)
	status, _, stderr = call(t, "push")
	require.Zero(t, status, stderr)
	return session
}

// tracingHandler reads an object with the trace context that it was given.
const tracingHandler = `
import json, os, sys, urllib.request
records = [json.loads(line) for line in sys.stdin]
open("traceparent", "w").write(os.environ["TRACEPARENT"])
request = urllib.request.Request(records[1]["url"], headers={"traceparent": os.environ["TRACEPARENT"]})
urllib.request.urlopen(request).read()
print('{"name":"b"}')
`

// P14.1/session-trace-id, from the command line to a collector.
func TestSpansAreExported(t *testing.T) {
	session := started(t)
	require.NoError(t, os.WriteFile("handler.py", []byte(tracingHandler), 0o666))
	spans := newCollector(t, http.StatusServiceUnavailable)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", spans.URL+"/root")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b,other=1")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	status, _, stderr := call(t, "run", "--once", "--", "python3", "handler.py")
	require.Zero(t, status, stderr)
	require.Empty(t, stderr)

	require.Len(t, spans.requests, 2, "the first was answered with 503")
	request := spans.requests[1]
	require.Equal(t, "/root/v1/traces", request.URL.Path)
	require.Equal(t, "application/x-protobuf", request.Header.Get("Content-Type"))
	require.Equal(t, "a b", request.Header.Get("X-Key"))
	resource := map[string]string{}
	for _, attribute := range spans.spans[0].Resource.Attributes {
		resource[attribute.Key] = attribute.Value.GetStringValue()
	}
	require.Equal(t, "pugmark-ref", resource["service.name"])
	require.Equal(t, "test", resource["deployment.environment"])

	all := spans.all(t, session)
	var tree []string
	for name, span := range all {
		parent := ""
		for other, candidate := range all {
			if bytes.Equal(span.ParentSpanId, candidate.SpanId) {
				parent = other + " > "
			}
		}
		tree = append(tree, parent+name)
	}
	slices.Sort(tree)
	want := []string{
		"pugmark invocation",
		"pugmark invocation > pugmark commit",
		"pugmark invocation > pugmark invoke",
		"pugmark invocation > pugmark materialise",
		"pugmark invoke > pugmark read object",
	}
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	handed, err := os.ReadFile("traceparent")
	require.NoError(t, err)
	require.Equal(t, "00-"+session+"-"+hex.EncodeToString(all["pugmark invoke"].SpanId)+"-01", string(handed))
}

// A collector that is not there, or variables that make no sense, cost a warning.
func TestTracingThatFailsStopsNothing(t *testing.T) {
	session := started(t)
	spans := newCollector(t, http.StatusBadRequest)
	for i, c := range []struct{ name, value, warning string }{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "connection refused"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", spans.URL + "/taken/as/it/is", "answered 400"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense", "no http or https URL"},
		{"OTEL_TRACES_EXPORTER", "zipkin", "set it to otlp or none"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			status, out, stderr := call(t, "run", "--once", "--json", "--", "sh", "-c", `cat >/dev/null; echo '{"name":"b"}'`)
			require.Zero(t, status)
			require.Contains(t, stderr, c.warning)
			require.Contains(t, out, `"session":"`+session+`","version":`+string(rune('2'+i)))
		})
	}
	require.Equal(t, "/taken/as/it/is", spans.requests[0].URL.Path)
}

func TestOTLPIsAskedForByTheStandardVariables(t *testing.T) {
	for _, c := range []struct {
		environ  string
		endpoint string // empty: not asked for
		fails    bool
	}{
		{"", "", false},
		{"OTEL_SERVICE_NAME=x", "", false},
		{"OTEL_TRACES_EXPORTER=otlp", "http://localhost:4318/v1/traces", false},
		{"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://c:1", "", false},
		{"OTEL_SDK_DISABLED=true OTEL_EXPORTER_OTLP_ENDPOINT=http://c:1", "", false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:1", "http://c:1/v1/traces", false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=https://c/a/", "https://c/a/v1/traces", false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:1 OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://d:2/x", "http://d:2/x", false},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "", true},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "http://localhost:4318/v1/traces", false},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_TIMEOUT=soon", "", true},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_HEADERS=x", "", true},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_CERTIFICATE=x", "", true},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "", true},
	} {
		settings, asked, err := otlpSettings(func(name string) string {
			for setting := range strings.FieldsSeq(c.environ) {
				if key, value, _ := strings.Cut(setting, "="); key == name {
					return value
				}
			}
			return ""
		})
		require.Equal(t, c.fails, err != nil, "%s: %v", c.environ, err)
		require.Equal(t, c.endpoint != "" || c.fails, asked, c.environ)
		require.Equal(t, c.endpoint, settings.endpoint, c.environ)
	}
}
