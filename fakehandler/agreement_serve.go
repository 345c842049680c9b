package fakehandler

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	"pugmark.dev/conform/protocol"
)

// ConformMain is [Agreement.Main] of the right handler.
func ConformMain(args []string) int { return Agreement{}.Main(args) }

// ConformHandler is [Agreement.Handler] of the right handler.
func ConformHandler() http.Handler { return Agreement{}.Handler() }

// Main is the handler as a program, and returns its exit status: 0, or 1 for a
// failed invocation. With PUGMARK_RPC_URL in the environment it serves descriptor 3
// (section 13); with an address (host:port) as its argument it serves that; both
// until SIGTERM. Else it is one invocation on stdin and stdout (section 2.1).
func (a Agreement) Main(args []string) int {
	keepBrokenPipes()
	var listener net.Listener
	var err error
	switch address := a.getenv(protocol.EnvRPCURL); {
	case len(args) > 1:
		err = fmt.Errorf("one argument at most is taken, an address, not %d", len(args))
	case len(args) == 1:
		listener, err = net.Listen("tcp", args[0])
	case address != "":
		listener, err = inheritedListener(address)
	default:
		err = a.subprocess()
		if err != nil {
			a.complain(err)
		}
		return a.status(err)
	}
	if err != nil {
		a.complain(err)
		return 1
	}
	if listener != nil {
		return serveUntilTerminated(listener, a.Handler())
	}
	return 0
}

func (a Agreement) status(err error) int {
	switch {
	case a.Status != nil:
		return a.Status(err)
	case err != nil:
		return 1
	}
	return 0
}

func (a Agreement) subprocess() error {
	identity, err := protocol.IdentityFromEnviron(a.getenv)
	if err != nil {
		return err
	}
	return a.Run(context.Background(), Invocation{
		Identity: identity, Trace: protocol.TraceContextFromEnviron(a.getenv), Input: os.Stdin, Output: os.Stdout,
	})
}

func (a Agreement) complain(err error) { fmt.Fprintln(a.diagnostics(), "handler:", err) }

// Handler serves invocations at / (section 2.2). GET / is a health check.
func (a Agreement) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.Respond != nil {
			w = a.Respond(w)
		}
		switch {
		case r.URL.Path != "/":
			http.NotFound(w, r)
		case r.Method == http.MethodPost:
			a.invoke(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD, POST")
			http.Error(w, "an invocation is a POST", http.StatusMethodNotAllowed)
		}
	})
}

// invoke keeps the Outputs back until the invocation has succeeded: the status says
// whether it did, and comes first.
func (a Agreement) invoke(w http.ResponseWriter, r *http.Request) {
	identity, err := protocol.IdentityFromRequest(r)
	if err != nil {
		a.complain(err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var outputs bytes.Buffer
	err = a.Run(r.Context(), Invocation{
		Identity: identity, SnapshotKnown: true, Trace: protocol.TraceContextFromHeader(r.Header),
		Input: r.Body, Output: &outputs,
	})
	if err != nil {
		a.complain(err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(outputs.Len()))
	// The peer has gone if this fails, and with it whoever could be told.
	_, _ = w.Write(outputs.Bytes())
}
