package reference_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func wantLines(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// P4.2, P4.3, P6: the input stream of the first invocations of a root session.
func TestInputsOfARootSession(t *testing.T) {
	w := newWorld(t, parentID)
	_, call := w.once(parentID)
	require.Len(t, call.inputs, 2)
	require.Equal(t, "memory", call.inputs[0].Event)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/memories/$`, call.inputs[0].URL)
	if diff := cmp.Diff(protocol.Input{Event: "start"}, call.inputs[1]); diff != "" {
		t.Errorf("lifecycle event (-want +got):\n%s", diff)
	}

	w.push(parentID, "a", "hello")
	w.push(parentID, "b", "")
	_, call = w.once(parentID, emits(text("c", "x"), text("d", "y")))
	wantLines(t, "first run", []string{"a", "push b", "start"}, events(call))
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824$`, call.inputs[1].URL)
	want := protocol.Input{
		URL: call.inputs[1].URL, Size: 5, ContentType: "text/plain", Name: "a", Data: []byte("hello"),
	}
	if diff := cmp.Diff(want, call.inputs[1]); diff != "" {
		t.Errorf("replayed entry (-want +got):\n%s", diff)
	}
	require.NotEmpty(t, call.inputs[2].URL, "the URL of an empty body (R49)")

	_, call = w.once(parentID)
	wantLines(t, "next run", []string{"a", "b", "push c", "push d", ""}, events(call))
	if diff := cmp.Diff(protocol.Input{}, call.inputs[len(call.inputs)-1]); diff != "" {
		t.Errorf("empty lifecycle event (-want +got):\n%s", diff)
	}
	wantLines(t, "log", []string{
		"1 1.1 queueing a=hello", "1 2.2 queueing b=", "1 3.3 normal c=x", "1 3.4 normal d=y",
	}, w.log(parentID))
}

func TestBodiesAreInlinedUpToTheLimit(t *testing.T) {
	w := newWorld(t, parentID)
	at, over := make([]byte, 1024), make([]byte, 1025)
	w.push(parentID, "at", string(at))
	w.push(parentID, "over", string(over))
	_, call := w.once(parentID)
	require.Equal(t, at, call.inputs[1].Data)
	require.Nil(t, call.inputs[2].Data)
	require.EqualValues(t, 1025, call.inputs[2].Size)
}

func TestIdentityAndTraceContext(t *testing.T) {
	w := newWorld(t)
	w.start(storage.Manifest{Session: parentID, Agent: "agent", Metadata: map[string]string{"k": "v"}})
	w.push(parentID, "a", "x")
	transport := new(scripted)
	options := handledBy(transport)
	options.Trace = protocol.TraceContext{
		TraceParent: "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01", TraceState: "vendor=1",
	}
	_, err := w.runtime.RunOnce(t.Context(), parentID, options)
	require.NoError(t, err)
	want := protocol.Identity{Agent: "agent", Session: parentID, Snapshot: 1, Metadata: map[string]string{"k": "v"}}
	if diff := cmp.Diff(want, transport.seen[0].Identity); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	require.Regexp(t, "^00-"+parentID+"-[0-9a-f]{16}-01$", transport.seen[0].Trace.TraceParent)
	require.Equal(t, "vendor=1", transport.seen[0].Trace.TraceState)

	options.Trace.TraceParent = "ff-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01" // F50, F51
	_, err = w.runtime.RunOnce(t.Context(), parentID, options)
	require.NoError(t, err)
	require.Regexp(t, "^00-"+parentID+"-", transport.seen[1].Trace.TraceParent)
	require.Empty(t, transport.seen[1].Trace.TraceState)
}

func TestNoOutputLeavesTheSessionUnchanged(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "x")
	result, _ := w.once(parentID, emits(protocol.Output{}, protocol.Output{Data: []byte{}}))
	require.Equal(t, reference.Result{Session: parentID, Version: 1, State: reference.StateIdle, Invocations: 1}, result)
	wantLines(t, "log", []string{"1 1.1 queueing a=x"}, w.log(parentID))
}

// P10: a pause stops the session until something comes.
func TestPauseAndWake(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "x")
	result, _ := w.once(parentID, emits(text("b", "1"), pause("first"), text("c", "2"), pause("enough")))
	require.Equal(t, reference.StatePaused, result.State)
	paused := []string{
		"1 1.1 queueing a=x", "1 2.2 normal b=1", "1 2.3 normal c=2", `1 2.4 normal stopped "enough"`,
	}
	wantLines(t, "log", paused, w.log(parentID))

	result, call := w.once(parentID)
	require.Nil(t, call, "the handler of a paused session was invoked")
	require.Equal(t, reference.Result{Session: parentID, Version: 2, State: reference.StatePaused}, result)

	w.push(parentID, "d", "y")
	_, call = w.once(parentID)
	wantLines(t, "woken", []string{"a", "b", "c", "push d", "wake"}, events(call))
	_, call = w.once(parentID, emits(text("e", "z")))
	wantLines(t, "woken again, since nothing was committed (R41)", []string{"a", "b", "c", "push d", "wake"}, events(call))
	_, call = w.once(parentID)
	wantLines(t, "after a commit (R44)", []string{"a", "b", "c", "push d", "push e", ""}, events(call))
}

func TestSleepIsWaitedOut(t *testing.T) {
	for asked, slept := range map[string]time.Duration{
		"1.5s": 1500 * time.Millisecond, "90m": 10 * time.Minute, "0s": 0, "9999999h": 10 * time.Minute,
	} {
		t.Run(asked, func(t *testing.T) {
			w := newWorld(t, parentID)
			w.once(parentID, emits(sleep(asked)))
			until := w.clock.Now().Add(slept).Format(time.RFC3339Nano)
			wantLines(t, "log", []string{`1 1.1 normal stopped "" ` + until}, w.log(parentID))
			_, call := w.once(parentID)
			wantLines(t, "after the sleep", []string{"wake"}, events(call))
			require.Equal(t, slept, w.clock.slept)
		})
	}
}

func TestSleepEndsWhenSomethingComes(t *testing.T) {
	w := newWorld(t, parentID)
	w.once(parentID, emits(sleep("5m")))
	steps := 0
	w.clock.onStep = func() {
		if steps++; steps == 3 {
			w.push(parentID, "a", "x")
		}
	}
	_, call := w.once(parentID)
	wantLines(t, "woken", []string{"push a", "wake"}, events(call))
	require.Less(t, w.clock.slept, time.Minute)
}

// Reading R7: the outputs are kept, and the pause counts as pure.
func TestDurationOutsideTheGrammarIsAPurePause(t *testing.T) {
	for _, duration := range []string{"", "-5s", "+5s", "5", "0", "1h 30m", "1e3s", ".5s", "5S"} {
		t.Run(duration, func(t *testing.T) {
			w := newWorld(t, parentID)
			w.once(parentID, emits(text("kept", "x"), sleep(duration)))
			wantLines(t, "log", []string{"1 1.1 normal kept=x", `1 1.2 normal stopped ""`}, w.log(parentID))
			result, call := w.once(parentID)
			require.Nil(t, call)
			require.Equal(t, reference.StatePaused, result.State)
		})
	}
}

func TestRunGoesOnUntilThePause(t *testing.T) {
	w := newWorld(t, parentID)
	transport := &scripted{steps: []func(*invocation) error{
		emits(text("a", "1")), emits(sleep("2s")), emits(text("b", "2")), emits(pause("done")), emits(text("never", "")),
	}}
	result, err := w.runtime.Run(t.Context(), parentID, handledBy(transport))
	require.NoError(t, err)
	require.Equal(t, reference.Result{Session: parentID, Version: 4, State: reference.StatePaused, Invocations: 4}, result)
	require.Equal(t, 2*time.Second, w.clock.slept)
}

func TestRunGoesOnUntilAnInvocationAddsNothing(t *testing.T) {
	w := newWorld(t, parentID)
	transport := &scripted{steps: []func(*invocation) error{emits(text("a", "1")), emits(text("b", "2"))}}
	result, err := w.runtime.Run(t.Context(), parentID, handledBy(transport))
	require.NoError(t, err)
	require.Equal(t, reference.Result{Session: parentID, Version: 2, State: reference.StateIdle, Invocations: 3}, result)
}

func TestRunKeepsWhatWasCommittedBeforeAFailure(t *testing.T) {
	w := newWorld(t, parentID)
	broken := errors.New("broken")
	transport := &scripted{steps: []func(*invocation) error{
		emits(text("a", "1")),
		func(call *invocation) error { return errors.Join(call.emit(text("b", "2")), broken) },
	}}
	result, err := w.runtime.Run(t.Context(), parentID, handledBy(transport))
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, 1, result.Version)
	wantLines(t, "log", []string{"1 1.1 normal a=1"}, w.log(parentID))
}

// S3/conflict-loses-nothing, R11, F27: what comes while a handler runs is seen by
// its second invocation, and the outputs are there once.
func TestEntryThatArrivesMeanwhile(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "x")
	result, call := w.once(parentID,
		func(call *invocation) error {
			w.push(parentID, "meanwhile", "y")
			return call.emit(text("answer", "early"), pause("early"))
		},
		emits(text("answer", "late"), pause("late")))
	require.Equal(t, reference.Result{Session: parentID, Version: 3, State: reference.StatePaused, Invocations: 2}, result)
	wantLines(t, "second invocation", []string{"a", "push meanwhile", "start"}, events(call))
	wantLines(t, "log", []string{
		"1 1.1 queueing a=x", "1 2.2 queueing meanwhile=y", "1 3.3 normal answer=late", `1 3.4 normal stopped "late"`,
	}, w.log(parentID))
}

func TestOutputsThatCanNotBeCarriedOutFailTheInvocation(t *testing.T) {
	for name, output := range map[string]protocol.Output{
		"control message":          {ContentType: protocol.TypeControl, Data: []byte(`{"status":"running"}`)},
		"control message, forked":  {ContentType: protocol.TypeControl, Fork: true},
		"write to no session":      {Session: otherID, Data: []byte("x")},
		"write to a path":          {Session: "../../../tmp/zz", Data: []byte("x")},
		"fork to a path":           {Session: "../../../tmp/zz", Fork: true},
		"fork to upper case":       {Session: "ABCDEFABCDEFABCDEFABCDEFABCDEFAB", Fork: true},
		"fork to the zero ID":      {Session: "00000000000000000000000000000000", Fork: true},
		"memory outside":           {Name: "memories/../../x/y", Data: []byte("x")},
		"memory parent":            {Name: "memories/a/..", Data: []byte("x")},
		"memory empty segment":     {Name: "memories/a//b", Data: []byte("x")},
		"uri without sources":      {URI: "file:///etc/passwd"},
		"pause of a bad encoding":  {ContentType: protocol.TypePause, ContentEncoding: "br", Data: []byte("x")},
		"pause that is not gzip":   {ContentType: protocol.TypePause, ContentEncoding: "gzip", Data: []byte("x")},
		"pause by unreachable uri": {ContentType: protocol.TypePause, URI: "s3://bucket/key"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parentID)
			transport := &scripted{steps: []func(*invocation) error{emits(
				text("good", "x"), text("memories/ns/good", "x"), protocol.Output{Fork: true, Session: childID}, output)}}
			_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(transport))
			var failure *reference.InvocationError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, reference.ReasonOutput, failure.Reason)
			require.Equal(t, parentID, failure.Session)
			require.ErrorContains(t, err, "at byte 3 of the stream")
			require.Empty(t, w.log(parentID))
			_, err = w.runtime.Store.MemoryEntry(t.Context(), "ns", "good")
			require.ErrorIs(t, err, storage.ErrNotExist)
		})
	}
}

func TestHandlersAreChosenByName(t *testing.T) {
	w := newWorld(t)
	w.start(storage.Manifest{Session: parentID, Handler: "python"})
	w.start(storage.Manifest{Session: otherID})
	python, fallback := new(scripted), new(scripted)
	handlers := reference.Registry{Default: fallback, Named: map[string]reference.Transport{"python": python}}
	for _, session := range []string{parentID, otherID, otherID} {
		_, err := w.runtime.RunOnce(t.Context(), session, reference.RunOptions{Handlers: handlers})
		require.NoError(t, err)
	}
	require.Len(t, python.seen, 1)
	require.Len(t, fallback.seen, 2)

	w.start(storage.Manifest{Session: childID, Handler: "bash"})
	_, err := w.runtime.RunOnce(t.Context(), childID, reference.RunOptions{Handlers: handlers})
	require.ErrorContains(t, err, `"bash"`)
	require.ErrorContains(t, err, `"python"`)
	require.Len(t, fallback.seen, 2, "the default ran instead (R51)")
	_, err = w.runtime.RunOnce(t.Context(), otherID, reference.RunOptions{Handlers: reference.Registry{}})
	require.Error(t, err)
}
