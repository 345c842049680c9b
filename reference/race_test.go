package reference_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/buckettest"
)

// writesOnce is a handler that writes an entry of its name if the log has none.
type writesOnce struct{ name string }

func (h writesOnce) Invoke(_ context.Context, in reference.Invocation) error {
	for input, err := range in.Inputs {
		if err != nil {
			return err
		}
		if input.Name == h.name {
			return nil
		}
	}
	return in.Output(protocol.Record[protocol.Output]{Value: protocol.Output{Name: h.name}})
}

// F27, S3/optimistic-commit: concurrent runtimes on one session, and a pusher.
func TestConcurrentRuntimesLoseNothing(t *testing.T) {
	w := newWorld(t, parentID)
	const workers, rounds = 3, 15
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			runtime := w.on(w.bucket)
			for round := range rounds {
				handler := writesOnce{fmt.Sprint("run ", worker, " ", round)}
				if _, err := runtime.RunOnce(context.Background(), parentID, handledBy(handler)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for round := range rounds {
			object := reference.Object{Name: fmt.Sprint("push ", round)}
			if _, err := w.runtime.Push(context.Background(), parentID, object); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	seen := map[string]int{}
	for i, line := range w.log(parentID) {
		require.Contains(t, line, fmt.Sprintf(" %d.%d ", i+1, i+1), "a hole")
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "="), " ")
		_, name, _ = strings.Cut(name, " ")
		seen[name]++
	}
	require.Len(t, seen, (workers+1)*rounds)
	for name, count := range seen {
		require.Equal(t, 1, count, name)
	}
}

// P8.4/serialised, S7/memory-commit: concurrent writers to one namespace all land.
func TestConcurrentMemoryWritesAllLand(t *testing.T) {
	sessions := []string{parentID, childID, otherID, "44444444444444444444444444444444"}
	w := newWorld(t, sessions...)
	const rounds = 10
	var wg sync.WaitGroup
	for _, session := range sessions {
		wg.Go(func() {
			for round := range rounds {
				handler := &scripted{steps: []func(*invocation) error{emits(text(fmt.Sprintf("memories/ns/%s-%d", session[:1], round), "x"))}}
				if _, err := w.on(w.bucket).RunOnce(context.Background(), session, handledBy(handler)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	entries, err := w.runtime.Store.MemoryEntries(t.Context(), "ns")
	require.NoError(t, err)
	require.Len(t, entries, len(sessions)*rounds)
	version, err := w.runtime.Store.MemoryVersion(t.Context(), "ns")
	require.NoError(t, err)
	require.EqualValues(t, len(sessions)*rounds, version, "each write is a version")
}

// P11.1/conflict-is-success, P12/idempotent: of many runs that make a child and
// deliver a write, whichever comes first does it, and none fails.
func TestConcurrentRunsMakeOneChild(t *testing.T) {
	for range 10 {
		w := newWorld(t, parentID, otherID)
		faulty := &buckettest.Faulty{Bucket: w.bucket, At: 4, Fault: buckettest.CrashAfter} // right after the commit
		_, err := w.on(faulty).RunOnce(t.Context(), parentID, handledBy(answers{[]protocol.Output{
			text("answer", "x"), forkTo(childID, "task", "go"), writeTo(otherID, "note", "hi"),
		}}))
		require.ErrorIs(t, err, buckettest.ErrInjected)
		require.Len(t, w.log(parentID), 3)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := w.on(w.bucket).RunOnce(context.Background(), parentID, handledBy(answers{})); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Len(t, w.log(childID), 4, "the parent's log and one entry of the child's own")
		wantLines(t, "other", []string{"3 1.1 provisional note=hi from:1@1"}, w.log(otherID))
	}
}

// S1/one-copy, S2/manifest-fixed.
func TestEqualBodiesAreStoredOnceAndManifestsStay(t *testing.T) {
	w := newWorld(t, otherID)
	want := storage.Manifest{Session: parentID, Agent: "agent", Metadata: map[string]string{"k": "v"}}
	w.start(want)
	w.push(parentID, "a", "hello")
	w.push(otherID, "b", "hello")
	w.once(parentID, emits(text("c", "hello"), text("memories/ns/k", "hello"), writeTo(otherID, "d", "hello")))
	bodies := 0
	for key, err := range w.bucket.List(t.Context(), "objects/") {
		require.NoError(t, err)
		require.Equal(t, "objects/sha256/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", key)
		bodies++
	}
	require.Equal(t, 1, bodies)
	got, err := w.runtime.Store.Manifest(t.Context(), parentID)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
