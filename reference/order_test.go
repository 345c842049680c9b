package reference_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/buckettest"
	"pugmark.dev/conform/storage/membucket"
)

// F35, P4.2/log-order: the order of a store's listing is no order of the log.
func TestInputsAreInNumericOrderWhateverTheListing(t *testing.T) {
	w := newWorld(t, parentID)
	var want []string
	for i := range 12 {
		w.push(parentID, fmt.Sprint("entry ", i+1), "")
		want = append(want, fmt.Sprint("entry ", i+1))
	}
	want[11] = "push entry 12"
	want = append(want, "start")
	for name, order := range map[string]func([]string){
		"text":    slices.Sort[[]string],
		"reverse": func(keys []string) { slices.Sort(keys); slices.Reverse(keys) },
		"random":  func(keys []string) { rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] }) },
	} {
		transport := new(scripted)
		result, err := w.on(buckettest.Reordered{Bucket: w.bucket, Order: order}).RunOnce(t.Context(), parentID, handledBy(transport))
		require.NoError(t, err)
		require.EqualValues(t, 12, result.Version)
		wantLines(t, name, want, events(transport.seen[0]))
	}
}

// P10/sleep, P10/clamp, on the system's clock: in this bubble it runs by itself.
func TestSleepOnTheSystemClock(t *testing.T) {
	for asked, slept := range map[string]time.Duration{
		"1500ms": 1500 * time.Millisecond, "1.5us": 1500 * time.Nanosecond, "10m": 10 * time.Minute, "2h30m": 10 * time.Minute, "0s": 0,
	} {
		t.Run(asked, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runtime := &reference.Runtime{Store: &storage.Store{Bucket: new(membucket.Bucket)}}
				_, err := runtime.StartSession(t.Context(), storage.Manifest{Session: parentID})
				require.NoError(t, err)
				begun := time.Now()
				var woken time.Time
				transport := &scripted{steps: []func(*invocation) error{emits(sleep(asked)), func(*invocation) error {
					woken = time.Now()
					return nil
				}}}
				result, err := runtime.Run(t.Context(), parentID, handledBy(transport))
				require.NoError(t, err)
				require.Equal(t, 2, result.Invocations)
				wantLines(t, "after the sleep", []string{"wake"}, events(transport.seen[1]))
				require.Equal(t, slept, woken.Sub(begun))
			})
		})
	}
}

// A run that is told to end does not wait for the end of a sleep.
func TestSleepEndsWithItsContext(t *testing.T) {
	w := newWorld(t, parentID)
	w.once(parentID, emits(sleep("10m")))
	w.runtime.Clock = nil
	w.stop(parentID, `{"status":"stopped","start-at":"`+time.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := w.runtime.RunOnce(ctx, parentID, handledBy(new(scripted)))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
