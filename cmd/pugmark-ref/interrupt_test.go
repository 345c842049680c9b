//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// endTime is how long an interrupted program may take to end.
const endTime = 20 * time.Second

// running is the program as a process of its own.
type running struct {
	t       *testing.T
	command *exec.Cmd
	stderr  *bufio.Reader
	status  chan int
}

func startProgram(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{t: t, command: exec.Command("pugmark-ref", args...), status: make(chan int, 1)}
	// A pipe of our own, which stays open until the last who holds it has ended.
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { read.Close() })
	r.stderr = bufio.NewReader(read)
	r.command.Stderr = write
	require.NoError(t, r.command.Start())
	require.NoError(t, write.Close())
	go func() {
		_ = r.command.Wait()
		r.status <- r.command.ProcessState.ExitCode()
	}()
	t.Cleanup(func() { _ = r.command.Process.Kill() })
	return r
}

// says reads a line of standard error.
func (r *running) says() string {
	r.t.Helper()
	line, err := r.stderr.ReadString('\n')
	require.NoError(r.t, err)
	return line
}

// interrupted sends a signal and requires the documented end of it.
func (r *running) interrupted(signal os.Signal) {
	r.t.Helper()
	require.NoError(r.t, r.command.Process.Signal(signal))
	select {
	case status := <-r.status:
		require.Equal(r.t, exitOther, status)
	case <-time.After(endTime):
		r.t.Fatal("it did not end")
	}
	rest, err := io.ReadAll(r.stderr)
	require.NoError(r.t, err)
	require.Equal(r.t, "pugmark-ref: interrupted; what was committed stays, so run it again to go on\n", string(rest))
}

// alive makes a named pipe that handlers hold open while they live.
func alive(t *testing.T) (ended func()) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo("alive", 0o666))
	pipe, err := os.OpenFile("alive", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { pipe.Close() })
	return func() {
		t.Helper()
		require.NoError(t, pipe.SetReadDeadline(time.Now().Add(endTime)))
		text, err := io.ReadAll(pipe) // to the end of the last who holds it
		require.NoError(t, err, "a process of the handler lives on")
		require.Equal(t, "begun\n", string(text))
	}
}

// A handler with a child, each of which would outlive the test.
const lasting = `echo begun >alive; exec 9>alive; echo begun >&2; sleep 1000 & sleep 1000`

func TestAnInterruptionEndsEveryProcessAndCommitsNothing(t *testing.T) {
	for name, args := range map[string][]string{
		"subprocess": {"run", "--", "sh", "-c", `echo '{"name":"half"}'; ` + lasting},
		"rpc":        {"run", "--rpc", "--", "sh", "-c", lasting},
		"named":      {"run", "--handler", "h=sh handler.sh"},
	} {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(name+" "+signal.String(), func(t *testing.T) {
				started(t)
				if name == "named" {
					status, _, stderr := call(t, "start", "--handler", "h")
					require.Zero(t, status, stderr)
					require.NoError(t, os.WriteFile("handler.sh", []byte(lasting), 0o666))
				}
				_, before, _ := call(t, "inspect")
				ended := alive(t)
				r := startProgram(t, args...)
				require.Equal(t, "begun\n", r.says())
				r.interrupted(signal)
				ended()
				_, after, _ := call(t, "inspect")
				require.Equal(t, before, after)
			})
		}
	}
}

func TestASleepSaysWhatItWaitsForAndEndsByInterruption(t *testing.T) {
	session := started(t)
	said(t, `{"content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"600s"},"data":"aGk="}`)
	_, before, _ := call(t, "inspect")
	for _, flags := range [][]string{{"run"}, {"run", "--once"}} {
		r := startProgram(t, append(flags, "--", "sh", "-c", "exit 9")...)
		require.Regexp(t, "^pugmark-ref: session "+session+` sleeps until \S+Z, (10m0|9m\d+)s from now; waiting for that or for a push, Ctrl-C ends the wait`+"\n$", r.says())
		r.interrupted(os.Interrupt)
		_, after, _ := call(t, "inspect")
		require.Equal(t, before, after)
	}
}

func TestPushEndsByInterruptionWhateverItWaitsFor(t *testing.T) {
	started(t)
	require.NoError(t, syscall.Mkfifo("pipe", 0o666))
	for name, args := range map[string][]string{
		"standard input": {"push"}, "named pipe": {"push", "pipe"}, "memory": {"memory", "put", "ns/k"},
	} {
		t.Run(name, func(t *testing.T) {
			silent, writer := io.Pipe()
			defer writer.Close()
			ctx, interrupt := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer interrupt()
			var stderr bytes.Buffer
			status := make(chan int, 1)
			go func() { status <- run(ctx, args, streams{in: silent, out: io.Discard, err: &stderr}) }()
			select {
			case got := <-status:
				require.Equal(t, exitOther, got)
				require.True(t, strings.HasPrefix(stderr.String(), "pugmark-ref: interrupted; "), stderr.String())
			case <-time.After(endTime):
				t.Fatal("it did not end")
			}
		})
	}
	_, log, _ := call(t, "log")
	require.Equal(t, "1.1  queueing  text/plain  5 bytes\n    hello", log)
}

func TestASlowHandlerIsSpokenOf(t *testing.T) {
	session := started(t)
	var stderr bytes.Buffer
	a := &app{streams: streams{in: strings.NewReader(""), out: io.Discard, err: &lockedWriter{w: &stderr}}, patience: time.Millisecond}
	require.Zero(t, a.execute(t.Context(), []string{"run", "--once", "--", "sh", "-c", "cat >/dev/null; sleep 0.3"}))
	require.Equal(t, "pugmark-ref: waiting for the handler of session "+session+", which has run for 1ms; Ctrl-C ends it\n", stderr.String())
}
