package stage

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// world is a fresh world on the reference.
func world(t *testing.T) (*World, *result.Evidence) {
	t.Helper()
	e := &result.Evidence{}
	w, err := newWorld(runtimeJob(t, &casefile.Runtime{}, &Reference{}), t.TempDir(), e)
	require.NoError(t, err)
	return w, e
}

func emits(name string, before ...fakehandler.Op) []fakehandler.Op {
	body := text("x")
	return append(before, fakehandler.Op{Emit: &fakehandler.Emit{Name: name, Body: &body}})
}

// logNames is the names of the log that a step read.
func logNames(t *testing.T, s result.Step) (names []string) {
	t.Helper()
	var log result.Log
	require.NoError(t, json.Unmarshal(s.Output, &log))
	for _, e := range log.Entries {
		names = append(names, e.Name)
	}
	return names
}

func TestAStoryGoesOnBesideARun(t *testing.T) {
	w, e := world(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer w.close(cancel)
	require.NoError(t, w.Start(ctx, At{}, "main", casefile.Start{}))
	require.NoError(t, w.Script(At{}, "s", [][]fakehandler.Op{emits("first", fakehandler.Op{WaitFor: "go"}), emits("first")}))
	require.NoError(t, w.Run(ctx, At{Line: 3, Background: true}, "main", Run{Once: true}))
	require.NoError(t, w.Await(ctx, At{}, "go", 1))
	require.NoError(t, w.Push(ctx, At{}, "main", casefile.Push{Name: "pushed", Body: text("y")}))
	require.NoError(t, w.Log(ctx, At{}, "main"))
	require.NoError(t, w.Release(At{}, "go"))
	require.NoError(t, w.Join(ctx, At{}))
	require.NoError(t, w.Log(ctx, At{}, "main"))
	want := []string{"start", "script", "await", "push", "log", "release", "join", "run-once", "log"}
	if diff := cmp.Diff(want, verbs(e)); diff != "" {
		t.Fatalf("steps in the order of their ends (-want +got):\n%s", diff)
	}
	require.Equal(t, []string{"pushed"}, logNames(t, e.Steps[4]), "nothing of the invocation is there yet")
	require.Equal(t, []string{"pushed", "first"}, logNames(t, e.Steps[8]))
	require.Equal(t, 3, e.Steps[7].Line)
	require.Equal(t, 0, e.Steps[6].Invocations)
	require.Equal(t, len(e.Invocations), e.Steps[7].Invocations, "the run's invocations are its own")
}

func TestInvocationsBelongToTheirRun(t *testing.T) {
	w, e := world(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer w.close(cancel)
	for _, name := range []string{"one", "two"} {
		require.NoError(t, w.Start(ctx, At{}, name, casefile.Start{}))
		require.NoError(t, w.Script(At{}, name, [][]fakehandler.Op{emits("of-"+name, fakehandler.Op{WaitFor: "go"})}))
		require.NoError(t, w.Run(ctx, At{Background: true}, name, Run{Once: true}))
	}
	require.NoError(t, w.Await(ctx, At{}, "go", 2))
	require.NoError(t, w.Release(At{}, "go"))
	require.NoError(t, w.Join(ctx, At{}))
	require.Len(t, e.Invocations, 2)
	for i, name := range []string{"one", "two"} {
		step := e.Steps[e.Invocations[i].Step]
		require.Equal(t, []string{name}, step.Args)
		out, _ := e.Invocations[i].Transcript.Outputs()
		require.Contains(t, string(out), "of-"+name)
	}
}

func TestAPointThatNobodyComesToIsAFailedStep(t *testing.T) {
	w, e := world(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer w.close(cancel)
	require.NoError(t, w.Start(ctx, At{}, "main", casefile.Start{}))
	require.NoError(t, w.Run(ctx, At{Background: true}, "main", Run{Once: true}))
	require.ErrorIs(t, w.Await(ctx, At{}, "go", 1), ErrUnexpected)
	if diff := cmp.Diff([]string{"start", "run-once", "await: internal"}, verbs(e)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestWaitingForAPointEndsWithTheTime(t *testing.T) {
	w, e := world(t)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, w.Start(ctx, At{}, "main", casefile.Start{}))
	require.NoError(t, w.Script(At{}, "s", [][]fakehandler.Op{emits("first", fakehandler.Op{WaitFor: "elsewhere"})}))
	require.NoError(t, w.Run(ctx, At{Background: true}, "main", Run{Once: true}))
	require.NoError(t, w.Await(ctx, At{}, "elsewhere", 1))
	cancel()
	require.ErrorIs(t, w.Await(ctx, At{}, "go", 1), context.Canceled)
	require.Equal(t, "await: hang", verbs(e)[len(e.Steps)-1])
	w.close(cancel) // comes back
}

func TestAScriptIsPlayedOnByTheNextRun(t *testing.T) {
	w, e := world(t)
	ctx := t.Context()
	require.NoError(t, w.Start(ctx, At{}, "main", casefile.Start{}))
	require.NoError(t, w.Script(At{}, "s", [][]fakehandler.Op{emits("first"), emits("second"), emits("third")}))
	require.NoError(t, w.Run(ctx, At{}, "main", Run{Once: true}))
	require.NoError(t, w.Run(ctx, At{}, "main", Run{Once: true}))
	require.NoError(t, w.Log(ctx, At{}, "main"))
	require.Equal(t, []string{"first", "second"}, logNames(t, e.Steps[4]))
	require.Equal(t, 2, e.Steps[3].Invocations)
}

func TestNamedHandlersAndForkedChildren(t *testing.T) {
	w, e := world(t)
	ctx := t.Context()
	body := text("go")
	require.NoError(t, w.Start(ctx, At{}, "main", casefile.Start{Handler: "other"}))
	require.NoError(t, w.Script(At{}, "s", [][]fakehandler.Op{emits("by-default")}))
	require.NoError(t, w.Handler(At{}, "other", "o", [][]fakehandler.Op{emits("by-other", fakehandler.Op{Emit: &fakehandler.Emit{Fork: true, Body: &body}})}))
	require.NoError(t, w.Run(ctx, At{}, "main", Run{Once: true, Around: casefile.Around{Environment: map[string]string{"PUGMARK_AGENT_ID": "stale", "OF_THE_RUNTIME": "yes"}}}))
	require.NoError(t, w.Child(ctx, At{}, "child", "main", 1))
	require.ErrorIs(t, w.Child(ctx, At{}, "second", "main", 2), ErrUnexpected)
	require.Len(t, e.Sessions["child"], 32)
	require.NotEqual(t, e.Sessions["main"], e.Sessions["child"])
	out, _ := e.Invocations[0].Transcript.Outputs()
	require.Contains(t, string(out), "by-other")
	require.Equal(t, []string{"main", result.WithEnvironment}, e.Steps[3].Args)
	for _, ev := range e.Invocations[0].Transcript.Events {
		if ev.Kind == transcript.Environment {
			require.Equal(t, "yes", ev.Variables["OF_THE_RUNTIME"])
			require.Empty(t, ev.Variables["PUGMARK_AGENT_ID"])
			return
		}
	}
	t.Error("no environment was recorded")
}
