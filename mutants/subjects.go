package mutants

import (
	"io"
	"os"
	"slices"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
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

// claimable is the cases that need no feature but these.
func claimable(cases []*casefile.Case, features []string) (kept []*casefile.Case) {
	for _, c := range cases {
		if !slices.ContainsFunc(c.Needs, func(need string) bool { return !slices.Contains(features, need) }) {
			kept = append(kept, c)
		}
	}
	return kept
}

// subject is a mutant, or a twin by the fields that the two share.
func (k *killer) subject(m Mutant) runner.Subject {
	under := runner.Subject{Name: m.ID}
	if m.Runtime != nil {
		ops := m.Runtime()
		under.Runtime = &runner.RuntimeSide{RuntimeSubject: stage.RuntimeSubject{Name: m.ID, Ops: ops}, Features: ops.Features()}
		return under
	}
	features := m.Features
	if len(features) == 0 {
		features = handlerFeatures()
	}
	side := &runner.HandlerSide{HandlerSubject: stage.HandlerSubject{Name: m.ID}, Features: features}
	for _, t := range orAll(m.Transports) {
		switch t {
		case protocol.TransportSubprocess:
			side.Subprocess = k.command(m.ID)
		case protocol.TransportRPC:
			side.RPC = k.command(m.ID)
		case protocol.TransportHTTP:
			agreement := m.Handler()
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
	return slices.DeleteFunc(spec.Features(spec.SideHandler), func(f string) bool { return f == "minimal-handler" })
}
