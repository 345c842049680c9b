package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// loaded is the registry, which does not change and takes a while to load.
var loaded = sync.OnceValues(spec.Load)

func registry(t testing.TB) *spec.Spec {
	t.Helper()
	s, err := loaded()
	require.NoError(t, err)
	return s
}

// maker puts runs together by hand.
type maker struct {
	t    testing.TB
	spec *spec.Spec
	run  *result.Run
}

func newMaker(t testing.TB) *maker {
	return &maker{t: t, spec: registry(t), run: &result.Run{
		Schema:  result.SchemaV1,
		Verdict: result.NotConformant,
		Subject: result.Subject{
			Name: "my-sdk", Version: "0.16.7", Kinds: []string{"handler"},
			Transports: []string{"subprocess", "rpc"}, Features: []string{"instructions"},
		},
		Selection:  result.Selection{All: true, Shard: "1/1"},
		Suite:      result.Suite{Version: "1.0.0", Cases: "sha256:" + strings.Repeat("0a", 32)},
		Platform:   "linux/amd64",
		Command:    []string{"pugmark-conform", "run", "--subject", "my-sdk"},
		Seed:       7,
		Started:    "2030-01-02T03:04:05Z",
		DurationMS: 4321,
		Totals:     map[string]int{},
	}}
}

// requirement records what became of a requirement of the registry.
func (m *maker) requirement(id string, v result.Verdict, cases ...string) {
	m.t.Helper()
	q, ok := m.spec.Requirement(id)
	require.True(m.t, ok, id)
	m.run.Requirements = append(m.run.Requirements, result.Requirement{
		ID: id, Level: string(q.Level), Side: q.Side.Letter(), Section: string(q.Section), Text: q.Text, Verdict: v, Cases: cases,
	})
}

// add records a case on each of the transports.
func (m *maker) add(c result.Case, transports ...string) {
	for _, transport := range transports {
		one := c
		one.Transport = transport
		one.Evidence = "evidence/" + c.ID + "@" + transport
		one.Rerun = "pugmark-conform run --subject my-sdk --transport " + transport + " " + c.ID
		if one.DurationMS == 0 {
			one.DurationMS = int64(10 + len(m.run.Cases))
		}
		m.run.Cases = append(m.run.Cases, one)
		m.run.Totals["cases"]++
		m.run.Totals[string(c.Verdict)]++
	}
}

// sample is a run with outcomes of every kind.
func sample(t testing.TB) *result.Run {
	m := newMaker(t)
	m.requirement("P2.1/stderr-logs", result.Warn, "handler/stderr/logs")
	m.requirement("P2/same-format", result.Untested)
	m.requirement("P3/any-whitespace", result.Fail, "handler/framing/tabs", "handler/framing/no-whitespace")
	m.requirement("P3/no-op-record", result.Crash, "handler/framing/no-op")
	m.requirement("P3/trailing-lf", result.Warn, "handler/framing/trailing-lf")
	m.requirement("P3/utf8", result.Pass, "handler/framing/emoji")
	m.requirement("P3.1/no-line-breaks", result.Fail, "handler/base64/long-body")
	m.requirement("P4.2/lifecycle-begins", result.Fail, "handler/lifecycle/open-input")
	m.requirement("P7/non-2xx-error", result.HarnessError, "handler/fetch/not-found")
	m.requirement("P7/content-encoding", result.NotTestable, "handler/fetch/gzip")
	m.requirement("P8.3/read", result.NotApplicable, "handler/memory/read")
	m.requirement("P14/fetch-context", result.KnownFailure, "handler/tracing/fetch")
	m.requirement("P14/consume", result.Untested)
	m.requirement("P16/closes-output", result.Hang, "handler/end/never")

	space := result.Check{
		ID: "observed", Requirement: "P3/any-whitespace", Verdict: result.Fail,
		Where: "conform/observed, entry 2", Want: `name "a", body "hello"`, Got: "no such entry: the handler saw 1 entry",
		Diff: "first difference at byte 12\n- 00000008  68 65 6c 6c 6f 0a 7b 22  hello.{\"\n+ 00000008  68 65 6c 6c 5c 6e 7b 22  hell\\n{\"\n",
	}
	m.add(result.Case{
		ID: "handler/framing/no-whitespace", Why: "Records may follow each other with nothing between.",
		Verdict: result.Fail, Reason: "P3/any-whitespace", Checks: []result.Check{space},
	}, "subprocess", "rpc")
	tabs := space
	tabs.Got, tabs.Diff = "exit status 1; the handler wrote \"Traceback (most recent call last): json.decoder.JSONDecodeError: Extra data: line 1 column 2\" to stderr", ""
	m.add(result.Case{
		ID: "handler/framing/tabs", Why: "Tabs may separate records.", Verdict: result.Fail, Checks: []result.Check{tabs},
	}, "subprocess", "rpc")
	m.add(result.Case{
		ID: "handler/framing/emoji", Why: "Names may hold any character.", Verdict: result.Pass,
		Checks: []result.Check{{ID: "observed", Requirement: "P3/utf8", Verdict: result.Pass}},
	}, "subprocess", "rpc")
	m.add(result.Case{
		ID: "handler/base64/long-body", Why: "A body of 100 bytes needs no line break.", Verdict: result.Fail, DurationMS: 1234,
		Checks: []result.Check{{
			ID: "stream/no-line-breaks", Requirement: "P3.1/no-line-breaks", Verdict: result.Fail,
			Where: "stdout, record 1, byte 93", Want: "base64 without line breaks", Got: `an LF at byte 76 of the text "aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8g\nZWxsbw=="`,
		}},
	}, "subprocess")
	m.add(result.Case{
		ID: "handler/lifecycle/open-input", Why: "The lifecycle event is the signal to begin, not the end of the input.", Verdict: result.Hang,
		Reason: "the handler was ended by the harness after 2s", DurationMS: 2010,
		Checks: []result.Check{{
			ID: "before-close", Requirement: "P4.2/lifecycle-begins", Readings: []string{"R28"}, Verdict: result.Fail,
			Where: "end of the input", Want: "the handler ends while its input is still open", Got: "it was still reading after 2s",
		}},
	}, "subprocess")
	m.add(result.Case{ID: "handler/end/never", Why: "A handler ends when it is done.", Verdict: result.Hang,
		Reason: "the handler was ended by the harness after 10s", DurationMS: 10004}, "rpc", "subprocess")
	m.add(result.Case{ID: "handler/end/never-either", Why: "A handler ends when it is done.", Verdict: result.Hang,
		Reason: "the handler was ended by the harness after 10s", DurationMS: 10001}, "subprocess")
	m.add(result.Case{ID: "handler/framing/no-op", Why: "An empty record is tolerated.", Verdict: result.Crash,
		Reason: "the handler was ended by signal 11 (SIGSEGV)"}, "subprocess")
	m.add(result.Case{ID: "handler/fetch/gzip", Why: "A packed body is unpacked.", Verdict: result.NotTestable,
		Reason: `the handler answered conform/unsupported to {"op": "observe"}, though it claims instructions`,
		Checks: []result.Check{{ID: "observed", Requirement: "P7/content-encoding", Verdict: result.NotRun}}}, "subprocess")
	m.add(result.Case{ID: "handler/fetch/not-found", Why: "404 is an error.", Verdict: result.HarnessError,
		Reason: "the harness could not stage the case: listen on 127.0.0.1:0: too many open files"}, "subprocess")
	m.add(result.Case{ID: "handler/memory/read", Why: "Memory is read over HTTP.", Verdict: result.NotApplicable,
		Reason: "the subject does not claim memory"}, "subprocess", "rpc")
	m.add(result.Case{ID: "handler/tracing/fetch", Why: "Fetches carry the context.", Verdict: result.KnownFailure,
		Reason: "waits for the next release of the HTTP client",
		Checks: []result.Check{{ID: "header", Requirement: "P14/fetch-context", Verdict: result.Fail, Got: "no traceparent"}}}, "subprocess")
	m.add(result.Case{ID: "handler/framing/trailing-lf", Why: "One LF follows each record.", Verdict: result.Warn,
		Checks: []result.Check{{ID: "lf", Requirement: "P3/trailing-lf", Verdict: result.Warn,
			Where: "stdout, byte 88", Want: "an LF", Got: "the end of the stream"}}}, "subprocess", "rpc")
	m.add(result.Case{ID: "handler/stderr/logs", Why: "Diagnostics go to stderr.", Verdict: result.Warn,
		Checks: []result.Check{{ID: "stderr", Requirement: "P2.1/stderr-logs", Verdict: result.Warn, Got: "nothing on stderr"}}}, "subprocess")
	return m.run
}

// clear is a run without a fault.
func clear(t testing.TB) *result.Run {
	m := newMaker(t)
	m.run.Verdict = result.Conformant
	m.run.Subject = result.Subject{Name: "reference", Version: "1.0.0"}
	for i, id := range []string{"P3/any-whitespace", "P3/utf8", "P4.2/empty-session"} {
		m.requirement(id, result.Pass, fmt.Sprintf("handler/a/%d", i))
		m.add(result.Case{ID: fmt.Sprintf("handler/a/%d", i), Verdict: result.Pass}, "subprocess", "rpc")
	}
	return m.run
}

// hostile is what a subject can write that must not act.
const hostile = "\x1b[31mred\x1b]0;title\x07 \x00 \xff\xfe é 語 \u202eevil\u2066 \u009b2J \u2028 ]]> <script>alert(1)</script> \r\n- fake\n+ fake\t\ufeff\ufffe"

// poison puts the text into every field that a subject can set.
func poison(r *result.Run, text string) {
	r.Subject.Name, r.Subject.Version = text, text
	r.Subject.Features = []string{text}
	r.Command = []string{text}
	for i := range r.Cases {
		c := &r.Cases[i]
		c.Why, c.Reason, c.Evidence, c.Rerun = text, text+" "+string(c.Verdict), text, text
		for j := range c.Checks {
			k := &c.Checks[j]
			k.Where, k.Want, k.Got, k.Diff = text, text, text, text
		}
	}
}

// shuffled is the run with its cases in another order, as they finish in parallel.
func shuffled(r *result.Run, seed uint64) *result.Run {
	random := rand.New(rand.NewPCG(seed, 1))
	out := *r
	out.Cases = append([]result.Case(nil), r.Cases...)
	random.Shuffle(len(out.Cases), func(i, j int) { out.Cases[i], out.Cases[j] = out.Cases[j], out.Cases[i] })
	out.Requirements = append([]result.Requirement(nil), r.Requirements...)
	for i := range out.Requirements {
		q := &out.Requirements[i]
		q.Cases = append([]string(nil), q.Cases...)
		random.Shuffle(len(q.Cases), func(i, j int) { q.Cases[i], q.Cases[j] = q.Cases[j], q.Cases[i] })
	}
	out.Totals = map[string]int{}
	for name, n := range r.Totals {
		out.Totals[name] = n
	}
	return &out
}
