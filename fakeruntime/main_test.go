package fakeruntime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// long is how long a test waits for what takes milliseconds, on a machine that
// is busy with other things.
const long = 30 * time.Second

// theSession is the session ID of the tests.
const theSession = "0123456789abcdef0123456789abcdef"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "handler" {
		os.Exit(handlerMain(os.Args[2]))
	}
	if runtime.GOOS == "linux" {
		if err := process.Adopt(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// own is a command that runs this test program as a handler.
func own(t *testing.T, mode string) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return []string{self, "handler", mode}
}

func sh(text string) []string { return []string{"sh", "-c", text} }

func python(text string) []string { return []string{"python3", "-c", text} }

// invocation is one of a program with the two records that every stream has.
func invocation(command []string) Invocation {
	return Invocation{
		Case:     "handler/test",
		Identity: protocol.Identity{Agent: "conform-agent", Session: theSession, Snapshot: 1},
		Script:   Script{Records: []Record{{Event: "memory"}, {Event: "start"}}},
		Target:   Target{Command: command, Env: baseEnv()},
		Limit:    long,
	}
}

// baseEnv is the PATH alone, so that tests do not hang on what the machine sets.
func baseEnv() []string { return []string{"PATH=" + os.Getenv("PATH")} }

// play plays, and holds Play to leaving nothing behind.
func play(t *testing.T, inv Invocation) transcript.Transcript {
	t.Helper()
	defer requireNothingLeft(t, runtime.NumGoroutine())
	got, _, err := inv.Play(context.Background())
	require.NoError(t, err)
	require.NotNil(t, got.Ended(), "every transcript says how the invocation ended")
	require.Zero(t, got.Ended().Left)
	return got
}

// requireNothingLeft fails when there are more goroutines than before. Some of
// them are seen to be gone only after their last act.
func requireNothingLeft(t *testing.T, before int) {
	t.Helper()
	for giveUp := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(giveUp) {
			buffer := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buffer[:runtime.Stack(buffer, true)])
		}
	}
}

// running counts the processes whose command line contains mark.
func running(t *testing.T, mark string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var n int
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), mark) {
			n++
		}
	}
	return n
}

// events are those of a kind and stream.
func events(got transcript.Transcript, kind transcript.Kind, stream string) (list []transcript.Event) {
	for _, e := range got.Events {
		if e.Kind == kind && e.Stream == stream {
			list = append(list, e)
		}
	}
	return list
}

// at is the index of the first event of a kind and stream, or -1.
func at(got transcript.Transcript, kind transcript.Kind, stream string) int {
	for i, e := range got.Events {
		if e.Kind == kind && e.Stream == stream {
			return i
		}
	}
	return -1
}

// output is a stream of a transcript, as text.
func output(t *testing.T, got transcript.Transcript, name string) string {
	t.Helper()
	data, left := got.Stream(name)
	require.Zero(t, left)
	return string(data)
}

func text(s string) *script.Body { return &script.Body{Text: &s} }

func ptr[T any](v T) *T { return &v }
