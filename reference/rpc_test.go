package reference_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// envServe makes the test binary an RPC handler with a behaviour.
const envServe = "REFERENCE_TEST_SERVE"

// envRecord names the file that the behaviour "record" writes request bodies to.
const envRecord = "REFERENCE_TEST_RECORD"

func TestMain(m *testing.M) {
	if behaviour := os.Getenv(envServe); behaviour != "" {
		if err := serveDescriptor3(behaviour); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serveDescriptor3(behaviour string) error {
	if behaviour == "die at once" {
		return fmt.Errorf("dying at once")
	}
	if url := os.Getenv("PUGMARK_RPC_URL"); url != "fd://3" {
		return fmt.Errorf("PUGMARK_RPC_URL is %q", url)
	}
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	var count atomic.Int64
	err = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		fmt.Println("not a record: standard output is free here")
		switch behaviour {
		case "record":
			_ = os.WriteFile(os.Getenv(envRecord), body, 0o666)
			return
		case "killed without a length", "exit 3 without a length", "exit 0 without a length", "killed behind a length":
			length := ""
			if behaviour == "killed behind a length" {
				length = "Content-Length: 13\r\n"
			}
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				os.Exit(9)
			}
			_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\n"+length+"\r\n{\"name\":\"b\"}\n")
			switch behaviour[:6] {
			case "exit 3":
				os.Exit(3)
			case "exit 0":
				os.Exit(0)
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Minute)
		case "die":
			fmt.Fprintln(os.Stderr, "dying in a request")
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Minute)
		}
		fmt.Fprintf(w, `{"name":"%d %s %s %s %d"}`, count.Add(1), req.URL.Query().Get("snapshot"),
			os.Getenv("PUGMARK_SESSION_ID")[:1], os.Getenv("TRACEPARENT"), strings.Count(string(body), "\n"))
		if behaviour == "exit after answer" {
			_ = http.NewResponseController(w).Flush()
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = listener.Close()                     // so that no other request comes here
				_, _ = io.WriteString(conn, "0\r\n\r\n") // Flush made the answer chunked
				os.Exit(0)
			}
		}
	}))
	if behaviour == "exit after answer" {
		select {} // it exits where it has answered
	}
	return err
}

func rpc(t *testing.T, behaviour string) *reference.RPC {
	t.Helper()
	handler := &reference.RPC{Command: []string{os.Args[0]}, Environ: append(os.Environ(), envServe+"="+behaviour)}
	t.Cleanup(func() { _ = handler.Close() })
	return handler
}

func TestRPCProcessServesSeveralInvocations(t *testing.T) {
	w := newWorld(t, parentID)
	handler := rpc(t, "answer")
	for range 3 {
		_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(handler))
		require.NoError(t, err)
	}
	wantLines(t, "log", []string{
		"1 1.1 normal 1 0 1  2=", "1 2.2 normal 2 1 1  3=", "1 3.3 normal 3 2 1  4=",
	}, w.log(parentID))
	require.NoError(t, handler.Close())
	require.NoError(t, handler.Close())
}

func TestRPCProcessThatEndedIsStartedAgain(t *testing.T) {
	w := newWorld(t, parentID)
	handler := rpc(t, "exit after answer")
	for range 3 {
		_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(handler))
		require.NoError(t, err)
	}
	wantLines(t, "log", []string{
		"1 1.1 normal 1 0 1  2=", "1 2.2 normal 1 1 1  3=", "1 3.3 normal 1 2 1  4=",
	}, w.log(parentID))
}

func TestRPCProcessThatDies(t *testing.T) {
	for behaviour, want := range map[string]reference.InvocationError{
		"die":         {Reason: reference.ReasonSignal, Signal: syscall.SIGKILL},
		"die at once": {Reason: reference.ReasonExit, Exit: 1},
	} {
		t.Run(behaviour, func(t *testing.T) {
			w := newWorld(t, parentID)
			_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(rpc(t, behaviour)))
			var got *reference.InvocationError
			require.ErrorAs(t, err, &got)
			require.Contains(t, got.Stderr.String(), "dying")
			bare := *got
			bare.Err, bare.Stderr = nil, nil
			want.Session = parentID
			require.Equal(t, want, bare)
			require.Empty(t, w.log(parentID))
		})
	}
}

// P16/failure, P2.2/status-200: an answer without a length ends with its connection, which a
// process that is killed closes too. One that says its length is whole all the same.
func TestRPCProcessThatEndsWithItsAnswer(t *testing.T) {
	for behaviour, want := range map[string]*reference.InvocationError{
		"killed without a length": {Reason: reference.ReasonSignal, Signal: syscall.SIGKILL},
		"exit 3 without a length": {Reason: reference.ReasonExit, Exit: 3},
		"exit 0 without a length": nil,
		"killed behind a length":  nil,
	} {
		t.Run(behaviour, func(t *testing.T) {
			for range 5 {
				w := newWorld(t, parentID)
				_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(rpc(t, behaviour)))
				if want == nil {
					require.NoError(t, err)
					wantLines(t, "log", []string{"1 1.1 normal b="}, w.log(parentID))
					continue
				}
				var got *reference.InvocationError
				require.ErrorAs(t, err, &got)
				require.ErrorContains(t, err, "no length")
				require.Equal(t, []any{want.Reason, want.Exit, want.Signal}, []any{got.Reason, got.Exit, got.Signal})
				require.Empty(t, w.log(parentID))
			}
		})
	}
}

func TestRPCHandlerThatCanNotBeStarted(t *testing.T) {
	w := newWorld(t, parentID)
	w.start(storage.Manifest{Session: otherID, Metadata: map[string]string{"k": strings.Repeat("x", 128<<10)}})
	for session, want := range map[string]reference.Reason{parentID: reference.ReasonStart, otherID: reference.ReasonLimit} {
		_, err := w.runtime.RunOnce(t.Context(), session, handledBy(&reference.RPC{Command: []string{"/does/not/exist"}}))
		var failure *reference.InvocationError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, want, failure.Reason)
	}
}
