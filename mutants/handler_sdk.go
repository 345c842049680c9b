package mutants

import (
	"slices"
	"strings"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// sdk is a session of which some calls are wrong. What is nil is right.
type sdk struct {
	fakehandler.Session
	// entries is given the session whose entries are read, so that it can look at
	// the events too.
	entries func(fakehandler.Session) []fakehandler.Entry
	events  func(fakehandler.Session) []fakehandler.Event
	latest  func(s fakehandler.Session, name string) (fakehandler.Entry, bool)
	// write is what is written in the place of an Output that code asked for, an
	// answer of the agreement aside.
	write func(protocol.Output) []protocol.Output
}

func (s *sdk) Entries() []fakehandler.Entry {
	if s.entries == nil {
		return s.Session.Entries()
	}
	return s.entries(s.Session)
}

func (s *sdk) Events() []fakehandler.Event {
	if s.events == nil {
		return s.Session.Events()
	}
	return s.events(s.Session)
}

func (s *sdk) Latest(name string) (fakehandler.Entry, bool) {
	if s.latest == nil {
		return s.Session.Latest(name)
	}
	return s.latest(s.Session, name)
}

func (s *sdk) Write(out protocol.Output) error {
	if s.write == nil || strings.HasPrefix(out.Name, "conform/") {
		return s.Session.Write(out)
	}
	for _, o := range s.write(out) {
		if err := s.Session.Write(o); err != nil {
			return err
		}
	}
	return nil
}

// offering makes a handler whose SDK is wrong.
func offering(id, requirement, sentence string, wrong sdk) Mutant {
	return Mutant{
		ID: "handler/" + id, Requirement: requirement, Sentence: sentence,
		Handler: func() fakehandler.Agreement {
			return fakehandler.Agreement{Session: func(s fakehandler.Session) fakehandler.Session {
				offered := wrong
				offered.Session = s
				return &offered
			}}
		},
	}
}

// giving makes a handler whose SDK gives its entries out changed, the instructions
// aside.
func giving(id, requirement, sentence string, change func(fakehandler.Entry) fakehandler.Entry) Mutant {
	return offering(id, requirement, sentence, sdk{entries: func(s fakehandler.Session) []fakehandler.Entry {
		entries := s.Entries()
		for i, e := range entries {
			if e.Name != fakehandler.NameInstructions {
				entries[i] = change(e)
			}
		}
		return entries
	}})
}

// losing makes a handler whose SDK does not give out some entries.
func losing(id, requirement, sentence string, lost func(all []fakehandler.Entry, at int) bool) Mutant {
	return offering(id, requirement, sentence, sdk{entries: func(s fakehandler.Session) (kept []fakehandler.Entry) {
		all := s.Entries()
		for i, e := range all {
			if e.Name == fakehandler.NameInstructions || !lost(all, i) {
				kept = append(kept, e)
			}
		}
		return kept
	}})
}

// emitting makes a handler whose SDK writes other Outputs than code asked for.
func emitting(id, requirement, sentence string, change func(protocol.Output) protocol.Output) Mutant {
	return offering(id, requirement, sentence, sdk{write: func(out protocol.Output) []protocol.Output {
		return []protocol.Output{change(out)}
	}})
}

// handlerSDKs are handlers whose SDK is wrong in what it offers to code.
func handlerSDKs() []Mutant {
	return slices.Concat(
		handlerReadings(), handlerBodies(), handlerLookups(), handlerEvents(), handlerValues(), handlerPauses(), handlerMinimal(),
	)
}
