package reference_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// shell is a handler written as a shell script.
func shell(script string) reference.Subprocess {
	return reference.Subprocess{Command: []string{"sh", "-c", script}}
}

func runShell(t *testing.T, w *world, script string) error {
	t.Helper()
	_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(shell(script)))
	return err
}

func TestHandlerProcess(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "hello")
	got := filepath.Join(t.TempDir(), "stdin")
	// No LF after the last record (F6).
	require.NoError(t, runShell(t, w, `cat >`+got+`; printf '{"name":"b",\n\t"data":"aGk"}{"name":"c"}'`))
	wantLines(t, "log", []string{"1 1.1 queueing a=hello", "1 2.2 normal b=hi", "1 2.3 normal c="}, w.log(parentID))
	stdin, err := os.ReadFile(got)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(stdin), "\n")
	require.Len(t, lines, 4, "three lines and nothing after: %q", stdin)
	require.Contains(t, lines[1], `"event":"push"`)
	require.Equal(t, "{\"event\":\"start\"}\n", lines[2])
}

func TestHandlerEnvironment(t *testing.T) {
	w := newWorld(t)
	w.start(storage.Manifest{Session: parentID, Agent: "agent", Metadata: map[string]string{"k": "é"}})
	w.start(storage.Manifest{Session: otherID})
	got := filepath.Join(t.TempDir(), "env")
	handler := shell(`env >` + got)
	handler.Environ = []string{
		"PATH=" + os.Getenv("PATH"), "KEPT=1", "PUGMARK_SESSION_ID=stale", "PUGMARK_SESSION_METADATA={}", "PUGMARK_FUTURE=1",
		"TRACESTATE=stale=1", "TRACEPARENT=stale", "HTTP_PROXY=http://proxy:1", "NO_PROXY=example.org",
	}
	environ := func(session string) map[string]string {
		_, err := w.runtime.RunOnce(t.Context(), session, handledBy(handler))
		require.NoError(t, err)
		text, err := os.ReadFile(got)
		require.NoError(t, err)
		values := map[string]string{}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			if name != "PWD" && name != "_" && name != "SHLVL" && name != "OLDPWD" && name != "PATH" {
				values[name] = value
			}
		}
		return values
	}
	first := environ(parentID)
	require.Regexp(t, "^00-"+parentID+"-[0-9a-f]{16}-01$", first["TRACEPARENT"])
	want := map[string]string{
		"KEPT": "1", "PUGMARK_AGENT_ID": "agent", "PUGMARK_SESSION_ID": parentID,
		"PUGMARK_SESSION_METADATA": `{"k":"\u00e9"}`, "TRACEPARENT": first["TRACEPARENT"], "HTTP_PROXY": "http://proxy:1",
		"NO_PROXY": "example.org,127.0.0.1,localhost,::1", "no_proxy": "127.0.0.1,localhost,::1",
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	require.NotContains(t, environ(otherID), "PUGMARK_SESSION_METADATA", "of a session without metadata")
}

func TestHandlersThatFail(t *testing.T) {
	const good = `printf '{"name":"good"}\n'; `
	for name, c := range map[string]struct {
		script string
		want   reference.InvocationError
		texts  []string
	}{
		"exit status": {good + `echo oops >&2; exit 3`,
			reference.InvocationError{Reason: reference.ReasonExit, Exit: 3}, []string{"exited with status 3", "oops"}},
		"SIGKILL": {good + `kill -9 $$`,
			reference.InvocationError{Reason: reference.ReasonSignal, Signal: syscall.SIGKILL}, []string{"signal 9"}},
		"SIGSEGV": {good + `kill -11 $$`,
			reference.InvocationError{Reason: reference.ReasonSignal, Signal: syscall.SIGSEGV}, []string{"signal 11"}},
		"log line": {`echo starting v1; ` + good,
			reference.InvocationError{Reason: reference.ReasonStream}, []string{"non-JSON", "byte 0", "starting v1"}},
		"garbage after a record": {good + `echo bye`,
			reference.InvocationError{Reason: reference.ReasonStream}, []string{"byte 16", "bye"}},
		"byte-order mark": {`printf '\357\273\277'; ` + good,
			reference.InvocationError{Reason: reference.ReasonStream}, []string{"byte-order mark", "byte 0"}},
		"bad UTF-8": {`printf '{"name":"\377"}'`,
			reference.InvocationError{Reason: reference.ReasonStream}, []string{"UTF-8"}},
		"cut record": {good + `printf '{"name":"b'`,
			reference.InvocationError{Reason: reference.ReasonStream}, []string{"cut short", "byte 26"}},
		"cut record and exit status": {good + `printf '{"name":"b'; exit 1`,
			reference.InvocationError{Reason: reference.ReasonExit, Exit: 1}, []string{"exited with status 1", "cut short"}},
		"control message": {good + `printf '{"content-type":"application/vnd.pugmark.control+json"}'`,
			reference.InvocationError{Reason: reference.ReasonOutput}, []string{"byte 16", "control messages"}},
		"garbage in a flood": {`echo x; head -c 300000 /dev/zero; exit 0`,
			reference.InvocationError{Reason: reference.ReasonStream}, []string{"byte 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parentID)
			w.push(parentID, "a", "x")
			err := runShell(t, w, c.script)
			var got *reference.InvocationError
			require.ErrorAs(t, err, &got)
			c.want.Session, c.want.Version = parentID, 1
			bare := *got
			bare.Err, bare.Stderr = nil, nil
			require.Equal(t, c.want, bare)
			for _, text := range c.texts {
				require.ErrorContains(t, err, text)
			}
			wantLines(t, "log", []string{"1 1.1 queueing a=x"}, w.log(parentID))
		})
	}
}

func TestHandlerThatCanNotBeStarted(t *testing.T) {
	w := newWorld(t, parentID)
	for _, command := range [][]string{nil, {"/does/not/exist"}, {"no-such-program-anywhere"}} {
		_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(reference.Subprocess{Command: command}))
		var failure *reference.InvocationError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, reference.ReasonStart, failure.Reason)
	}
}

// Reading R20.
func TestMetadataTooLargeForTheEnvironment(t *testing.T) {
	w := newWorld(t)
	w.start(storage.Manifest{Session: parentID, Metadata: map[string]string{"k": strings.Repeat("x", 128<<10)}})
	err := runShell(t, w, `echo never`)
	var failure *reference.InvocationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, reference.ReasonLimit, failure.Reason)
	require.ErrorContains(t, err, "PUGMARK_SESSION_METADATA")
	require.ErrorContains(t, err, "131072")
}

// F11, P16/early-exit: the log is far larger than a pipe.
func TestHandlerThatDoesNotReadItsInput(t *testing.T) {
	w := newWorld(t, parentID)
	for range 200 {
		w.push(parentID, strings.Repeat("n", 4000), "x")
	}
	for _, script := range []string{`echo '{"name":"b"}'`, `exec <&-; echo '{"name":"b"}'; sleep 0.05`} {
		for range 10 {
			require.NoError(t, runShell(t, w, script))
		}
	}
	version, err := w.runtime.Store.Version(t.Context(), parentID)
	require.NoError(t, err)
	require.EqualValues(t, 220, version)
}

// F1, F12, P2.1/stderr-free.
func TestStderrIsDrainedAndKeptBounded(t *testing.T) {
	w := newWorld(t, parentID)
	require.NoError(t, runShell(t, w, `head -c 1048576 /dev/zero | tr '\0' x >&2; cat >/dev/null; echo '{"name":"b"}'`))
	wantLines(t, "log", []string{"1 1.1 normal b="}, w.log(parentID))

	err := runShell(t, w, `printf HEAD >&2; head -c 1048576 /dev/zero | tr '\0' x >&2; printf TAIL >&2; exit 1`)
	var failure *reference.InvocationError
	require.ErrorAs(t, err, &failure)
	require.EqualValues(t, 1048576+8, failure.Stderr.Total())
	kept := failure.Stderr.String()
	require.Less(t, len(kept), 20_000)
	require.True(t, strings.HasPrefix(kept, "HEAD"))
	require.True(t, strings.HasSuffix(kept, "TAIL"))
	require.Contains(t, kept, "1032200 bytes left out") // 1048584 - 2*8192
}

// F10, R22: what the handler itself wrote counts; its child is not waited for.
func TestChildOfTheHandlerHoldsStdout(t *testing.T) {
	w := newWorld(t, parentID)
	pid := filepath.Join(t.TempDir(), "pid")
	begin := time.Now()
	require.NoError(t, runShell(t, w, `sleep 60 & echo $! >`+pid+`; echo '{"name":"b"}'`))
	require.Less(t, time.Since(begin), 5*time.Second)
	wantLines(t, "log", []string{"1 1.1 normal b="}, w.log(parentID))
	requireGone(t, pid)
}

func TestChildOfTheHandlerFloodsStdout(t *testing.T) {
	w := newWorld(t, parentID)
	pid := filepath.Join(t.TempDir(), "pid")
	err := runShell(t, w, `yes '{}' & echo $! >`+pid+`; echo '{"name":"b"}'`)
	// The flood may be cut in the middle of a record, which fails the invocation.
	if err == nil {
		wantLines(t, "log", []string{"1 1.1 normal b="}, w.log(parentID))
	} else {
		require.ErrorContains(t, err, "cut short")
	}
	requireGone(t, pid)
}

// A slow store must not cost what the handler had written before its exit.
func TestSlowReaderGetsAllThatWasWritten(t *testing.T) {
	handler := shell(`sleep 60 & i=0; while [ $i -lt 1000 ]; do echo '{"name":"b"}'; i=$((i+1)); done`)
	handler.Grace = 10 * time.Millisecond
	count := 0
	err := handler.Invoke(t.Context(), reference.Invocation{
		Identity: protocol.Identity{Session: parentID},
		Inputs:   func(func(protocol.Input, error) bool) {},
		Output: func(protocol.Record[protocol.Output]) error {
			if count++; count%100 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		},
	})
	require.NoError(t, err)
	require.Equal(t, 1000, count)
}

func TestCancelEndsTheHandlerAndItsChildren(t *testing.T) {
	w := newWorld(t, parentID)
	folder := t.TempDir()
	pid := filepath.Join(folder, "pid")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for !fileHasLines(pid, 2) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	script := fmt.Sprintf(`echo '{"name":"b"}'; sleep 60 & echo $! >%s; echo $$ >>%s; wait`, pid, pid)
	_, err := w.runtime.RunOnce(ctx, parentID, handledBy(shell(script)))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, w.log(parentID))
	requireGone(t, pid)
}

func TestInputsThatFailAreNotTakenForWhole(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	handler := shell(`cat >/dev/null; sleep 0.2; echo >` + marker)
	err := handler.Invoke(t.Context(), reference.Invocation{
		Identity: protocol.Identity{Session: parentID},
		Inputs: func(yield func(protocol.Input, error) bool) {
			_ = yield(protocol.Input{Event: "memory"}, nil) && yield(protocol.Input{}, io.ErrClosedPipe)
		},
		Output: func(protocol.Record[protocol.Output]) error { return nil },
	})
	require.ErrorIs(t, err, io.ErrClosedPipe)
	var failure *reference.InvocationError
	require.NotErrorAs(t, err, &failure, "it is not the handler's fault")
	_, err = os.Stat(marker)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func fileHasLines(name string, count int) bool {
	text, err := os.ReadFile(name)
	return err == nil && strings.Count(string(text), "\n") >= count
}

// requireGone waits until the processes listed in a file are gone. A zombie that
// its new parent has not reaped yet counts as gone.
func requireGone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for pid := range strings.FieldsSeq(string(text)) {
		require.Eventually(t, func() bool {
			state, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
			return err != nil || strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
		}, 5*time.Second, 10*time.Millisecond, "process %s lives on", pid)
	}
}
