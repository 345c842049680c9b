package fakeruntime

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// handlerMain is the handlers that the tests play to, in this program itself. A
// mode that begins with rpc serves on descriptor 3.
func handlerMain(mode string) int {
	if strings.HasPrefix(mode, "rpc") {
		return serveRPC(strings.TrimPrefix(mode, "rpc-"))
	}
	switch mode {
	case "report": // what it was given, on stdout
		in, err := io.ReadAll(os.Stdin)
		if err != nil {
			return 2
		}
		json.NewEncoder(os.Stdout).Encode(map[string]any{"stdin": string(in), "env": os.Environ()})
		return 0
	case "drops": // single bytes, each in one write
		for range 20000 {
			os.Stdout.Write([]byte("x"))
		}
		return 0
	}
	return 99
}

// serveRPC is a handler in RPC mode. The invocation's agent says what it does.
func serveRPC(mode string) int {
	if mode == "broken" {
		fmt.Fprintln(os.Stderr, "no such module")
		return 1
	}
	if got := os.Getenv("PUGMARK_RPC_URL"); got != "fd://3" {
		fmt.Fprintln(os.Stderr, "PUGMARK_RPC_URL is", got)
		return 2
	}
	listener, err := net.FileListener(os.NewFile(3, "socket"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		agent := r.URL.Query().Get("agent")
		act, arg, _ := strings.Cut(agent, "=")
		switch act {
		case "kill":
			// A shell in this very process: the Go runtime makes an exit of a SIGSEGV.
			syscall.Exec("/bin/sh", []string{"sh", "-c", "ulimit -c 0; kill -" + arg + " $$"}, nil)
		case "exit":
			n, _ := strconv.Atoi(arg)
			os.Exit(n)
		case "hang":
			time.Sleep(time.Hour)
		case "orphan": // a child keeps the socket and the connection
			child := exec.Command("sleep", "600")
			for fd := 3; fd < 64; fd++ {
				if copied, err := syscall.Dup(fd); err == nil {
					child.ExtraFiles = append(child.ExtraFiles, os.NewFile(uintptr(copied), "kept"))
				}
			}
			child.Start()
			os.Exit(3)
		case "flood":
			for line := strings.Repeat("x", 1<<16); ; {
				os.Stderr.WriteString(line)
			}
		case "answer-then-exit":
			w.Header().Set("Connection", "close")
			io.WriteString(w, "{}\n")
			w.(http.Flusher).Flush()
			go func() { time.Sleep(20 * time.Millisecond); os.Exit(7) }()
			return
		}
		fmt.Fprintln(os.Stderr, "about", agent)
		json.NewEncoder(w).Encode(map[string]any{"pid": os.Getpid(), "body": len(body), "query": r.URL.RawQuery, "header": r.Header, "env": os.Environ()})
	}))
	return 0
}
