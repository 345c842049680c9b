package subject

import (
	"context"
	"encoding/json"
	"fmt"
)

// Runtime is what the harness asks of any runtime, whether it is driven in
// process, through command templates or through a driver. An operation that the
// runtime does not offer returns an [Error] of kind [Unsupported].
type Runtime interface {
	// Start creates a session, or returns the one that exists.
	Start(ctx context.Context, r StartRequest) (session string, err error)
	// Push appends an entry from outside.
	Push(ctx context.Context, r PushRequest) error
	// Run invokes the handler, once or until the session is idle.
	Run(ctx context.Context, r RunRequest) (RunReply, error)
	// Log returns the answer of `log`: {"entries":[...]}.
	Log(ctx context.Context, store, session string) (json.RawMessage, error)
	// Inspect returns the session dump.
	Inspect(ctx context.Context, store, session string) (json.RawMessage, error)
	// Close ends what the runtime keeps running.
	Close() error
}

// StartRequest asks for a session. Empty fields are absent.
type StartRequest struct {
	Store, Session, Agent, Handler string
	Metadata                       map[string]string
	// Namespaces is the memory namespaces that a runtime which must be told of
	// them beforehand is told of (reading R15).
	Namespaces []string
}

// PushRequest appends Body with its fields.
type PushRequest struct {
	Store, Session                                string
	Body                                          []byte
	Name, ContentType, ContentEncoding, SchemaURL string
	Metadata                                      map[string]string
}

// RunRequest runs a session with a handler.
type RunRequest struct {
	Store, Session string
	// Once is one invocation; else until the session is idle.
	Once bool
	// Default is the handler without a name, Named those with one.
	Default HandlerSpec
	Named   map[string]HandlerSpec
	// TraceParent and TraceState come in from outside.
	TraceParent, TraceState string
	// Environment is variables of the runtime's own process. A driver, which outlives
	// a run, is started anew for a run that has any.
	Environment map[string]string
}

// HandlerSpec is one of a command for the subprocess transport, a command for
// RPC mode, and a URL.
type HandlerSpec struct {
	Command []string `json:"command,omitempty" means:"the handler as an argument list, for the subprocess transport"`
	RPC     []string `json:"rpc,omitempty" means:"the handler as an argument list, for RPC mode (section 13)"`
	URL     string   `json:"url,omitempty" means:"where the handler answers over HTTP"`
}

// RunReply is what a runtime says of a run; both fields may be missing.
type RunReply struct {
	Version *int64 `json:"version,omitempty"`
	State   string `json:"state,omitempty"`
}

// ErrorKind tells the failures of an operation apart.
type ErrorKind string

const (
	// FailedInvocation is a run whose handler failed.
	FailedInvocation ErrorKind = "failed-invocation"
	// BadRequest is a refusal of what can't be done.
	BadRequest ErrorKind = "request"
	// Internal is a failure that the runtime reports of itself.
	Internal ErrorKind = "internal"
	// Unsupported is an operation that the runtime does not offer.
	Unsupported ErrorKind = "unsupported"
	// Crash is a runtime that died in the operation, or answered in a way that the
	// agreement does not know. It is no refusal, whatever a case wants.
	Crash ErrorKind = "crash"
)

// Error is an operation's failure, as the runtime reported it.
type Error struct {
	Op      string
	Kind    ErrorKind
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %s", e.Op, e.Kind, e.Message) }
