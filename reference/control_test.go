package reference_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// stop commits a control message as it might be written by another runtime.
func (w *world) stop(session, body string) {
	w.t.Helper()
	stored, err := w.runtime.Store.PutBody(w.t.Context(), strings.NewReader(body))
	require.NoError(w.t, err)
	version, err := w.runtime.Store.Version(w.t.Context(), session)
	require.NoError(w.t, err)
	require.NoError(w.t, w.runtime.Store.Commit(w.t.Context(), session, storage.Snapshot{
		Head: storage.Head{Version: version + 1, Type: storage.Normal, Invoked: version + 1, Controlled: version + 1},
		Entries: []storage.Entry{{
			Digest: stored.Digest, Size: stored.Size, Data: stored.Data, ContentType: protocol.TypeControl,
		}},
	}))
}

// F49.
func TestStartAtIsReadAsRFC3339(t *testing.T) {
	// The world's clock stands at 2025-01-02T03:04:05.000006Z.
	for startAt, want := range map[string]time.Duration{
		"2025-01-02T08:34:06.123456789+05:30": 1123450789,
		"2025-01-02T03:04:07Z":                2*time.Second - 6*time.Microsecond,
		"2025-01-02T03:04:05.5-00:00":         500*time.Millisecond - 6*time.Microsecond,
		"2020-01-02T03:04:05Z":                0,
	} {
		t.Run(startAt, func(t *testing.T) {
			w := newWorld(t, parentID)
			w.stop(parentID, `{"status":"stopped","start-at":"`+startAt+`","unknown":1}`)
			_, call := w.once(parentID)
			require.NotNil(t, call)
			require.Equal(t, want, w.clock.slept)
		})
	}
	for _, startAt := range []string{"2025-01-02t03:04:05Z", "2025-01-02T03:04:05z", "2025-01-02T03:04:60Z", "tomorrow"} {
		t.Run(startAt, func(t *testing.T) {
			w := newWorld(t, parentID)
			w.stop(parentID, `{"status":"stopped","start-at":"`+startAt+`"}`)
			_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(new(scripted)))
			require.ErrorContains(t, err, "control message")
		})
	}
}

// Section 4.3 speaks of the most recent control message: a later one that does not
// say stopped ends the stop.
func TestControlMessageThatDoesNotStop(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "")
	w.stop(parentID, `{"status":"stopped"}`)
	w.stop(parentID, `{"status":"running"}`)
	w.push(parentID, "b", "")
	w.push(parentID, "c", "")
	_, call := w.once(parentID)
	wantLines(t, "inputs", []string{"a", "b", "push c", ""}, events(call))
}

func TestReasonOfAPause(t *testing.T) {
	packed, err := protocol.Compress("gzip", []byte("packed"))
	require.NoError(t, err)
	long := strings.Repeat("é", 2000)
	for name, c := range map[string]struct {
		output protocol.Output
		want   string
	}{
		"none":         {protocol.Output{}, ""},
		"text":         {protocol.Output{Data: []byte("naïve \"quoted\"\n")}, "naïve \"quoted\"\n"},
		"encoded":      {protocol.Output{Data: packed, ContentEncoding: "gzip"}, "packed"},
		"not UTF-8":    {protocol.Output{Data: []byte("a\xffb")}, "a\uFFFDb"},
		"not inlined":  {protocol.Output{Data: []byte(long)}, long},
		"also a fork":  {protocol.Output{Data: []byte("x"), Fork: true, Session: childID}, "x"},
		"also memory":  {protocol.Output{Data: []byte("x"), Name: "memories/a/b"}, "x"},
		"also a write": {protocol.Output{Data: []byte("x"), Session: otherID}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parentID)
			c.output.ContentType = protocol.TypePause
			w.once(parentID, emits(c.output))
			dump, err := w.runtime.Inspect(t.Context(), parentID)
			require.NoError(t, err)
			require.Len(t, dump.Snapshots, 1)
			entries := dump.Snapshots[0].Entries
			require.Len(t, entries, 1)
			require.Equal(t, &reference.Control{Status: "stopped", Reason: c.want}, entries[0].Control)
			_, call := w.once(parentID)
			require.Nil(t, call)
		})
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	w := newWorld(t, parentID)
	var refused *reference.RequestError
	push := func(session string, object reference.Object) error {
		_, err := w.runtime.Push(t.Context(), session, object)
		return err
	}
	start := func(m storage.Manifest) error {
		_, err := w.runtime.StartSession(t.Context(), m)
		return err
	}
	_, runErr := w.runtime.RunOnce(t.Context(), otherID, handledBy(new(scripted)))
	_, inspectErr := w.runtime.Inspect(t.Context(), otherID)
	var logErr error
	for _, err := range w.runtime.Log(t.Context(), otherID) {
		logErr = err
	}
	for name, err := range map[string]error{
		"push to none":       push(otherID, reference.Object{}),
		"push to no ID":      push("x", reference.Object{}),
		"push bad name":      push(parentID, reference.Object{Name: "\xff"}),
		"push bad metadata":  push(parentID, reference.Object{Metadata: map[string]string{"k": "\xff"}}),
		"push control":       push(parentID, reference.Object{ContentType: protocol.TypeControl}),
		"start with bad ID":  start(storage.Manifest{Session: "x"}),
		"start with parent":  start(storage.Manifest{Parent: &storage.Version{Session: parentID, Version: 1}}),
		"start, not UTF-8":   start(storage.Manifest{Agent: "\xff"}),
		"run of none":        runErr,
		"inspection of none": inspectErr,
		"log of none":        logErr,
	} {
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want a RequestError", name, err)
		}
	}
	require.Empty(t, w.log(parentID))
}
