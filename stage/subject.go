package stage

import (
	"net/http"

	"pugmark.dev/conform/subject"
)

// HandlerSubject is a handler under test. A transport that is nil is not offered.
type HandlerSubject struct {
	Name string
	// Subprocess is started for each invocation, RPC on a listening descriptor 3;
	// HTTP is reached by its URL, and started when it has arguments.
	Subprocess, RPC, HTTP *subject.ResolvedCommand
	// Served answers on http in this process, in place of HTTP: for twins and
	// wrong handlers that are made at a seam.
	Served http.Handler
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
