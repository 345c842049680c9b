package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

const (
	mainID  = "0123456789abcdef0123456789abcdef"
	childID = "fedcba9876543210fedcba9876543210"
)

// fedWith is the evidence of one run that invoked the scripted handler with the
// given input, and of a log and a dump that fit it.
func fedWith(stdin string, mods ...func(*result.Evidence)) *result.Evidence {
	e := &result.Evidence{
		Kind: "runtime", Transport: "subprocess", Sessions: map[string]string{"main": mainID},
		Features: []string{"log", "inspect", "once", "until-idle"},
		Invocations: []result.Invocation{{Step: 2, Transcript: transcript.Transcript{By: "fakehandler", Transport: "subprocess", Events: []transcript.Event{
			{Kind: transcript.Environment, Variables: map[string]string{
				"PUGMARK_AGENT_ID": "agent", "PUGMARK_SESSION_ID": mainID, "PUGMARK_SESSION_METADATA": `{"b":"2", "a":"1"}`,
				"TRACEPARENT": "00-" + mainID + "-0123456789abcdef-01",
			}},
			{Kind: transcript.Received, Stream: transcript.Stdin, Data: transcript.Bytes(stdin)},
			{Kind: transcript.Closed, Stream: transcript.Stdin, Text: "by the peer"},
			{Kind: transcript.Exited, Ended: &transcript.Ended{How: transcript.HowExit}},
		}}}},
		Steps: []result.Step{
			{Verb: "start", Args: []string{"main"}, Output: json.RawMessage(`{"session":"` + mainID + `"}`)},
			{Verb: "push", Args: []string{"main", "a"}},
			{Verb: "run-once", Args: []string{"main"}, Either: true, Invocations: 1, Output: json.RawMessage(`{"version":1}`)},
			{Verb: "log", Args: []string{"main"}, Invocations: 1, Output: json.RawMessage(`{"entries":[
				{"name":"a","content-type":"text/plain","size":5,"body":"aGVsbG8="},
				{"fork":true,"target-session":"` + childID + `","body":"Z28="},
				{"content-type":"application/vnd.pugmark.control+json","body":"` + b64(`{"status":"stopped","reason":"done"}`) + `"}]}`)},
			{Verb: "inspect", Args: []string{"main"}, Invocations: 1, Output: json.RawMessage(`{"session":"` + mainID + `","version":2,
				"parent":{"session":"` + childID + `","version":3},
				"snapshots":[{"version":2,"type":"normal"},{"version":1,"type":"queueing"}]}`)},
			{Verb: "expect", Args: []string{"expect"}, Invocations: 1},
		},
	}
	for _, mod := range mods {
		mod(e)
	}
	return e
}

const (
	fedMemory = `{"event":"memory","url":"http://127.0.0.1:1/memories/"}` + "\n"
	fedEntry  = `{"name":"a","url":"http://127.0.0.1:2/sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","size":5,"content-type":"text/plain"}` + "\n"
	fedStart  = `{"event":"start"}` + "\n"
	goodFed   = fedMemory + fedEntry + fedStart
)

// looseRuntime is a runtime case of one block, without the loader's lint.
func looseRuntime(t *testing.T, expect string) *casefile.Case {
	t.Helper()
	var b casefile.RuntimeExpect
	require.NoError(t, yaml.Unmarshal([]byte(expect), &b))
	return &casefile.Case{ID: "runtime/x/part", Kind: "runtime", Covers: []string{"P4.2/log-order"},
		Runtime: &casefile.Runtime{Expect: []casefile.RuntimeExpect{b}}}
}

func runFails(kind, message string) func(*result.Evidence) {
	return func(e *result.Evidence) {
		e.Steps[2].Error, e.Steps[2].Output = &result.StepError{Kind: kind, Message: message}, nil
	}
}

// never takes the invocation out of the evidence.
func never(e *result.Evidence) {
	e.Invocations = nil
	for i := range e.Steps {
		e.Steps[i].Invocations = 0
	}
}

// fetchedBody adds the answer to a fetch.
func fetchedBody(status int, path, body string, header map[string][]string) func(*result.Evidence) {
	return func(e *result.Evidence) {
		t := &e.Invocations[0].Transcript
		last := t.Events[len(t.Events)-1]
		t.Events = append(t.Events[:len(t.Events)-1],
			transcript.Event{Kind: transcript.Request, Stream: transcript.Objects, HTTP: &transcript.HTTP{Exchange: 1, Method: "GET", Target: path}},
			transcript.Event{Kind: transcript.Response, Stream: transcript.Objects, HTTP: &transcript.HTTP{Exchange: 1, Status: status, Header: header}},
			transcript.Event{Kind: transcript.Received, Stream: transcript.Objects, Data: transcript.Bytes(body), HTTP: &transcript.HTTP{Exchange: 1}}, last)
	}
}

func TestExpectationsOnARuntime(t *testing.T) {
	s := registry(t)
	const object = "/sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	variable := func(name, value string) func(*result.Evidence) {
		return func(e *result.Evidence) { e.Invocations[0].Transcript.Events[0].Variables[name] = value }
	}
	for _, c := range []struct {
		name, expect string
		e            *result.Evidence
		want         result.Verdict
		says         string
	}{
		{"run succeeds", "{run: success}", fedWith(goodFed), result.Pass, ""},
		{"run fails", "{run: success}", fedWith(goodFed, runFails("failed-invocation", "exit status 1")), result.Fail, "exit status 1"},
		{"run invokes nothing", "{run: success}", fedWith(goodFed, never), result.Fail, "the handler was never invoked"},
		{"failure wanted", "{run: failure}", fedWith(goodFed, runFails("failed-invocation", "exit status 1")), result.Pass, ""},
		{"success instead", "{run: failure}", fedWith(goodFed), result.Fail, "the run fails"},
		{"failure without an invocation", "{run: failure}", fedWith(goodFed, never, runFails("failed-invocation", "disk")), result.Fail, "never invoked"},
		{"failure inside the runtime", "{run: failure}", fedWith(goodFed, runFails("internal", "disk")), result.Fail, "a failure of the runtime (internal): disk"},
		{"failure before the invocation, and no proof", "{run: failure, invocations: 0}", fedWith(goodFed, never, runFails("failed-invocation", "too large")), result.NotTestable, "no invocation in the whole case"},
		{"failure before the invocation, after one with", "{run: failure, invocations: 0}", fedWith(goodFed, func(e *result.Evidence) {
			again := e.Steps[2]
			again.Error, again.Output = &result.StepError{Kind: "failed-invocation", Message: "too large"}, nil
			e.Steps = append(e.Steps[:5:5], again, e.Steps[5])
		}), result.Pass, ""},
		{"says", "{run: failure, says: signal 9}", fedWith(goodFed, runFails("failed-invocation", "killed by signal 9")), result.Pass, ""},
		{"says something else", "{run: failure, says: signal 9}", fedWith(goodFed, runFails("failed-invocation", "killed")), result.Fail, `got "killed"`},
		{"crash", "{run: failure}", fedWith(goodFed, runFails("crash", "signal 11")), result.Crash, "signal 11"},
		{"hang", "{run: success}", fedWith(goodFed, runFails("hang", "deadline")), result.Hang, ""},
		{"a failure that no expectation speaks of", "{log: [{name: a}]}", fedWith(goodFed, runFails("failed-invocation", "no JSON")), result.Fail, "the run succeeds"},
		{"once is not offered", "{run: success}", fedWith(goodFed, runFails("unsupported", ""), func(e *result.Evidence) { e.Features = nil }), result.NotTestable, "the feature once"},
		{"a run has no environment of its own", "{run: success}", fedWith(goodFed, runFails("unsupported", ""), func(e *result.Evidence) { e.Steps[2].Args = append(e.Steps[2].Args, result.WithEnvironment) }), result.NotApplicable, "no environment of its own"},
		{"once is claimed and not offered", "{run: success}", fedWith(goodFed, runFails("unsupported", "")), result.Fail, "claims the feature once"},
		{"rpc is declared away", "{run: success}", fedWith(goodFed, runFails("unsupported", ""), func(e *result.Evidence) { e.Transport = "rpc" }), result.NotApplicable, "rpc"},
		{"invocations", "{invocations: 1}", fedWith(goodFed), result.Pass, ""},
		{"more invocations", "{invocations: 2}", fedWith(goodFed), result.Fail, "1 invocation"},
		{"a log without any invocation", "{log: [{name: a}]}", fedWith(goodFed, never), result.NotTestable, "the handler was never invoked"},
		{"a version without any invocation", "{version: 2}", fedWith(goodFed, never), result.NotTestable, "the handler was never invoked"},
		{"a log without an invocation, as wanted", "{run: failure, says: too large, log: [{name: a}]}",
			fedWith(goodFed, never, runFails("failed-invocation", "too large")), result.Pass, ""},
		{"an empty data beside a url", "{fed: {entries: [{name: a, inline: false, body: {text: hello}}]}}",
			fedWith(strings.Replace(goodFed, `"name":"a"`, `"name":"a","data":""`, 1)), result.Warn, "P3.2/omit-empty"},
		{"no invocation, and no proof", "{invocations: 0}", fedWith(goodFed, never), result.NotTestable, ""},

		{"log", "{log: [{name: a, size: 5, content-type: text/plain, body: {text: hello}}]}", fedWith(goodFed), result.Pass, ""},
		{"whole log", "{whole-log: true, log: [{name: a}, {fork: true, target: child}, {control: {status: stopped, reason: done, start-at: false}}]}",
			fedWith(goodFed, func(e *result.Evidence) { e.Sessions["child"] = childID }), result.Pass, ""},
		{"another child", "{whole-log: true, log: [{name: a}, {fork: true, target: main}, {}]}", fedWith(goodFed), result.Fail, "target-session"},
		{"another reason", "{whole-log: true, log: [{name: a}, {}, {control: {reason: tired}}]}", fedWith(goodFed), result.Fail, `got control reason: "done"`},
		{"a missing entry", "{log: [{name: a}, {name: b}]}", fedWith(goodFed), result.Fail, `the first missing is "b"`},
		{"another body", "{log: [{body: {text: hellp}}]}", fedWith(goodFed), result.Fail, "first difference at byte 4"},
		{"version", "{version: 2}", fedWith(goodFed), result.Pass, ""},
		{"another version", "{version: 3}", fedWith(goodFed), result.Fail, "got 2"},
		{"types in version order", "{types: [queueing, normal]}", fedWith(goodFed), result.Pass, ""},
		{"other types", "{types: [normal]}", fedWith(goodFed), result.Fail, "queueing, normal"},
		{"parent", "{parent: child}", fedWith(goodFed, func(e *result.Evidence) { e.Sessions["child"] = childID }), result.Pass, ""},
		{"another parent", "{parent: main}", fedWith(goodFed), result.Fail, "parent"},
		{"dump of nothing", "{version: 0}", fedWith(goodFed, func(e *result.Evidence) { e.Steps[4].Output = json.RawMessage(`{}`) }), result.Fail, "session"},
		{"no inspect", "{version: 2}", fedWith(goodFed, func(e *result.Evidence) {
			e.Features = []string{"log"}
			e.Steps[4].Error = &result.StepError{Kind: "unsupported"}
			e.Steps = e.Steps[:5]
		}), result.NotApplicable, "the feature inspect"},

		{"fed", "{fed: {memory-first: true, lifecycle: start, input-closed: true, entries: [{name: a, event: \"\", size: 5, inline: false, body: {text: hello}}]}}", fedWith(goodFed), result.Pass, ""},
		{"success without an invocation, and no proof", "{run: success, invocations: 0}", fedWith(goodFed, never), result.NotTestable, "no invocation in the whole case"},
		{"success without an invocation after one with", "{run: success, invocations: 0}", fedWith(goodFed, func(e *result.Evidence) {
			again := e.Steps[2]
			e.Steps = append(e.Steps[:5:5], again, e.Steps[5])
		}), result.Pass, ""},
		{"input that breaks off", "{fed: {input-closed: true}}", fedWith(goodFed, func(e *result.Evidence) {
			e.Invocations[0].Transcript.Events[2].Text = "by the peer: connection reset"
		}), result.Fail, "the runtime ends the input stream"},
		{"fed nothing", "{fed: {lifecycle: start}}", fedWith("", never), result.Fail, "the handler was never invoked"},
		{"another lifecycle event", "{fed: {lifecycle: wake}}", fedWith(goodFed), result.Fail, "got start"},
		{"no event", "{fed: {lifecycle: none}}", fedWith(fedMemory + fedEntry + "{}\n"), result.Pass, ""},
		{"another digest", "{fed: {entries: [{body: {text: hellp}}]}}", fedWith(goodFed), result.Fail, "entry 1, body"},
		{"inline", "{fed: {entries: [{inline: true, body: {text: hello}}]}}", fedWith(fedMemory + `{"name":"a","data":"aGVsbG8="}` + "\n" + fedStart), result.Pass, ""},
		{"a no-op in the middle is no entry", "{fed: {entries: [{name: a}]}}", fedWith(fedMemory + "{}\n" + fedEntry + fedStart), result.Pass, ""},
		{"order of entries", "{fed: {entries: [{name: a}, {name: b}]}}", fedWith(fedMemory + `{"name":"b","data":"Yg=="}` + "\n" + fedEntry + fedStart), result.Fail, `"a" is entry 2`},
		{"push tag", "{fed: {entries: [{event: push}]}}", fedWith(goodFed), result.Fail, "entry 1, event"},
		{"environment", "{fed: {environment: {PUGMARK_AGENT_ID: agent, PUGMARK_SESSION_ID: '{main}', PUGMARK_SESSION_METADATA: '{\"a\":\"1\",\"b\":\"2\"}', TRACESTATE: \"\"}}}", fedWith(goodFed), result.Pass, ""},
		{"another agent", "{fed: {environment: {PUGMARK_AGENT_ID: agent}}}", fedWith(goodFed, variable("PUGMARK_AGENT_ID", "other")), result.Fail, "other"},
		{"stale variable", "{fed: {environment: {TRACESTATE: \"\"}}}", fedWith(goodFed, variable("TRACESTATE", "a=b")), result.Fail, "a=b"},
		{"trace", "{fed: {trace: true}}", fedWith(goodFed), result.Pass, ""},
		{"another trace ID", "{fed: {trace: true}}", fedWith(goodFed, variable("TRACEPARENT", "00-"+childID+"-0123456789abcdef-01")), result.Fail, mainID},
		{"broken trace", "{fed: {trace: true}}", fedWith(goodFed, variable("TRACEPARENT", "ff-"+mainID+"-0123456789abcdef-01")), result.Fail, "version ff"},
		{"fetched", "{fed: {fetched: [{status: 200, headers: {Content-Type: text/plain}, body: {text: hello}}]}}",
			fedWith(goodFed, fetchedBody(200, object, "hello", map[string][]string{"Content-Type": {"text/plain"}})), result.Pass, ""},
		{"not found", "{fed: {fetched: [{status: 404}]}}", fedWith(goodFed, fetchedBody(200, "/sha256:00", "x", nil)), result.Fail, "status: 200"},
		{"object URLs", "{fed: {object-urls: true}}", fedWith(goodFed, fetchedBody(200, object, "hello", nil)), result.Pass, ""},
		{"object URL with another digest", "{fed: {object-urls: true}}", fedWith(goodFed, fetchedBody(200, object, "hellp", nil)), result.Fail, "digest"},
		{"object URL of another shape", "{fed: {object-urls: true}}", fedWith(strings.ReplaceAll(goodFed, "/sha256:", "/o/sha256:"), fetchedBody(200, object, "hello", nil)), result.Fail, "sha256:<64"},
		{"stream rule", "{fed: {stream: [no-bom]}}", fedWith(goodFed), result.Pass, ""},
		{"broken stream rule", "{fed: {stream: [no-bom]}}", fedWith("\xef\xbb\xbf" + goodFed), result.Fail, "fed/stream/no-bom P3/no-bom fail"},

		{"any of", "{any-of: [{version: 9}, {version: 2}]}", fedWith(goodFed), result.Pass, ""},
		{"none of", "{any-of: [{version: 9}, {log: []}]}", fedWith(goodFed), result.Fail, "(1) version: 2; (2) log: 1 entry"},
		{"a script at fault", "{run: success}", fedWith(goodFed, func(e *result.Evidence) {
			e.Invocations[0].Transcript.Events = append(e.Invocations[0].Transcript.Events, transcript.Event{Kind: transcript.Note, Text: "script fault: operation 1: oops"})
		}), result.HarnessError, "operation 1: oops"},
		{"a fault of the harness", "{run: success}", fedWith(goodFed, func(e *result.Evidence) { e.Fault = "no folder" }), result.HarnessError, "no folder"},
		{"a refused start", "{run: success}", fedWith(goodFed, func(e *result.Evidence) {
			e.Steps[0].Error = &result.StepError{Kind: "internal", Message: "printed no session ID"}
		}), result.NotTestable, "printed no session ID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := New(s).Judge(looseRuntime(t, c.expect), c.e)
			if got.Verdict != c.want || !strings.Contains(all(got), c.says) {
				t.Errorf("want %s and %q, got:\n%s", c.want, c.says, all(got))
			}
			if got.Verdict == result.NotTestable {
				for _, k := range got.Checks {
					if k.Verdict == result.Pass {
						t.Errorf("the check %s passes without proof", k.ID)
					}
				}
			}
		})
	}
}

func TestRulesThatEveryInvocationKeeps(t *testing.T) {
	s := registry(t)
	for _, c := range []struct {
		name, stdin string
		want        []string
	}{
		{"right", goodFed, []string{"run: pass"}},
		{"no memory", fedEntry + fedStart, []string{"always/memory-first: fail", "run: pass"}},
		{"memory twice", fedMemory + fedMemory + fedStart, []string{"always/memory-once: fail", "run: pass"}},
		{"memory second", fedEntry + fedMemory + fedStart, []string{"always/memory-first: fail", "run: pass"}},
		{"no slash", strings.Replace(goodFed, "/memories/", "/memories", 1), []string{"always/trailing-slash: fail", "run: pass"}},
		{"no lifecycle event", fedMemory + fedEntry, []string{"always/lifecycle-last: fail", "run: pass"}},
		{"lifecycle event in the middle", fedMemory + fedStart + fedEntry + fedStart, []string{"always/lifecycle-once: fail", "run: pass"}},
		{"lifecycle event with a name", fedMemory + `{"event":"wake","name":"x"}` + "\n", []string{"always/lifecycle-bare: fail", "run: pass"}},
		{"the literal text empty", fedMemory + `{"event":"empty"}` + "\n", []string{"always/closed-events: fail", "always/lifecycle-last: fail", "run: pass"}},
		{"a zero written out", fedMemory + `{"event":"start","size":0}` + "\n", []string{"always/omit-empty: warn", "run: pass"}},
		{"1024 bytes inline", fedMemory + `{"name":"a","data":"` + b64(strings.Repeat("x", 1024)) + `"}` + "\n" + fedStart, []string{"run: pass"}},
		{"1025 bytes inline", fedMemory + `{"name":"a","data":"` + b64(strings.Repeat("x", 1025)) + `"}` + "\n" + fedStart, []string{"always/inline-limit: fail", "run: pass"}},
		{"foreign text", "hello\n" + goodFed, []string{"always/no-foreign-content: fail", "run: pass"}},
		{"empty", "", []string{"always/memory-first: fail", "run: pass"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := New(s).Judge(looseRuntime(t, "{run: success}"), fedWith(c.stdin))
			if diff := cmp.Diff(c.want, tells(got)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, all(got))
			}
		})
	}
	partly := fedWith(fedMemory+`{"name":"`, func(e *result.Evidence) {
		ev := e.Invocations[0].Transcript.Events
		e.Invocations[0].Transcript.Events = append(ev[:2:2], ev[3])
	})
	if got := New(s).Judge(looseRuntime(t, "{run: success}"), partly); got.Verdict != result.Pass {
		t.Errorf("what a handler did not read is held against the runtime:\n%s", all(got))
	}
}

const story = `start parent
run-once parent
require P11.1/pending-first # what follows proves this
! inspect child
run-once parent
require P11.1/before-inputs
expect log.yaml
`

func storyCase() *casefile.Case {
	name := "a"
	return &casefile.Case{ID: "runtime/x/story", Kind: "runtime", Covers: []string{"P11.1/pending-first", "P11.1/before-inputs"},
		Story: &casefile.Story{Script: story, Expects: map[string][]casefile.RuntimeExpect{
			"log.yaml": {{Session: "child", Log: &[]casefile.EntryMatch{{Name: &name}}}},
		}}}
}

func storySteps() []result.Step {
	const first, second = "P11.1/pending-first", "P11.1/before-inputs"
	refused := &result.StepError{Kind: "request", Message: "no such session"}
	return []result.Step{
		{Line: 1, Verb: "start", Args: []string{"parent"}},
		{Line: 2, Verb: "run-once", Args: []string{"parent"}, Invocations: 1},
		{Line: 3, Verb: "require", Args: []string{first}, Requirement: first, Invocations: 1},
		{Line: 4, Verb: "inspect", Args: []string{"child"}, Requirement: first, WantError: true, Error: refused, Invocations: 1},
		{Line: 5, Verb: "run-once", Args: []string{"parent"}, Requirement: first, Invocations: 2},
		{Line: 6, Verb: "require", Args: []string{second}, Requirement: second, Invocations: 2},
		{Line: 7, Verb: "log", Args: []string{"child"}, Requirement: second, Invocations: 2, Output: json.RawMessage(`{"entries":[{"name":"a"}]}`)},
		{Line: 7, Verb: "expect", Args: []string{"log.yaml"}, Requirement: second, Invocations: 2},
	}
}

func TestAStoryFailsWhereItsStepsSaySo(t *testing.T) {
	s := registry(t)
	change := func(i int, change func(*result.Step)) []result.Step {
		steps := storySteps()
		change(&steps[i])
		return steps[:i+1] // a story ends with a step that did not go as wanted
	}
	for _, c := range []struct {
		name   string
		steps  []result.Step
		want   result.Verdict
		checks []string
		says   string
	}{
		{"right", storySteps(), result.Pass, []string{"require/P11.1/pending-first: pass", "log.yaml/log: pass"}, ""},
		{"the child is there too early", change(3, func(s *result.Step) { s.Error, s.Output = nil, json.RawMessage(`{"session":"x"}`) }), result.Fail,
			[]string{"require/P11.1/pending-first: fail", "log.yaml/log: not-run"}, "line 4: `inspect child`"},
		{"a run fails before any requirement", change(1, func(s *result.Step) { s.Error = &result.StepError{Kind: "failed-invocation", Message: "boom"} }), result.NotTestable,
			[]string{"require/P11.1/pending-first: not-run", "log.yaml/log: not-run"}, "boom"},
		{"a run fails", change(4, func(s *result.Step) { s.Error = &result.StepError{Kind: "failed-invocation", Message: "boom"} }), result.Fail,
			[]string{"require/P11.1/pending-first: fail", "log.yaml/log: not-run"}, "boom"},
		{"the runtime dies", change(4, func(s *result.Step) { s.Error = &result.StepError{Kind: "crash", Message: "signal 6"} }), result.Crash,
			[]string{"require/P11.1/pending-first: not-run", "log.yaml/log: not-run"}, "signal 6"},
		{"no refusal by what is not offered", change(3, func(s *result.Step) { s.Error = &result.StepError{Kind: "unsupported"} }), result.NotApplicable,
			[]string{"require/P11.1/pending-first: not-run", "log.yaml/log: not-run"}, "inspect"},
		{"the log is not offered", change(6, func(s *result.Step) { s.Error = &result.StepError{Kind: "unsupported"} }), result.NotTestable,
			[]string{"require/P11.1/pending-first: pass", "log.yaml/log: not-run"}, "the feature log"},
		{"the evidence is cut", storySteps()[:5], result.HarnessError,
			[]string{"require/P11.1/pending-first: not-run", "log.yaml/log: not-run"}, "the evidence ends before require P11.1/before-inputs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := fedWith(goodFed).Invocations[0]
			e := &result.Evidence{Kind: "runtime", Transport: "subprocess", Steps: c.steps,
				Invocations: []result.Invocation{in, in}, Sessions: map[string]string{"parent": mainID}}
			got := New(s).Judge(storyCase(), e)
			if got.Verdict != c.want || !strings.Contains(all(got), c.says) {
				t.Errorf("want %s and %q, got:\n%s", c.want, c.says, all(got))
			}
			if diff := cmp.Diff(c.checks, tells(got)); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
		})
	}
	idle := &casefile.Case{ID: "runtime/x/idle", Kind: "runtime", Covers: []string{"P10/pure-pause"},
		Story: &casefile.Story{Script: "start s\nrequire P10/pure-pause\nrun-once s\n"}}
	steps := []result.Step{{Verb: "start", Args: []string{"s"}}, {Verb: "require", Args: []string{"P10/pure-pause"}}, {Verb: "run-once", Args: []string{"s"}}}
	if got := New(s).Judge(idle, &result.Evidence{Steps: steps}); got.Verdict != result.NotTestable {
		t.Errorf("a run that invokes nothing proves something:\n%s", all(got))
	}
	got := New(s).Judge(storyCase(), &result.Evidence{Steps: storySteps(), Invocations: []result.Invocation{fedWith(goodFed).Invocations[0], fedWith(goodFed).Invocations[0]}})
	var cited []string
	for _, k := range got.Checks {
		cited = append(cited, k.Requirement)
	}
	if diff := cmp.Diff([]string{"P11.1/pending-first", "P11.1/before-inputs"}, cited); diff != "" {
		t.Errorf("cited requirements (-want +got):\n%s", diff)
	}
}

func TestRunsThatGoOnBesideAStory(t *testing.T) {
	s := registry(t)
	name := "a"
	c := &casefile.Case{ID: "runtime/x/beside", Kind: "runtime", Covers: []string{"S3/atomic-snapshot"},
		Story: &casefile.Story{Script: "start main\nrun-once main &\nawait half\nlog main\nexpect none.yaml\nrelease half\njoin\nexpect all.yaml\n", Expects: map[string][]casefile.RuntimeExpect{
			"none.yaml": {{Log: &[]casefile.EntryMatch{}}},
			"all.yaml":  {{Run: "success", Log: &[]casefile.EntryMatch{{Name: &name}}}},
		}}}
	steps := func(early string, mods ...func([]result.Step)) *result.Evidence {
		list := []result.Step{
			{Verb: "start", Args: []string{"main"}},
			{Verb: "await", Args: []string{"half"}},
			{Verb: "log", Args: []string{"main"}, Output: json.RawMessage(early)},
			{Verb: "expect", Args: []string{"none.yaml"}},
			{Verb: "release", Args: []string{"half"}},
			{Verb: "join"},
			{Verb: "run-once", Args: []string{"main"}, Invocations: 1},
			{Verb: "log", Args: []string{"main"}, Invocations: 1, Output: json.RawMessage(`{"entries":[{"name":"a"}]}`)},
			{Verb: "expect", Args: []string{"all.yaml"}, Invocations: 1},
		}
		for _, mod := range mods {
			mod(list)
		}
		return &result.Evidence{Kind: "runtime", Transport: "subprocess", Steps: list, Sessions: map[string]string{"main": mainID},
			Invocations: fedWith(goodFed).Invocations}
	}
	unheld := func(list []result.Step) { list[1] = result.Step{Verb: "release", Args: []string{"half"}} }
	missed := func(list []result.Step) {
		list[1].Error = &result.StepError{Kind: "internal", Message: "of 1 handlers 0 came to this point"}
	}
	for _, c2 := range []struct {
		name string
		e    *result.Evidence
		want result.Verdict
		says string
	}{
		{"too early", steps(`{"entries":[{"name":"a"}]}`), result.Fail, "none.yaml/log"},
		{"a point that nobody came to", steps(`{"entries":[]}`, missed), result.NotTestable, "of 1 handlers 0 came"},
		{"right", steps(`{"entries":[]}`), result.Pass, ""},
		{"no handler is known to wait", steps(`{"entries":[]}`, unheld), result.NotTestable, "an empty log"},
	} {
		t.Run(c2.name, func(t *testing.T) {
			got := New(s).Judge(c, c2.e)
			if got.Verdict != c2.want || !strings.Contains(all(got), c2.says) {
				t.Errorf("want %s and %q, got:\n%s", c2.want, c2.says, all(got))
			}
		})
	}
}

func TestTheSameEvidenceGivesTheSameBytes(t *testing.T) {
	s := registry(t)
	expect := "{fed: {entries: [{name: b, metadata: {x: y, a: b}}], environment: {A: \"1\", B: \"2\", C: \"3\"}}, types: [x]}"
	var first string
	for range 20 {
		text, err := json.Marshal(New(s).Judge(looseRuntime(t, expect), fedWith("x\n"+goodFed)))
		require.NoError(t, err)
		if first == "" {
			first = string(text)
		}
		if string(text) != first {
			t.Fatalf("(-first +now):\n%s", cmp.Diff(first, string(text)))
		}
	}
}

func TestFindingsAreBounded(t *testing.T) {
	s := registry(t)
	long := strings.Repeat("é", 1<<20)
	got := New(s).Judge(looseRuntime(t, "{log: [{name: b}]}"), fedWith(goodFed, func(e *result.Evidence) {
		e.Steps[3].Output = json.RawMessage(`{"entries":[{"name":"` + long + `"}]}`)
	}, runFails("failed-invocation", long)))
	for _, k := range got.Checks {
		for _, text := range []string{k.Where, k.Want, k.Got, k.Diff, got.Reason} {
			if len(text) > 4<<10 {
				t.Errorf("%s: %d bytes", k.ID, len(text))
			}
			if strings.ToValidUTF8(text, "") != text {
				t.Errorf("%s is cut inside a character: %q", k.ID, text)
			}
		}
	}
	if got.Verdict != result.Fail {
		t.Errorf("%s", got.Verdict)
	}
}
