package runner

import (
	"slices"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/stage"
)

// Subject is what a run puts to the test: a handler, a runtime, or both under one
// name.
type Subject struct {
	Name, Version string
	Handler       *HandlerSide
	Runtime       *RuntimeSide
}

// HandlerSide is a subject as a handler.
type HandlerSide struct {
	stage.HandlerSubject
	Features []string
}

// RuntimeSide is a subject as a runtime.
type RuntimeSide struct {
	stage.RuntimeSubject
	Features []string
}

// Kinds is which kinds of case the subject is put to.
func (s Subject) Kinds() (kinds []string) {
	if s.Handler != nil {
		kinds = append(kinds, casefile.KindHandler)
	}
	if s.Runtime != nil {
		kinds = append(kinds, casefile.KindRuntime)
	}
	return kinds
}

// transports is where the subject can be reached in its role for a kind of case.
func (s Subject) transports(kind string) (transports []string) {
	if kind == casefile.KindRuntime {
		if s.Runtime == nil {
			return nil
		}
		// Every runtime has the subprocess transport; the others are claims.
		transports = append(transports, protocol.TransportSubprocess)
		for _, t := range []string{protocol.TransportRPC, protocol.TransportHTTP} {
			if slices.Contains(s.Runtime.Features, t) {
				transports = append(transports, t)
			}
		}
		return transports
	}
	if s.Handler == nil {
		return nil
	}
	if s.Handler.Subprocess != nil {
		transports = append(transports, protocol.TransportSubprocess)
	}
	if s.Handler.RPC != nil {
		transports = append(transports, protocol.TransportRPC)
	}
	if s.Handler.HTTP != nil || s.Handler.Served != nil {
		transports = append(transports, protocol.TransportHTTP)
	}
	return transports
}

// isForeignService reports whether the subject's service on http is not started by
// the harness.
func (s Subject) isForeignService() bool {
	return s.Handler != nil && s.Handler.Served == nil && s.Handler.HTTP != nil && len(s.Handler.HTTP.Args) == 0
}

func (s Subject) features(kind string) []string {
	switch {
	case kind == casefile.KindHandler && s.Handler != nil:
		return s.Handler.Features
	case kind == casefile.KindRuntime && s.Runtime != nil:
		return s.Runtime.Features
	}
	return nil
}

// allTransports is the subject's transports in either role, for the report.
func (s Subject) allTransports() []string {
	all := append(s.transports(casefile.KindHandler), s.transports(casefile.KindRuntime)...)
	return unique(all, casefile.Transports())
}

func (s Subject) allFeatures() []string {
	all := append(slices.Clone(s.features(casefile.KindHandler)), s.features(casefile.KindRuntime)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// unique is the words of order that all has.
func unique(all, order []string) (kept []string) {
	for _, word := range order {
		if slices.Contains(all, word) {
			kept = append(kept, word)
		}
	}
	return kept
}

// Describe is the subject as the report shows it.
func (s Subject) Describe() result.Subject {
	return result.Subject{
		Name: s.Name, Kinds: s.Kinds(), Version: s.Version, Transports: s.allTransports(), Features: s.allFeatures(),
	}
}
