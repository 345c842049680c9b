package html

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/transcript"
)

// loaded is the registry, which does not change and takes a while to load.
var loaded = sync.OnceValues(spec.Load)

func registry(t testing.TB) *spec.Spec {
	t.Helper()
	s, err := loaded()
	require.NoError(t, err)
	return s
}

// stored is a run and the folder of its evidence.
type storedRun struct {
	t    testing.TB
	spec *spec.Spec
	root string
	run  *result.Run
}

func newRun(t testing.TB) *storedRun {
	return &storedRun{t: t, spec: registry(t), root: t.TempDir(), run: &result.Run{
		Schema: result.SchemaV1, Verdict: result.NotConformant,
		Subject: result.Subject{
			Name: "my-sdk", Version: "1.2.3", Kinds: []string{"handler"}, Transports: []string{"subprocess", "rpc"}, Features: []string{"fork", "instructions"},
		},
		Selection: result.Selection{All: true, Patterns: []string{}, Shard: "1/1"},
		Suite:     result.Suite{Version: "1.0.0", Cases: "sha256:" + strings.Repeat("0a", 32)},
		Platform:  "linux/amd64", Command: []string{"pugmark-conform", "run", "--subject", "my sdk.yaml"},
		Seed: 7, Started: "2030-01-02T03:04:05Z", DurationMS: 4321, Totals: map[string]int{}, Complete: true,
	}}
}

// requirement records what became of a requirement of the registry.
func (r *storedRun) requirement(id string, v result.Verdict, cases ...string) {
	r.t.Helper()
	q, ok := r.spec.Requirement(id)
	require.True(r.t, ok, id)
	r.run.Requirements = append(r.run.Requirements, result.Requirement{
		ID: id, Level: string(q.Level), Side: q.Side.Letter(), Section: string(q.Section), Text: q.Text, Verdict: v, Cases: cases,
	})
}

// add records a case; evidence, where there is some, is stored as the runner does.
func (r *storedRun) add(c result.Case, e *result.Evidence) {
	r.t.Helper()
	if e != nil {
		e.Case, e.Transport, e.Subject = c.ID, c.Transport, "my-sdk"
		folder, err := result.WriteEvidence(r.root, e, &c)
		require.NoError(r.t, err)
		c.Evidence = folder
	}
	if c.Rerun == "" {
		c.Rerun = fmt.Sprintf("pugmark-conform run --subject 'my sdk.yaml' --transport %s %s", c.Transport, c.ID)
	}
	r.run.Cases = append(r.run.Cases, c)
}

// page is the page of the run.
func (r *storedRun) page() []byte {
	r.t.Helper()
	var b bytes.Buffer
	require.NoError(r.t, Render(&b, r.run, r.spec, r.root))
	return b.Bytes()
}

// file is the page as a file that a browser can open.
func (r *storedRun) file() string {
	r.t.Helper()
	name := filepath.Join(r.t.TempDir(), "report.html")
	require.NoError(r.t, os.WriteFile(name, r.page(), 0o600))
	return name
}

var began = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func event(at int64, kind transcript.Kind, stream, data string) transcript.Event {
	return transcript.Event{At: at, Kind: kind, Stream: stream, Data: transcript.Bytes(data)}
}

// record is an Output, or an Input, as it goes over the wire.
func record(t testing.TB, name, body string) string {
	text, err := json.Marshal(map[string]string{"name": name, "data": base64.StdEncoding.EncodeToString([]byte(body))})
	require.NoError(t, err)
	return string(text)
}

// overPipes is an invocation of a handler over its standard streams, which wrote
// these and ended with this status.
func overPipes(outputs, stderr string, code int) *result.Evidence {
	return &result.Evidence{
		Kind: "handler", Started: began, Steps: []result.Step{{Verb: "invoke", Args: []string{"main"}, Invocations: 1}},
		Invocations: []result.Invocation{{Role: "main", Transcript: transcript.Transcript{By: "fakeruntime", Transport: "subprocess", Started: began, Events: []transcript.Event{
			{Kind: transcript.Environment, Variables: map[string]string{"PUGMARK_AGENT_ID": "agent"}},
			{At: 3, Kind: transcript.Spawn, Text: "python handler.py"},
			event(1000, transcript.Sent, transcript.Stdin, `{"event":"memory","url":"http://127.0.0.1:1/memories/"}`),
			event(1100, transcript.Sent, transcript.Stdin, "\n"+`{"event":"start"}`+"\n"),
			{At: 1200, Kind: transcript.Closed, Stream: transcript.Stdin, Text: "by us"},
			event(2000, transcript.Received, transcript.Stdout, outputs),
			event(2500, transcript.Received, transcript.Stderr, stderr),
			{At: 3000, Kind: transcript.Exited, Ended: &transcript.Ended{How: transcript.HowExit, Code: code}},
		}}}},
	}
}

// sample is a run with outcomes of every kind, small enough to be looked at.
func sample(t testing.TB) *storedRun {
	r := newRun(t)
	r.requirement("P3/any-whitespace", result.Fail, "handler/framing/tabs", "handler/framing/spaces")
	r.requirement("P3/utf8", result.Pass, "handler/framing/emoji")
	r.requirement("P3.2/omit-empty", result.Warn, "handler/empty/omit")
	r.requirement("P4.2/lifecycle-begins", result.Hang, "handler/stream/begins")
	r.requirement("P7.1/prefer-data", result.Fail, "handler/inline/data-alone")
	r.requirement("P7/content-encoding", result.NotTestable, "handler/objects/gzip")
	r.requirement("P8.3/read", result.NotApplicable, "handler/memory/read")
	fail := result.Check{ID: "exit", Requirement: "P3/any-whitespace", Verdict: result.Fail, Where: "end of the handler",
		Want: "the invocation succeeds: exit status 0", Got: "exited with status 1"}
	after := result.Check{ID: "observed", Requirement: "P3/any-whitespace", Verdict: result.NotRun}
	for _, transport := range []string{"subprocess", "rpc"} {
		r.add(result.Case{ID: "handler/framing/tabs", Transport: transport, Why: "Tabs may separate records.", Verdict: result.Fail,
			Reason: "P3/any-whitespace: exited with status 1", DurationMS: 12, Checks: []result.Check{fail, after}},
			overPipes("", "Traceback (most recent call last):\nJSONDecodeError: Extra data\n", 1))
		r.add(result.Case{ID: "handler/framing/emoji", Transport: transport, Why: "Names may hold any character.", Verdict: result.Pass, DurationMS: 9,
			Checks: []result.Check{{ID: "observed", Requirement: "P3/utf8", Verdict: result.Pass}}}, nil)
	}
	r.add(result.Case{ID: "handler/framing/spaces", Transport: "subprocess", Why: "Spaces may separate records.", Verdict: result.Fail, DurationMS: 12,
		Checks: []result.Check{fail}}, overPipes("", "JSONDecodeError\n", 1))
	r.add(result.Case{ID: "handler/framing/spaces", Transport: "rpc", Why: "Spaces may separate records.", Verdict: result.Pass, DurationMS: 2,
		Checks: []result.Check{{ID: "exit", Requirement: "P3/any-whitespace", Verdict: result.Pass}}}, nil)
	r.add(result.Case{ID: "handler/inline/data-alone", Transport: "subprocess", Why: "A record may carry its body.", Verdict: result.Fail, DurationMS: 33,
		Checks: []result.Check{
			{ID: "exit", Requirement: "P7.1/prefer-data", Verdict: result.Pass},
			{ID: "observed", Requirement: "P7.1/prefer-data", Readings: []string{"R4"}, Verdict: result.Fail, Where: "conform/observed, entry 1, body",
				Want: `body: 5 bytes, "hello", name: "a"`, Got: `body: 0 bytes, "", name: "a"`,
				Diff: "body: first difference at byte 0\n- 00000000  68 65 6c 6c 6f  hello  (ends at byte 5)\n+ 00000000  (ends at byte 0)\n"},
		}}, overPipes(record(t, "conform/observed", `{"entries":[{"name":"a","body":""}]}`)+"\n", "", 0))
	r.add(result.Case{ID: "handler/empty/omit", Transport: "subprocess", Why: "Empty fields are left out.", Verdict: result.Warn, DurationMS: 5,
		Checks: []result.Check{{ID: "omit", Requirement: "P3.2/omit-empty", Verdict: result.Warn, Where: "stdout, record 2, byte 23",
			Want: "empty fields omitted", Got: `"data" written out as ""`,
			Diff: "  00000010  00 00 00 00 00 00 00 22 22 00 00 00 00 00 00 00  .......\"\".......\n"}}},
		overPipes(`{"name":"x"}`+"\n"+`{"data":"","name":"empty"}`+"\n", "", 0))
	r.add(result.Case{ID: "handler/stream/begins", Transport: "subprocess", Why: "The event is the signal to begin.", Verdict: result.Hang, DurationMS: 2010,
		Reason: "the handler was ended by the harness after 2s"}, overPipes("not JSON\n"+`{"name":"late"}`, "", 0))
	r.add(result.Case{ID: "handler/objects/gzip", Transport: "rpc", Why: "A packed body is unpacked.", Verdict: result.NotTestable, DurationMS: 3,
		Reason: "the control does not hold", Checks: []result.Check{{ID: "observed", Requirement: "P7/content-encoding", Verdict: result.NotRun}}}, nil)
	r.add(result.Case{ID: "handler/memory/read", Transport: "rpc", Why: "Memory is read over HTTP.", Verdict: result.NotApplicable,
		Reason: "the subject does not claim memory"}, nil)
	return r
}
