package mutants

import (
	"io"
	"os"
	"slices"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/subject"
)

// kind is the cases for one kind of subject.
func (k *killer) kind(kind string) (cases []*casefile.Case) {
	for _, c := range k.Cases {
		if c.Kind == kind {
			cases = append(cases, c)
		}
	}
	return cases
}

func (k *killer) subject(id string, handler func() fakehandler.Agreement, made func() *stage.Reference, transports []string) runner.Subject {
	under := runner.Subject{Name: id}
	if made != nil {
		ops := made()
		under.Runtime = &runner.RuntimeSide{RuntimeSubject: stage.RuntimeSubject{Name: id, Ops: ops}, Features: ops.Features()}
		return under
	}
	side := &runner.HandlerSide{HandlerSubject: stage.HandlerSubject{Name: id}, Features: handlerFeatures()}
	for _, t := range orAll(transports) {
		switch t {
		case protocol.TransportSubprocess:
			side.Subprocess = k.command(id)
		case protocol.TransportRPC:
			side.RPC = k.command(id)
		case protocol.TransportHTTP:
			agreement := handler()
			if agreement.Diagnostics == nil {
				agreement.Diagnostics = io.Discard // this process's are not the subject's
			}
			side.Served = agreement.Handler()
		}
	}
	under.Handler = side
	return under
}

// command starts a handler of this package.
func (k *killer) command(id string) *subject.ResolvedCommand {
	return &subject.ResolvedCommand{Args: append(slices.Clone(k.Handler), id), Env: subject.Environment(os.Environ())}
}

// handlerFeatures is what the handler of the agreement claims.
func handlerFeatures() []string {
	return []string{"instructions", "fork", "session", "write-remote", "memory", "typed-events", "load", "encode", "tracing", "sdk-page"}
}
