package judge

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/transcript"
)

// builtIn is every case that ships.
func builtIn(t *testing.T, s *spec.Spec) []*casefile.Case {
	t.Helper()
	cases, problems := casefile.Load(spec.Cases(), s)
	require.Empty(t, problems)
	require.NotEmpty(t, cases)
	return cases
}

// TestAHandlerThatDoesNothingPassesNothing plays the handler that reads nothing,
// prints nothing and exits 0 through every case on every transport.
func TestAHandlerThatDoesNothingPassesNothing(t *testing.T) {
	s := registry(t)
	seen := 0
	for _, c := range builtIn(t, s) {
		if c.Handler == nil {
			continue
		}
		seen++
		for _, transport := range casefile.Transports() {
			e := &result.Evidence{Case: c.ID, Kind: c.Kind, Transport: transport, Features: casefile.Features("handler")}
			if c.Handler.Control != nil {
				e.Invocations = append(e.Invocations, idle(transport, roleControl))
			}
			if c.Handler.Beside != nil {
				e.Invocations = append(e.Invocations, idle(transport, roleBeside))
			}
			for range max(c.Handler.Invocations, 1) {
				e.Invocations = append(e.Invocations, idle(transport, roleMain))
			}
			noPass(t, New(s).Judge(c, e))
		}
	}
	require.NotZero(t, seen)
}

// idle is the invocation of such a handler, its input delivered as generously as
// any case can ask for.
func idle(transport, role string) result.Invocation {
	t := transcript.Transcript{By: "fakeruntime", Transport: transport}
	in, end := transcript.Stdin, transcript.Ended{How: transcript.HowExit}
	if transport != "subprocess" {
		in, end = transcript.Post, transcript.Ended{How: transcript.HowAnswer, Code: 200}
	}
	for range 5000 {
		t.Events = append(t.Events, transcript.Event{Kind: transcript.Sent, Stream: in, Data: transcript.Bytes(" ")})
	}
	t.Events = append(t.Events, transcript.Event{Kind: transcript.Exited, Ended: &end},
		transcript.Event{Kind: transcript.Closed, Stream: in, Text: "by us: the handler had ended"})
	return result.Invocation{Role: role, Transcript: t}
}

// noPass wants no check and no case to pass, and a reason for it.
func noPass(t *testing.T, got result.Case) {
	t.Helper()
	switch got.Verdict {
	case result.Fail, result.NotTestable, result.Warn:
	default:
		t.Errorf("%s over %s: %s", got.ID, got.Transport, all(got))
	}
	if got.Reason == "" || len(got.Checks) == 0 {
		t.Errorf("%s over %s: nothing says why: %s", got.ID, got.Transport, all(got))
	}
	for _, k := range got.Checks {
		if k.Verdict == result.Pass {
			t.Errorf("%s over %s: the check %s of %s passes", got.ID, got.Transport, k.ID, k.Requirement)
		}
	}
}

// TestARuntimeThatDoesNothingPassesNothing plays a runtime through every case that
// says yes to everything, never starts a handler, and shows empty logs and dumps;
// and one that can't even say which session it started.
func TestARuntimeThatDoesNothingPassesNothing(t *testing.T) {
	s := registry(t)
	for _, c := range builtIn(t, s) {
		if c.Handler != nil {
			continue
		}
		for name, outputs := range map[string][2]string{
			"empty answers": {`{"entries":[]}`, `{}`},
			"no answers":    {"", ""},
		} {
			e := &result.Evidence{Case: c.ID, Kind: c.Kind, Transport: "subprocess", Features: casefile.Features("runtime"), Sessions: map[string]string{"main": mainID}}
			t.Run(c.ID+" with "+name, func(t *testing.T) { noPass(t, New(s).Judge(c, saysYes(e, c, outputs))) })
		}
	}
}

// saysYes is the evidence of a runtime that agrees to every step.
func saysYes(e *result.Evidence, c *casefile.Case, outputs [2]string) *result.Evidence {
	step := func(verb string, args ...string) *result.Step {
		e.Steps = append(e.Steps, result.Step{Verb: verb, Args: args})
		return &e.Steps[len(e.Steps)-1]
	}
	look := func(blocks []casefile.RuntimeExpect) {
		for _, b := range blocks {
			for _, session := range []string{b.Session, "main"} {
				if session != "" {
					step("log", session).Output = json.RawMessage(outputs[0])
					step("inspect", session).Output = json.RawMessage(outputs[1])
				}
			}
		}
	}
	if c.Runtime != nil {
		step("start", "main")
		step("run-once", "main").Either = true
		look(c.Runtime.Expect)
		step("expect", "expect")
		return e
	}
	r := newRuntimeCase(&ledger{}, c, &result.Evidence{})
	r.plans()
	for _, a := range r.acts {
		if a.verb == "expect" {
			step("run-once", "main")
			look(c.Story.Expects[a.arg])
		}
		step(a.verb, a.arg)
	}
	return e
}
