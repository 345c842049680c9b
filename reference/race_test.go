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
