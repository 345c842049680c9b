package stage

import (
	"net/http"

	"pugmark.dev/conform/subject"
)

// Command is a program and where it runs. Env is the base environment: the
// variables of an invocation are added to it, stale ones removed.
type Command struct {
	Args []string
	Dir  string
	Env  []string
}

// HandlerSubject is a handler under test. A transport that is nil is not offered.
type HandlerSubject struct {
	Name       string
	Subprocess *Command
	RPC        *Command
	HTTP       *Service
}

// Service is a handler that is reached by URL: at a fixed one, started by a
// command, or served in this process.
type Service struct {
	// URL is where the handler answers; {port} in it is the port that a started
	// command was given.
	URL string
	// Command starts the service; {port} in its arguments is a free port.
	Command *Command
	// Handler is served in this process, for twins and wrong handlers that are
	// made at a seam.
	Handler http.Handler
}

// RuntimeSubject is a runtime under test.
type RuntimeSubject struct {
	Name string
	Ops  subject.Runtime
}

// Fake is how a runtime under test starts the scripted handler.
type Fake struct {
	// Command is the argument list that script and record folder are appended to.
	Command []string
}
