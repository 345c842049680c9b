package reference_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/buckettest"
)

// operation is something that writes, and how it looks when it is done.
type operation struct {
	// before brings the world to where the operation begins.
	before func(w *world)
	// do is the operation; it may fail.
	do func(ctx context.Context, runtime *reference.Runtime) error
	// again is what a user does after a crash, once the store works again.
	again func(w *world, done bool)
	// after checks the outcome: nothing lost, nothing twice.
	after func(t *testing.T, w *world)
}

// answers is a handler that decides by the log, as section 1 wants it: what it has
// written it does not write again.
type answers struct{ outputs []protocol.Output }

func (a answers) Invoke(_ context.Context, in reference.Invocation) error {
	done := false
	for input, err := range in.Inputs {
		if err != nil {
			return err
		}
		done = done || input.Name == "answer"
	}
	if done {
		return nil
	}
	for offset, output := range a.outputs {
		if err := in.Output(protocol.Record[protocol.Output]{Value: output, Offset: int64(offset)}); err != nil {
			return err
		}
	}
	return nil
}

func runOnce(outputs ...protocol.Output) func(context.Context, *reference.Runtime) error {
	return func(ctx context.Context, runtime *reference.Runtime) error {
		_, err := runtime.RunOnce(ctx, parentID, handledBy(answers{outputs}))
		return err
	}
}

// rerun runs the parent again until a run changes nothing.
func rerun(outputs ...protocol.Output) func(*world, bool) {
	return func(w *world, _ bool) {
		for range 3 {
			require.NoError(w.t, runOnce(outputs...)(w.t.Context(), w.runtime))
		}
	}
}

func operations() map[string]operation {
	fork := protocol.Output{Name: "task", Data: []byte("go"), Fork: true, Session: childID, Metadata: map[string]string{"k": "v"}}
	write := protocol.Output{Name: "note", Data: []byte("hi"), Session: otherID}
	second := protocol.Output{Name: "note2", Data: []byte("ho"), Session: otherID}
	all := []protocol.Output{
		text("answer", "x"), fork, write, second, text("memories/ns/k", "remember"), text("memories/ns/l", "this"), text("memories/other/k", "too"),
	}
	push := func(ctx context.Context, runtime *reference.Runtime) error {
		_, err := runtime.Push(ctx, parentID, reference.Object{Name: "pushed", Body: strings.NewReader("body")})
		return err
	}
	start := func(ctx context.Context, runtime *reference.Runtime) error {
		_, err := runtime.StartSession(ctx, storage.Manifest{Session: childID, Agent: "agent"})
		return err
	}
	put := func(ctx context.Context, runtime *reference.Runtime) error {
		return runtime.WriteMemory(ctx, "ns/k", reference.Object{Body: strings.NewReader("remember")})
	}
	return map[string]operation{
		"start": {
			do:    start,
			again: func(w *world, _ bool) { require.NoError(w.t, start(w.t.Context(), w.runtime)) },
			after: func(t *testing.T, w *world) {
				manifest, err := w.runtime.Store.Manifest(t.Context(), childID)
				require.NoError(t, err)
				require.Equal(t, storage.Manifest{Session: childID, Agent: "agent"}, manifest)
				require.Empty(t, w.log(childID))
			},
		},
		"memory put": {
			do:    put,
			again: func(w *world, _ bool) { require.NoError(w.t, put(w.t.Context(), w.runtime)) },
			after: func(t *testing.T, w *world) { requireMemory(t, w, "ns", "k", 8) },
		},
		"sleep": {
			do: runOnce(text("answer", "x"), sleep("1s")),
			again: func(w *world, _ bool) {
				// A second run would sleep, wake the handler and add nothing.
				rerun(text("answer", "x"), sleep("1s"))(w, true)
			},
			after: func(t *testing.T, w *world) {
				lines := w.log(parentID)
				require.Len(t, lines, 2)
				require.Equal(t, "1 1.1 normal answer=x", lines[0])
				require.Contains(t, lines[1], `1 1.2 normal stopped "" 2025-01-02T`)
			},
		},
		"only writes to another session": {
			do:    runOnce(text("answer", "x"), write, second),
			again: rerun(text("answer", "x"), write, second),
			after: func(t *testing.T, w *world) {
				wantLines(t, "other", []string{"3 1.1 provisional note=hi from:1@1", "3 1.2 provisional note2=ho from:1@1"}, w.log(otherID))
				require.Len(t, w.log(parentID), 3)
			},
		},
		"push": {
			do: push,
			// A push that answered with an error may have landed; who looks first
			// does not push twice.
			again: func(w *world, done bool) {
				if !done && len(w.log(parentID)) == 0 {
					require.NoError(w.t, push(w.t.Context(), w.runtime))
				}
			},
			after: func(t *testing.T, w *world) {
				wantLines(t, "log", []string{"1 1.1 queueing pushed=body"}, w.log(parentID))
			},
		},
		"run with outputs of every kind": {
			do:    runOnce(all...),
			again: rerun(all...),
			after: requireAllDone,
		},
		"fork materialisation": {
			before: func(w *world) { require.NoError(w.t, runOnce(all...)(w.t.Context(), w.runtime)) },
			do:     runOnce(all...),
			again:  rerun(all...),
			after:  requireAllDone,
		},
		"only forks": {
			do:    runOnce(fork),
			again: func(w *world, _ bool) { rerun(fork)(w, true) },
			after: func(t *testing.T, w *world) {
				wantLines(t, "parent", []string{"1 1.1 normal task=go fork:2", `1 1.2 normal stopped ""`}, w.log(parentID))
				wantLines(t, "child", []string{
					"1 1.1 normal task=go fork:2", `1 1.2 normal stopped ""`, "2 1.1 normal task=go",
				}, w.log(childID))
			},
		},
		"child run before its parent healed it": {
			before: func(w *world) { require.NoError(w.t, runOnce(all...)(w.t.Context(), w.runtime)) },
			do:     runOnce(all...),
			again: func(w *world, _ bool) {
				if _, err := w.runtime.Store.Manifest(w.t.Context(), childID); err == nil {
					_, call := w.once(childID)
					require.Equal(w.t, "push task", events(call)[1])
				}
				rerun(all...)(w, true)
			},
			after: requireAllDone,
		},
		"only memory": {
			do:    runOnce(text("memories/ns/k", "remember"), text("memories/other/k", "too")),
			again: rerun(text("memories/ns/k", "remember"), text("memories/other/k", "too")),
			after: func(t *testing.T, w *world) {
				require.Empty(t, w.log(parentID))
				requireMemory(t, w, "ns", "k", 8)
				requireMemory(t, w, "other", "k", 3)
			},
		},
		"pause": {
			do:    runOnce(text("answer", "x"), pause("done")),
			again: rerun(text("answer", "x"), pause("done")),
			after: func(t *testing.T, w *world) {
				wantLines(t, "log", []string{"1 1.1 normal answer=x", `1 1.2 normal stopped "done"`}, w.log(parentID))
			},
		},
	}
}

func requireAllDone(t *testing.T, w *world) {
	parent := []string{
		"1 1.1 normal answer=x", "1 1.2 normal task=go fork:2", "1 1.3 normal note=hi to:3", "1 1.4 normal note2=ho to:3",
	}
	wantLines(t, "parent", parent, w.log(parentID))
	wantLines(t, "child", append(parent, "2 1.1 normal task=go"), w.log(childID))
	wantLines(t, "other", []string{"3 1.1 provisional note=hi from:1@1", "3 1.2 provisional note2=ho from:1@1"}, w.log(otherID))
	requireMemory(t, w, "ns", "k", 8)
	requireMemory(t, w, "ns", "l", 4)
	requireMemory(t, w, "other", "k", 3)
	for _, namespace := range []string{"ns", "other"} {
		version, err := w.runtime.Store.MemoryVersion(t.Context(), namespace)
		require.NoError(t, err)
		require.EqualValues(t, 1, version, "versions of namespace %s", namespace)
	}
	manifest, err := w.runtime.Store.Manifest(t.Context(), childID)
	require.NoError(t, err)
	require.Equal(t, storage.Manifest{
		Session: childID, Agent: "agent", Handler: "", Metadata: map[string]string{"k": "v"},
		Parent: &storage.Version{Session: parentID, Version: 1},
	}, manifest)
}

func requireMemory(t *testing.T, w *world, namespace, name string, size int64) {
	t.Helper()
	entry, err := w.runtime.Store.MemoryEntry(t.Context(), namespace, name)
	require.NoError(t, err)
	require.Equal(t, size, entry.Size)
}

// kinds says what keys are of.
func kinds(keys []string) []string {
	var words []string
	for _, key := range keys {
		parts := strings.Split(key, "/")
		switch {
		case parts[0] == "objects":
			words = append(words, "body")
		case parts[0] == "memories":
			words = append(words, "memory "+parts[1])
		case parts[2] == "manifest.json":
			words = append(words, "manifest of "+parts[1][:1])
		default:
			words = append(words, "snapshot of "+parts[1][:1])
		}
	}
	return words
}

// P11.1/crash-recovery, S5/crash-points, F31, F32: each operation is broken at each
// of its writes in each way, and then done again.
func TestEveryWriteMayFail(t *testing.T) {
	for name, op := range operations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := func(t *testing.T) *world {
				w := newWorld(t, otherID)
				w.start(storage.Manifest{Session: parentID, Agent: "agent"})
				if op.before != nil {
					op.before(w)
				}
				return w
			}
			w := begin(t)
			counter := &buckettest.Faulty{Bucket: w.bucket}
			require.NoError(t, op.do(t.Context(), w.on(counter)))
			op.again(w, true)
			op.after(t, w)
			writes := counter.Writes()
			require.NotEmpty(t, writes)
			t.Logf("%s: %d writes, each broken in %d ways: %s", name, len(writes), len(buckettest.Faults()), strings.Join(kinds(writes), ", "))
			for at := range writes {
				for _, fault := range buckettest.Faults() {
					t.Run(fmt.Sprintf("%s at write %d", fault, at+1), func(t *testing.T) {
						w := begin(t)
						faulty := &buckettest.Faulty{Bucket: w.bucket, At: at + 1, Fault: fault}
						err := op.do(t.Context(), w.on(faulty))
						if fault != buckettest.LoseAnswer {
							require.ErrorIs(t, err, buckettest.ErrInjected)
						}
						op.again(w, err == nil)
						op.after(t, w)
					})
				}
			}
		})
	}
}
