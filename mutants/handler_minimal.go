package mutants

import (
	"context"
	"errors"
	"strings"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// handlerMinimal are smallest handlers that do not do what the page says.
func handlerMinimal() []Mutant {
	smallest := func(id, sentence string, wrong sdk) Mutant {
		m := offering(id, "K1/minimal-handler", sentence, wrong)
		m.Features = minimalFeatures()
		offered := m.Handler
		m.Handler = func() fakehandler.Agreement {
			a := offered()
			a.Code = fakehandler.Minimal
			return a
		}
		return m
	}
	return []Mutant{
		smallest("minimal-echoes-as-it-came", "The smallest handler echoes a text as it came.",
			sdk{write: func(out protocol.Output) []protocol.Output {
				if out.ContentType == typeJSON {
					out.Data = []byte(strings.Replace(string(out.Data), "HELLO", "hello", 1))
				}
				return []protocol.Output{out}
			}}),
		smallest("minimal-echoes-as-text", "The smallest handler writes its echo as text.",
			sdk{write: func(out protocol.Output) []protocol.Output { return []protocol.Output{as(typeJSON, typeText)(out)} }}),
		smallest("minimal-answers-the-first-entry", "The smallest handler answers the first entry in place of the last.",
			sdk{entries: func(s fakehandler.Session) []fakehandler.Entry {
				all := s.Entries()
				return all[:min(1, len(all))]
			}}),
		smallest("minimal-answers-pushes-only", "The smallest handler does not see an entry that is not tagged as a push.",
			sdk{entries: func(s fakehandler.Session) (pushed []fakehandler.Entry) {
				for _, e := range s.Entries() {
					if isPush(e) {
						pushed = append(pushed, e)
					}
				}
				return pushed
			}}),
		smallest("minimal-pauses-without-a-reason", "The smallest handler pauses without saying why.",
			sdk{write: func(out protocol.Output) []protocol.Output {
				if out.ContentType == protocol.TypePause {
					out.Data = nil
				}
				return []protocol.Output{out}
			}}),
		{
			ID: "handler/minimal-needs-an-entry", Requirement: "K1/minimal-handler", Features: minimalFeatures(),
			Sentence: "The smallest handler fails on a session without entries.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Code: func(ctx context.Context, s fakehandler.Session) error {
					if len(s.Entries()) == 0 {
						return errors.New("the last entry of an empty list")
					}
					return fakehandler.Minimal(ctx, s)
				}}
			},
		},
	}
}

// minimalFeatures is what the smallest handler of the page claims.
func minimalFeatures() []string { return []string{"minimal-handler", "sdk-page"} }
