package fakehandler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"pugmark.dev/conform/protocol"
)

// The names of the entries by which a harness and a handler subject talk.
const (
	NameInstructions = "conform/instructions" // what the handler is told to do
	NameObserved     = "conform/observed"     // the answer to observe
	NameLoaded       = "conform/loaded"       // the answer to load
	NameMemory       = "conform/memory"       // the answer to memory
	NameUnsupported  = "conform/unsupported"  // the answer to what can't be done
)

// Agreement is a handler that follows the latest entry conform/instructions, on
// every transport. Its zero value is right by the text of the protocol in all that
// concerns a handler.
//
// The fields are its seams: each stands where the handler touches the outside, is
// used once an invocation, and leaves everything as it is when nil. What is wrapped
// there makes a mutant of it, or a twin.
type Agreement struct {
	// Getenv looks up a variable (section 13); os.Getenv when nil. On rpc and http
	// the request is read instead (reading R32).
	Getenv func(name string) string
	// Identity makes of the identity in an invocation's request or environment what
	// its code is told of it when it asks (section 13).
	Identity func(own protocol.Identity) func() protocol.Identity
	// Input wraps the stream of Inputs (section 4).
	Input func(io.Reader) io.Reader
	// Output wraps the stream of Outputs (section 5). It gets each record, with its
	// LF, in one write up to protocol's limit. If the result is an io.Closer, it is
	// closed after the last Output of an invocation that does not fail.
	Output func(io.Writer) io.Writer
	// Servers makes the requests to the object and the memory server (sections 7
	// and 8). It must not follow redirects or decode bodies on the way.
	Servers http.RoundTripper
	// Respond wraps the answer of an invocation on rpc and http (section 2.2),
	// which is written with its Content-Length, in one write.
	Respond func(http.ResponseWriter) http.ResponseWriter
	// Diagnostics takes what is for people; os.Stderr when nil (section 2.1).
	Diagnostics io.Writer
	// Session wraps what Code has of its invocation (the page of an SDK).
	Session func(Session) Session
	// Code is what the handler's author wrote with the SDK. Nil follows the
	// instructions; [Minimal] is the smallest handler of the SDK's page.
	Code func(context.Context, Session) error
	// Status is the exit status that tells how an invocation ended (section 2.1): 1
	// for an error and else 0 when nil. It is asked on the subprocess transport only,
	// where nothing else tells.
	Status func(err error) int
}

// Invocation is what a transport hands to the handler.
type Invocation struct {
	// Identity is who is invoked. On the subprocess transport the snapshot does
	// not travel, and SnapshotKnown is false.
	Identity      protocol.Identity
	SnapshotKnown bool
	// Trace is the trace context as it came.
	Trace protocol.TraceContext
	// Input is read until the lifecycle event.
	Input io.Reader
	// Output is written to as the operations are done.
	Output io.Writer
}

// ErrNoLifecycle means that the input ended without the signal to begin (section
// 4.2). The handler has then done nothing.
var ErrNoLifecycle = errors.New("the input ended without a lifecycle event")

// ErrToldToFail is the error that the operation `fail` raises.
var ErrToldToFail = errors.New("told to fail by " + NameInstructions)

// Run is one invocation. It begins when the lifecycle event has arrived, without
// waiting for the end of input (P4.2/lifecycle-begins). An error means that the
// invocation has failed; Outputs may have been written before.
func (a Agreement) Run(ctx context.Context, inv Invocation) error {
	in, out := inv.Input, inv.Output
	identity := func() protocol.Identity { return inv.Identity }
	if a.Identity != nil {
		identity = a.Identity(inv.Identity)
	}
	if a.Input != nil {
		in = a.Input(in)
	}
	if a.Output != nil {
		out = a.Output(out)
	}
	log, err := readLog(in)
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	if log.unknownVersion {
		return nil // P17/protocol-event
	}
	servers := a.Servers
	if servers == nil {
		servers = newTransport()
	}
	t := &turn{
		inv: inv, identity: identity, log: log, encoder: protocol.NewEncoder(out), diagnostics: a.diagnostics(),
		fetcher: fetcher{servers: servers, trace: inv.Trace.Valid()},
	}
	t.session = t
	if a.Session != nil {
		t.session = a.Session(t)
	}
	if a.Code != nil {
		err = a.Code(ctx, t.session)
	} else {
		err = t.follow(ctx)
	}
	if err != nil {
		return err
	}
	if closer, ok := out.(io.Closer); ok && a.Output != nil {
		if err := closer.Close(); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}

func (a Agreement) getenv(name string) string {
	if a.Getenv != nil {
		return a.Getenv(name)
	}
	return os.Getenv(name)
}

func (a Agreement) diagnostics() io.Writer {
	if a.Diagnostics != nil {
		return a.Diagnostics
	}
	return os.Stderr
}
