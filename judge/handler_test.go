package judge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

const writeCase = `why: A handler writes one entry.
covers: [P3/any-whitespace]
needs: [instructions]
input:
  records:
    - {event: memory}
    - {instructions: [{op: write, text: one, name: a}]}
    - {event: start}
expect:
  exit: 0
  outputs: [{name: a, content-type: text/plain, body: {text: one}}]
`

const goodOutput = `{"name":"a","content-type":"text/plain","data":"b25l"}` + "\n"

func TestVerdictsOfAHandlerCase(t *testing.T) {
	s := registry(t)
	for _, c := range []struct {
		name string
		inv  result.Invocation
		// verdict of the case, its checks, and text that its findings hold
		verdict result.Verdict
		checks  []string
		says    []string
	}{
		{"right", invoked("main", goodOutput), result.Pass, []string{"exit: pass", "outputs: pass"}, nil},
		{"does nothing", invoked("main", ""), result.Fail, []string{"exit: not-run", "outputs: fail"},
			[]string{"exited with status 0, and wrote no Output"}},
		{"exit status", invoked("main", goodOutput, stderr("Traceback: boom\n"), ended(transcript.Ended{How: transcript.HowExit, Code: 3})),
			result.Fail, []string{"exit: fail", "outputs: pass"}, []string{"exited with status 3", "Traceback: boom"}},
		{"a failed exit explains what is missing", invoked("main", "", stderr("Traceback: boom\n"), ended(transcript.Ended{How: transcript.HowExit, Code: 3})),
			result.Fail, []string{"exit: fail", "outputs: not-run"}, []string{"exited with status 3", "Traceback: boom"}},
		{"signal", invoked("main", goodOutput, ended(transcript.Ended{How: transcript.HowSignal, Signal: 9, Name: "SIGKILL"})),
			result.Crash, []string{"exit: not-run", "outputs: not-run"}, []string{"killed by signal 9 (SIGKILL)"}},
		{"hang", invoked("main", goodOutput, ended(transcript.Ended{How: transcript.HowHang, Detail: "the time limit of 10s passed"})),
			result.Hang, []string{"exit: not-run", "outputs: not-run"}, []string{"still running when its time was up: the time limit of 10s passed"}},
		{"flood", invoked("main", goodOutput, ended(transcript.Ended{How: transcript.HowFlood, Detail: "more than 100 bytes on stdout"})),
			result.Crash, []string{"exit: not-run", "outputs: not-run"}, []string{"more than 100 bytes on stdout"}},
		{"not started", invoked("main", "", ended(transcript.Ended{How: transcript.HowNotStarted, Detail: "no such file"})),
			result.NotTestable, []string{"exit: not-run", "outputs: not-run"}, []string{"could not be started: no such file"}},
		{"process left over", invoked("main", goodOutput, ended(transcript.Ended{How: transcript.HowExit, Left: 1})),
			result.HarnessError, []string{"exit: not-run", "outputs: not-run"}, []string{"left over of the handler: 1 process"}},
		{"cancelled", invoked("main", goodOutput, ended(transcript.Ended{How: transcript.HowCancelled})),
			result.NotRun, []string{"exit: not-run", "outputs: not-run"}, nil},

		{"mark", invoked("main", "\xef\xbb\xbf"+goodOutput), result.Fail,
			[]string{"always/no-bom: fail", "exit: not-run", "outputs: not-run"}, []string{"P3/no-bom", "stdout, byte 0", "ef bb bf"}},
		{"foreign text", invoked("main", goodOutput+"bye\n"), result.Fail,
			[]string{"always/no-foreign-content: fail", "exit: not-run", "outputs: not-run"}, []string{`non-JSON on the stream: "bye"`, "stdout, byte 55"}},
		{"bad UTF-8", invoked("main", "{\"name\":\"\xff\"}\n"), result.Fail,
			[]string{"always/utf8: fail", "exit: not-run", "outputs: not-run"}, []string{"byte ff"}},
		{"cut off", invoked("main", goodOutput+`{"name":`), result.Fail,
			[]string{"always/single-object: fail", "exit: not-run", "outputs: not-run"}, []string{"begins at byte 55"}},
		{"cut off by a failure is no fault of its own", invoked("main", goodOutput+`{"name":`, ended(transcript.Ended{How: transcript.HowExit, Code: 1})),
			result.Fail, []string{"exit: fail", "outputs: pass"}, nil},
		{"URL-safe data", invoked("main", `{"name":"x","data":"-_-_"}`+"\n"+goodOutput), result.Fail,
			[]string{"always/standard-alphabet: fail", "exit: pass", "outputs: fail"}, []string{"P3.1/standard-alphabet", "URL-safe"}},
		{"line break in data", invoked("main", `{"name":"a","content-type":"text/plain","data":"b2\n5l"}`+"\n"), result.Fail,
			[]string{"always/no-line-breaks: fail", "exit: pass", "outputs: pass"}, []string{"an LF"}},
		{"no LF at the end", invoked("main", strings.TrimSuffix(goodOutput, "\n")), result.Warn,
			[]string{"always/trailing-lf: warn", "exit: pass", "outputs: pass"}, nil},
		{"empty field", invoked("main", `{"uri":"","name":"a","content-type":"text/plain","data":"b25l"}`+"\n"), result.Warn,
			[]string{"always/omit-empty: warn", "exit: pass", "outputs: pass"}, nil},
		{"unknown field", invoked("main", `{"x":1,"name":"a","content-type":"text/plain","data":"b25l"}`+"\n"), result.Warn,
			[]string{"always/closed-fields: warn", "exit: pass", "outputs: pass"}, nil},
		{"control message", invoked("main", goodOutput+`{"content-type":"application/vnd.pugmark.control+json","data":"e30="}`+"\n"), result.Fail,
			[]string{"always/no-control-message: fail", "exit: pass", "outputs: fail"}, []string{"P9/runtime-only"}},
		{"writes to a server", invoked("main", goodOutput, asked(transcript.Objects, "PUT", "/sha256:00", nil)), result.Fail,
			[]string{"always/read-only: fail", "exit: pass", "outputs: pass"}, []string{"PUT /sha256:00"}},

		{"another name", invoked("main", strings.Replace(goodOutput, `"a"`, `"b"`, 1)), result.Fail,
			[]string{"exit: pass", "outputs: fail"}, []string{"stdout, output 1, name", `want name: "a"`, `got name: "b"`}},
		{"another body", invoked("main", strings.Replace(goodOutput, "b25l", b64("onx"), 1)), result.Fail,
			[]string{"exit: pass", "outputs: fail"}, []string{"output 1, body", "first difference at byte 2", "6f 6e 65", "6f 6e 78"}},
		{"one too many", invoked("main", goodOutput+`{"name":"z","data":"eg=="}`+"\n"), result.Fail,
			[]string{"exit: pass", "outputs: fail"}, []string{"1 output, no more", `the first too many is "z"`}},
		{"a no-op adds nothing", invoked("main", "{}\n"+goodOutput), result.Pass, []string{"exit: pass", "outputs: pass"}, nil},

		{"unsupported", invoked("main", answerRecord("conform/unsupported", `{"op":"write"}`)), result.NotTestable,
			[]string{"exit: not-run", "outputs: not-run"}, []string{"can't do the op write"}},
		{"unsupported field", invoked("main", answerRecord("conform/unsupported", `{"op":"write","field":"fork"}`)), result.NotApplicable,
			[]string{"exit: not-run", "outputs: not-run"}, []string{"does not claim the feature fork"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := New(s).Judge(parse(t, s, "handler/x/write.yaml", writeCase), evidence(c.inv))
			if got.Verdict != c.verdict {
				t.Errorf("verdict %s, want %s", got.Verdict, c.verdict)
			}
			if diff := cmp.Diff(c.checks, tells(got)); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
			for _, text := range c.says {
				if !strings.Contains(all(got), text) {
					t.Errorf("nothing says %q in:\n%s", text, all(got))
				}
			}
			if (got.Verdict == result.Pass) != (got.Reason == "") {
				t.Errorf("verdict %s with the reason %q", got.Verdict, got.Reason)
			}
		})
	}
}

func TestWhatIsClaimedMustWork(t *testing.T) {
	s := registry(t)
	e := evidence(invoked("main", answerRecord("conform/unsupported", `{"op":"write","field":"fork"}`)))
	e.Features = append(e.Features, "fork")
	got := New(s).Judge(parse(t, s, "handler/x/write.yaml", writeCase), e)
	if got.Verdict != result.Fail || !strings.Contains(all(got), "claims the feature fork") {
		t.Errorf("%s", all(got))
	}
}

func TestAFaultOfTheHarnessIsNoVerdictOnTheSubject(t *testing.T) {
	s := registry(t)
	c := parse(t, s, "handler/x/write.yaml", writeCase)
	for name, e := range map[string]*result.Evidence{
		"fault":           {Fault: "no port"},
		"nothing":         {},
		"no end":          evidence(result.Invocation{Role: "main"}),
		"another case":    {Case: "handler/y"},
		"recording broke": evidence(invoked("main", goodOutput, func(i *result.Invocation) { i.Transcript.Events = i.Transcript.Events[:2] })),
	} {
		if got := New(s).Judge(c, e); got.Verdict != result.HarnessError || got.Reason == "" {
			t.Errorf("%s: %s", name, all(got))
		}
	}
	start := &result.Evidence{Steps: []result.Step{{Verb: "invoke", Error: &result.StepError{Kind: "request", Message: "not found"}}}}
	if got := New(s).Judge(c, start); got.Verdict != result.NotTestable {
		t.Errorf("a handler that can't be started: %s", all(got))
	}
	late := &result.Evidence{TimedOut: "10s"}
	if got := New(s).Judge(c, late); got.Verdict != result.Hang {
		t.Errorf("a case that timed out: %s", all(got))
	}
}

const silentCase = `why: An unknown version ends the handler without Outputs.
covers: [P17/protocol-event, R36]
needs: [instructions]
input:
  records:
    - {event: protocol, metadata: {version: "2"}}
    - {event: memory}
    - {instructions: [{op: write, text: one, name: a}]}
    - {event: start}
control:
  input:
    records:
      - {event: memory}
      - {instructions: [{op: write, text: one, name: a}]}
      - {event: start}
  expect: {exit: 0, outputs: [{name: a, body: {text: one}}]}
expect:
  exit: any
  silent: true
`

func TestAbsenceNeedsAControlThatHolds(t *testing.T) {
	s := registry(t)
	c := parse(t, s, "handler/x/silent.yaml", silentCase)
	dies := ended(transcript.Ended{How: transcript.HowSignal, Signal: 6, Name: "SIGABRT"})
	for _, x := range []struct {
		name    string
		e       *result.Evidence
		verdict result.Verdict
		checks  []string
		says    string
	}{
		{"right", evidence(invoked("control", goodOutput), invoked("main", "")), result.Pass, []string{"exit: pass", "silent: pass"}, ""},
		{"right by a signal", evidence(invoked("control", goodOutput), invoked("main", "", dies)), result.Pass, []string{"exit: pass", "silent: pass"}, ""},
		{"speaks", evidence(invoked("control", goodOutput), invoked("main", goodOutput)), result.Fail, []string{"exit: pass", "silent: fail"}, "no Output at all"},
		{"does nothing", evidence(invoked("control", ""), invoked("main", "")), result.NotTestable, []string{"exit: not-run", "silent: not-run"}, "did not hold"},
		{"control is wrong", evidence(invoked("control", strings.Replace(goodOutput, `"a"`, `"b"`, 1)), invoked("main", "")), result.NotTestable,
			[]string{"exit: not-run", "silent: not-run"}, `did not hold, outputs: wanted name: "a", got name: "b"`},
		{"control breaks section 3", evidence(invoked("control", "hi\n"+goodOutput), invoked("main", "")), result.Fail,
			[]string{"always/no-foreign-content: fail", "exit: not-run", "silent: not-run"}, "control, stdout, byte 0"},
		{"no control", evidence(invoked("main", "")), result.HarnessError, []string{"exit: not-run", "silent: not-run"}, ""},
		{"only the control, which hung", evidence(invoked("control", "", ended(transcript.Ended{How: transcript.HowHang}))), result.Hang,
			[]string{"exit: not-run", "silent: not-run"}, "control, the handler was still running"},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := New(s).Judge(c, x.e)
			if got.Verdict != x.verdict || !strings.Contains(all(got), x.says) {
				t.Errorf("want %s and %q, got:\n%s", x.verdict, x.says, all(got))
			}
			if diff := cmp.Diff(x.checks, tells(got)); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
		})
	}
	if got := New(s).Judge(c, evidence(invoked("control", goodOutput), invoked("main", ""))); cmp.Diff([]string{"R36"}, got.Checks[0].Readings) != "" {
		t.Errorf("readings %v", got.Checks[0].Readings)
	}
}
