package fakehandler

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// long is how long a test waits for what takes milliseconds, on a machine that is
// busy with other things.
const long = 20 * time.Second

// The words by which the test program is one of the two handlers.
const (
	verbScripted = "test-scripted"
	verbConform  = "test-conform"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case verbScripted:
			os.Exit(Main(os.Args[2:]))
		case verbConform:
			os.Exit(ConformMain(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// folder is a record folder with a script beside it.
type folder struct {
	script, records string
}

func lay(t *testing.T, s Script) folder {
	t.Helper()
	f := folder{script: filepath.Join(t.TempDir(), "script.json"), records: t.TempDir()}
	f.lay(t, s)
	return f
}

func (f folder) lay(t *testing.T, s Script) {
	t.Helper()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.script, text, 0o666))
}

func (f folder) read(t *testing.T) []transcript.Transcript {
	t.Helper()
	all, err := ReadRecords(f.records)
	require.NoError(t, err)
	return all
}

// last is the record of the latest invocation.
func (f folder) last(t *testing.T) *transcript.Transcript {
	t.Helper()
	all := f.read(t)
	require.NotEmpty(t, all, "nothing was recorded")
	return &all[len(all)-1]
}

// child is a handler's process with pipes that the test holds.
type child struct {
	*exec.Cmd
	stdin          *os.File
	stdout, stderr *os.File
	// out is the stream that follow read.
	out chan []byte
}

// start starts this program as a handler, with env as its whole environment.
func start(t *testing.T, env []string, extra []*os.File, args ...string) *child {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	c := &child{Cmd: exec.Command(program, args...)}
	c.Env, c.ExtraFiles, c.Dir = append(append([]string{}, env...), raceEnv...), extra, "/"
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	var stdin, stdout, stderr *os.File
	stdin, c.stdin = pipe()
	c.stdout, stdout = pipe()
	c.stderr, stderr = pipe()
	c.Stdin, c.Stdout, c.Stderr = stdin, stdout, stderr
	require.NoError(t, c.Start())
	stdin.Close()
	stdout.Close()
	stderr.Close()
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// play starts the scripted handler of the folder.
func (f folder) play(t *testing.T) *child {
	t.Helper()
	return start(t, nil, nil, verbScripted, f.script, f.records)
}

// finished is what came of a process.
type finished struct {
	Stdout, Stderr string
	Status         int
	Signal         syscall.Signal
}

// finish reads both streams to their ends and waits for the process.
func (c *child) finish(t *testing.T) finished {
	t.Helper()
	streams := make(chan []byte, 1)
	go func() {
		data, _ := io.ReadAll(c.stderr)
		streams <- data
	}()
	require.NoError(t, c.stdout.SetReadDeadline(time.Now().Add(long)))
	require.NoError(t, c.stderr.SetReadDeadline(time.Now().Add(long)))
	stdout, err := io.ReadAll(c.stdout)
	require.NoError(t, err)
	end := finished{Stdout: string(stdout), Stderr: string(<-streams)}
	end.Status, end.Signal = c.ended(t)
	return end
}

// ended waits for the process alone.
func (c *child) ended(t *testing.T) (int, syscall.Signal) {
	t.Helper()
	timer := time.AfterFunc(long, func() { _ = c.Process.Kill() })
	err := c.Wait()
	require.True(t, timer.Stop(), "the process did not end")
	var exit *exec.ExitError
	if err != nil {
		require.True(t, errors.As(err, &exit), "%v", err)
	}
	state := c.ProcessState.Sys().(syscall.WaitStatus)
	if state.Signaled() {
		return -1, state.Signal()
	}
	return state.ExitStatus(), 0
}

// run plays the script to one input, whole.
func (f folder) run(t *testing.T, input string) finished {
	t.Helper()
	c := f.play(t)
	go func() {
		_, _ = io.WriteString(c.stdin, input)
		c.stdin.Close()
	}()
	return c.finish(t)
}

// turn is a script with one turn.
func turn1(ops ...Op) Script { return Script{Turns: [][]Op{ops}} }

func text(s string) *script.Body { return &script.Body{Text: &s} }

func ptr[T any](v T) *T { return &v }

// requireDiff compares, in the one order of the project.
func requireDiff(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// kinds is the kinds of a transcript's events with their streams, in order.
func kinds(tr *transcript.Transcript, skip ...transcript.Kind) (all []string) {
next:
	for _, e := range tr.Events {
		for _, k := range skip {
			if e.Kind == k {
				continue next
			}
		}
		word := string(e.Kind)
		if e.Stream != "" {
			word += " " + e.Stream
		}
		all = append(all, word)
	}
	return all
}

// listen returns a held listener and its descriptor for a child.
func listen(t *testing.T) (address string, file *os.File) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	file, err = l.(*net.TCPListener).File()
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	return l.Addr().String(), file
}

func contains(b []byte, s string) bool { return bytes.Contains(b, []byte(s)) }
