//go:build unix

package subject

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
)

// long is how long a test waits for what takes milliseconds.
const long = 20 * time.Second

// TestMain makes the test binary also the programs that the tests start.
func TestMain(m *testing.M) {
	if mode := os.Getenv("SUBJECT_TEST"); mode != "" {
		os.Exit(play(mode, os.Args[1:]))
	}
	if runtime.GOOS == "linux" {
		if err := process.Adopt(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// play is what the binary does as a program under a test.
func play(mode string, args []string) int {
	switch mode {
	case "serve":
		return serve(args[0])
	case "serve-on":
		signal.Ignore(syscall.SIGTERM)
		return serve(args[0])
	case "die":
		fmt.Fprintln(os.Stderr, "loading\nthe config is missing")
		return 3
	case "never-listen":
		fmt.Fprintln(os.Stderr, "thinking")
		time.Sleep(time.Hour)
	case "lose-the-port-once":
		// The test takes the port of the first start away.
		if _, err := os.Stat(args[1]); err != nil {
			if response, err := http.Get(args[2] + "?port=" + args[0]); err != nil || response.StatusCode != 200 {
				return 9
			}
			if err := os.WriteFile(args[1], nil, 0o666); err != nil {
				return 9
			}
		}
		return serve(args[0])
	case "open", "open-and-stay":
		f, err := Load(args[0] + "/" + FileName)
		var o *Opened
		if err == nil {
			o, err = Open(context.Background(), f, args[0], args[1], nil)
		}
		if err == nil && mode == "open-and-stay" {
			fmt.Println(o.Cache)
			time.Sleep(time.Hour)
			runtime.KeepAlive(o)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func serve(port string) int {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "pid ", os.Getpid()) }))
	return 1
}

// self is the test binary as a program.
func self(mode string, args ...string) ResolvedCommand {
	return ResolvedCommand{
		Args: append([]string{os.Args[0]}, args...),
		Env:  append(Environment(os.Environ()), "SUBJECT_TEST="+mode),
	}
}

// requireNoChildren fails if the test has left a process behind.
func requireNoChildren(t *testing.T) {
	t.Helper()
	var status syscall.WaitStatus
	_, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	require.ErrorIs(t, err, syscall.ECHILD, "a child is left")
}

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("subject.yaml", []byte(text))
	require.NoError(t, err)
	return f
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
}
