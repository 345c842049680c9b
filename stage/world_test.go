package stage

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/subject"
)

// The roles that the test's program plays when it is started anew.
const (
	self    = "stage-test-scripted-handler"
	conform = "stage-test-conform-handler"
)

// quickExit keeps programs that are built with the race detector from waiting a
// second before they exit.
const quickExit = "atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case self:
			os.Exit(fakehandler.Main(os.Args[2:]))
		case conform:
			os.Exit(fakehandler.ConformMain(os.Args[2:]))
		}
	}
	os.Setenv("GORACE", quickExit)
	os.Exit(m.Run())
}

// fake is this test's program in the role of the scripted handler.
func fake(t *testing.T) Fake {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return Fake{Command: []string{program, self}}
}

func text(s string) script.Body { return script.Body{Text: &s} }

func runtimeJob(t *testing.T, c *casefile.Runtime, ops subject.Runtime) Job {
	t.Helper()
	return Job{
		Case:      &casefile.Case{ID: "runtime/area/fact", Kind: casefile.KindRuntime, Runtime: c, Limit: script.Duration(20 * time.Second)},
		Transport: "subprocess", Runtime: &RuntimeSubject{Name: "tested", Ops: ops}, Fake: fake(t), Pool: &Pool{}, Scratch: t.TempDir(),
	}
}

func verbs(e *result.Evidence) (list []string) {
	for _, s := range e.Steps {
		verb := s.Verb
		if s.Error != nil {
			verb += ": " + s.Error.Kind
		}
		list = append(list, verb)
	}
	return list
}

func TestARuntimeCaseIsItsStepsAndOneTranscriptForEachInvocation(t *testing.T) {
	reply := text("reply")
	e := Stage(t.Context(), runtimeJob(t, &casefile.Runtime{
		Push:   []casefile.Push{{Name: "n{n}", Body: text("hello"), Times: 2}},
		Script: []fakehandler.Op{{Emit: &fakehandler.Emit{Name: "b", Body: &reply}}},
		Expect: []casefile.RuntimeExpect{{Log: &[]casefile.EntryMatch{}, Version: new(int64)}},
	}, &Reference{}))
	require.Empty(t, e.Fault)
	want := []string{"start", "push", "push", "script", "run-once", "log", "inspect", "expect"}
	if diff := cmp.Diff(want, verbs(e)); diff != "" {
		t.Fatalf("steps (-want +got):\n%s", diff)
	}
	require.Len(t, e.Invocations, 1)
	require.Equal(t, 4, e.Invocations[0].Step, "the run's step")
	require.Equal(t, []int{0, 0, 0, 0, 1, 1, 1, 1}, func() (n []int) {
		for _, s := range e.Steps {
			n = append(n, s.Invocations)
		}
		return n
	}())
	var log struct {
		Entries []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal(e.Steps[5].Output, &log))
	require.Equal(t, "n1 n2 b", log.Entries[0].Name+" "+log.Entries[1].Name+" "+log.Entries[2].Name)
	require.Equal(t, e.Sessions["main"], sessionOf(t, e.Steps[0].Output))
}

func sessionOf(t *testing.T, output json.RawMessage) string {
	t.Helper()
	var started struct{ Session string }
	require.NoError(t, json.Unmarshal(output, &started))
	return started.Session
}

func TestAFailedInvocationIsAStepAndTheCaseGoesOn(t *testing.T) {
	status := 3
	e := Stage(t.Context(), runtimeJob(t, &casefile.Runtime{
		Script: []fakehandler.Op{{Read: "all"}, {Exit: &status}},
		Expect: []casefile.RuntimeExpect{{Run: "failure", Log: &[]casefile.EntryMatch{}}},
	}, &Reference{}))
	require.Empty(t, e.Fault)
	if diff := cmp.Diff([]string{"start", "script", "run-once: failed-invocation", "log", "expect"}, verbs(e)); diff != "" {
		t.Fatalf("steps (-want +got):\n%s", diff)
	}
}

func TestAFaultyScriptIsAFaultOfTheHarness(t *testing.T) {
	e := Stage(t.Context(), runtimeJob(t, &casefile.Runtime{
		Script: []fakehandler.Op{{Answer: &script.Answer{Status: 500}}}, // there is none on the subprocess transport
	}, &Reference{}))
	require.Contains(t, e.Fault, "scripted handler")
}

// refuses answers every operation with one error.
type refuses struct {
	subject.Runtime
	err error
}

func (r refuses) Start(context.Context, subject.StartRequest) (string, error) { return "", r.err }

func TestARefusedStepEndsTheCaseAndStandsInTheEvidence(t *testing.T) {
	for kind, err := range map[string]error{
		"unsupported": &subject.Error{Op: "start", Kind: subject.Unsupported},
		"request":     &subject.Error{Op: "start", Kind: subject.BadRequest, Message: "no"},
		"internal":    &subject.Error{Op: "start", Kind: subject.Internal, Message: "odd"},
	} {
		e := Stage(t.Context(), runtimeJob(t, &casefile.Runtime{}, refuses{err: err}))
		require.Empty(t, e.Fault)
		if diff := cmp.Diff([]string{"start: " + kind}, verbs(e)); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
	}
}

// stuck never returns, whatever its context says.
type stuck struct{ subject.Runtime }

func (stuck) Start(context.Context, subject.StartRequest) (string, error) {
	time.Sleep(time.Hour)
	return "", nil
}

func TestARuntimeThatNeverReturnsIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		e := Stage(t.Context(), runtimeJob(t, &casefile.Runtime{}, stuck{}))
		require.Equal(t, 25*time.Second, time.Since(began), "the limit and the grace")
		if diff := cmp.Diff([]string{"start: hang"}, verbs(e)); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
		require.Equal(t, "20s", e.TimedOut)
		time.Sleep(time.Hour) // let it go
	})
}

func TestSessionsOfACaseHaveTheSameIDsInEveryRun(t *testing.T) {
	ids := func(seed int64) string {
		job := runtimeJob(t, &casefile.Runtime{}, &Reference{})
		job.Seed = seed
		w, err := newWorld(job, t.TempDir(), &result.Evidence{})
		require.NoError(t, err)
		return w.session("child") + w.session("other") + w.expand("{child}") + w.expand("plain")
	}
	require.Equal(t, ids(1), ids(1))
	require.NotEqual(t, ids(1), ids(2))
	require.Len(t, ids(1), 3*32+len("plain"))
}
