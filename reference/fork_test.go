package reference_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func forkTo(session, name, body string) protocol.Output {
	return protocol.Output{Name: name, ContentType: "text/plain", Data: []byte(body), Fork: true, Session: session}
}

func writeTo(session, name, body string) protocol.Output {
	return protocol.Output{Name: name, Data: []byte(body), Session: session}
}

// Section 11, step by step.
func TestForkInTwoPhases(t *testing.T) {
	w := newWorld(t)
	w.start(storage.Manifest{Session: parentID, Agent: "agent", Handler: "h", Metadata: map[string]string{"own": "1"}})
	w.push(parentID, "a", "x")
	run := func(session string, steps ...func(*invocation) error) *invocation {
		transport := &scripted{steps: steps}
		_, err := w.runtime.RunOnce(t.Context(), session, reference.RunOptions{
			Handlers: reference.Registry{Named: map[string]reference.Transport{"h": transport}},
		})
		require.NoError(t, err)
		require.Len(t, transport.seen, 1)
		return transport.seen[0]
	}
	fork := forkTo(childID, "task", "go")
	fork.Metadata = map[string]string{"k": "v"}
	run(parentID, emits(text("b", "y"), fork, text("c", "z")))
	wantLines(t, "parent", []string{
		"1 1.1 queueing a=x", "1 2.2 normal b=y", "1 2.3 normal task=go fork:2", "1 2.4 normal c=z",
	}, w.log(parentID))
	_, err := w.runtime.Inspect(t.Context(), childID)
	require.ErrorIs(t, err, storage.ErrNotExist, "the child exists before the parent's next invocation")

	call := run(parentID, func(call *invocation) error {
		_, err := w.runtime.Inspect(t.Context(), childID)
		require.NoError(t, err, "the child does not exist when the handler gets its inputs")
		return nil
	})
	wantLines(t, "parent's inputs", []string{"a", "push b", "push c", ""}, events(call))
	dump, err := w.runtime.Inspect(t.Context(), childID)
	require.NoError(t, err)
	want := reference.Dump{
		Session: childID, Agent: "agent", Handler: "h", Metadata: map[string]string{"k": "v"},
		Parent: &storage.Version{Session: parentID, Version: 2}, Version: 1,
		Snapshots: []reference.DumpSnapshot{{Version: 1, Type: "normal", Entries: []reference.DumpEntry{{
			Sequence: 1, Digest: protocol.Digest([]byte("go")), Size: 2, ContentType: "text/plain", Name: "task",
			Metadata: map[string]string{"k": "v"},
		}}}},
	}
	if diff := cmp.Diff(want, dump); diff != "" {
		t.Errorf("child (-want +got):\n%s", diff)
	}

	w.push(parentID, "later", "not for the child")
	call = run(childID, emits(text("d", "done")))
	wantLines(t, "child's first inputs", []string{"a", "b", "c", "push task", "fork"}, events(call))
	call = run(childID)
	wantLines(t, "child's next inputs", []string{"a", "b", "c", "task", "push d", ""}, events(call))
	run(parentID)
	dump, err = w.runtime.Inspect(t.Context(), childID)
	require.NoError(t, err)
	require.EqualValues(t, 2, dump.Version, "the parent's third run changed the child")
}

func TestForkWithoutAChosenID(t *testing.T) {
	w := newWorld(t, parentID)
	w.once(parentID, emits(forkTo("", "one", ""), forkTo("", "two", "")))
	dump, err := w.runtime.Inspect(t.Context(), parentID)
	require.NoError(t, err)
	entries := dump.Snapshots[0].Entries
	require.Len(t, entries, 3)
	require.Regexp(t, "^[0-9a-f]{32}$", entries[0].TargetSession)
	require.NotEqual(t, entries[0].TargetSession, entries[1].TargetSession)
}

// P10/implicit-pause, R38, R47: only forks pause the parent, and its next run makes
// the children all the same.
func TestOnlyForksPauseTheParent(t *testing.T) {
	for name, c := range map[string]struct {
		outputs []protocol.Output
		paused  bool
	}{
		"only forks":          {nil, true},
		"forks and memory":    {[]protocol.Output{text("memories/ns/k", "x")}, true},
		"forks and a no-op":   {[]protocol.Output{{}}, true},
		"forks and an entry":  {[]protocol.Output{text("a", "x")}, false},
		"forks and a write":   {[]protocol.Output{writeTo(otherID, "a", "x")}, false},
		"forks and self-send": {[]protocol.Output{writeTo(parentID, "a", "x")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parentID, otherID)
			result, _ := w.once(parentID, emits(append(c.outputs, forkTo(childID, "task", "go"))...))
			require.Equal(t, c.paused, result.State == reference.StatePaused)
			_, call := w.once(parentID)
			require.Equal(t, c.paused, call == nil)
			require.Len(t, w.log(childID)[len(w.log(parentID)):], 1, "entries of the child")
		})
	}
}

// R24, P11.1/existing-child: of two forks to one ID the first makes the child, and the runtime says
// that it left the other out.
func TestTwoForksToOneID(t *testing.T) {
	w := newWorld(t, parentID)
	var said bytes.Buffer
	w.runtime.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.once(parentID, emits(text("a", "x"), forkTo(childID, "one", "first"), forkTo(otherID, "else", "x"), forkTo(childID, "two", "second")))
	require.Empty(t, said.String())
	_, call := w.once(parentID)
	wantLines(t, "parent's inputs", []string{"push a", ""}, events(call))
	wantLines(t, "child", []string{"1 1.1 normal a=x", "1 1.2 normal one=first fork:2", "1 1.3 normal else=x fork:3",
		"1 1.4 normal two=second fork:2", "2 1.1 normal one=first"}, w.log(childID))
	require.Equal(t, 1, strings.Count(said.String(), "\n"), said.String())
	for _, word := range []string{"left out", "child=" + childID, "sequence=4", "name=two"} {
		require.Contains(t, said.String(), word)
	}
}

func TestRunMakesTheChildrenOfItsLastForks(t *testing.T) {
	w := newWorld(t, parentID)
	transport := &scripted{steps: []func(*invocation) error{emits(forkTo(childID, "task", "go"))}}
	result, err := w.runtime.Run(t.Context(), parentID, handledBy(transport))
	require.NoError(t, err)
	require.Equal(t, reference.Result{Session: parentID, Version: 1, State: reference.StatePaused, Invocations: 1}, result)
	_, call := w.once(childID)
	wantLines(t, "child", []string{"push task", "fork"}, events(call))
}

// R39: a push between the fork and the next run does not lose the fork.
func TestForkIsMadeAlsoAfterAPush(t *testing.T) {
	w := newWorld(t, parentID)
	w.once(parentID, emits(text("a", "x"), forkTo(childID, "task", "go")))
	w.push(parentID, "b", "y")
	_, call := w.once(parentID)
	wantLines(t, "parent", []string{"a", "push b", ""}, events(call))
	_, call = w.once(childID)
	wantLines(t, "child", []string{"a", "push task", "fork"}, events(call))
}

// P11.2/sibling-forks: no handler sees fork records, its ancestors' neither.
func TestGrandchildSeesItsAncestorsAndNoForkRecords(t *testing.T) {
	w := newWorld(t, parentID)
	w.once(parentID, emits(text("p", ""), forkTo(childID, "to child", ""), forkTo("44444444444444444444444444444444", "to sibling", "")))
	w.once(parentID)
	w.once(childID, emits(text("c", ""), forkTo(otherID, "to grandchild", "")))
	w.once(childID)
	_, call := w.once(otherID)
	wantLines(t, "grandchild", []string{"p", "to child", "c", "push to grandchild", "fork"}, events(call))
}

// R44: a stop of the parent tags nothing in the child, and does not wake it.
func TestParentsStopDoesNotCountInTheChild(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "x")
	w.once(parentID, emits(text("b", "y"), forkTo(childID, "task", "go"), pause("waiting")))
	w.once(parentID)
	_, call := w.once(childID, emits(pause("done")))
	wantLines(t, "child", []string{"a", "b", "push task", "fork"}, events(call))
	_, call = w.once(childID)
	require.Nil(t, call)
	w.push(childID, "more", "")
	_, call = w.once(childID)
	wantLines(t, "child, woken", []string{"a", "b", "task", "push more", "wake"}, events(call))
}

// P11.1/existing-child, R24.
func TestForkToASessionThatExists(t *testing.T) {
	w := newWorld(t, parentID)
	w.start(storage.Manifest{Session: childID, Agent: "its own"})
	w.push(childID, "first", "x")
	w.once(parentID, emits(text("a", ""), forkTo(childID, "task", "go"), forkTo(parentID, "to itself", "go")))
	_, call := w.once(parentID, emits(text("b", "")))
	require.NotNil(t, call, "the parent goes on")
	wantLines(t, "child", []string{"2 1.1 queueing first=x"}, w.log(childID))
	manifest, err := w.runtime.Store.Manifest(t.Context(), childID)
	require.NoError(t, err)
	require.Equal(t, "its own", manifest.Agent)
	require.Nil(t, manifest.Parent)
}

// Section 12.
func TestCrossSessionWrites(t *testing.T) {
	w := newWorld(t, parentID, otherID)
	w.push(otherID, "before", "")
	result, _ := w.once(parentID, emits(writeTo(otherID, "one", "1"), writeTo(parentID, "own", "0"), writeTo(otherID, "two", "2")))
	require.Equal(t, reference.StateRan, result.State, "a cross-session write does not pause")
	wantLines(t, "target", []string{
		"3 1.1 queueing before=", "3 2.2 provisional one=1 from:1@1", "3 2.3 provisional two=2 from:1@1",
	}, w.log(otherID))
	wantLines(t, "writer", []string{
		"1 1.1 normal one=1 to:3", "1 1.2 normal own=0", "1 1.3 normal two=2 to:3",
	}, w.log(parentID))
	_, call := w.once(parentID, emits(writeTo(otherID, "three", "3")))
	wantLines(t, "writer's inputs", []string{"push own", ""}, events(call))
	w.once(parentID)
	w.once(parentID)
	wantLines(t, "target", []string{
		"3 1.1 queueing before=", "3 2.2 provisional one=1 from:1@1", "3 2.3 provisional two=2 from:1@1",
		"3 3.4 provisional three=3 from:1@2",
	}, w.log(otherID))
}

func TestCrossSessionWriteWakesAPausedSession(t *testing.T) {
	w := newWorld(t, parentID, otherID)
	w.once(otherID, emits(pause("waiting")))
	w.once(parentID, emits(writeTo(otherID, "note", "x")))
	_, call := w.once(otherID)
	wantLines(t, "target", []string{"push note", "wake"}, events(call))
}

// F32, variant: the writer's commit loses a conflict; what the surviving invocation
// wrote is delivered, once.
func TestCrossSessionWriteOfAnInvocationThatLostItsCommit(t *testing.T) {
	w := newWorld(t, parentID, otherID)
	w.once(parentID,
		func(call *invocation) error {
			w.push(parentID, "meanwhile", "")
			return call.emit(writeTo(otherID, "note", "first try"), text("memories/ns/k", "first try"), forkTo(childID, "t", ""))
		},
		emits(writeTo(otherID, "note", "second try")))
	wantLines(t, "target", []string{"3 1.1 provisional note=second try from:1@2"}, w.log(otherID))
	_, err := w.runtime.Store.MemoryEntry(t.Context(), "ns", "k")
	require.ErrorIs(t, err, storage.ErrNotExist)
	w.once(parentID)
	_, err = w.runtime.Store.Manifest(t.Context(), childID)
	require.ErrorIs(t, err, storage.ErrNotExist)
}
