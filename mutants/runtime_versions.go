package mutants

import (
	"context"
	"iter"
	"slices"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeVersions feed parts of versions, and commit others than the next (section
// 1), or feed what section 4.2 filters out.
func runtimeVersions() []Mutant {
	replay := func(id, requirement, sentence string, change func(context.Context, *past) error) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: func() *stage.Reference { return feedingPast(change) },
		}
	}
	return []Mutant{
		{
			ID: "runtime/feeds-what-comes-meanwhile", Requirement: "P1/whole-snapshot",
			Sentence: "An entry that arrives while the input is written is fed with the others.",
			Runtime:  func() *stage.Reference { return carried(withArrivals) },
		},
		replay("feeds-half-of-the-latest-version", "P1/whole-snapshot",
			"Of a version with several entries the last ones are not there yet when it is fed.", func(_ context.Context, p *past) error {
				from := p.latest()
				cut := from + (len(p.log)-from+1)/2
				for i := cut; i < len(p.log); i++ {
					p.log[i].input = nil
				}
				return nil
			}),
		{
			ID: "runtime/makes-a-version-of-each-output", Requirement: "P1/next-version",
			Sentence: "Each Output becomes a version of its own.",
			Runtime: func() *stage.Reference {
				return committing(func(_ context.Context, c commit) ([]storage.Snapshot, error) {
					if !c.isInvocations() {
						return []storage.Snapshot{c.Snapshot}, nil
					}
					return oneEntryEach(c.Snapshot), nil
				})
			},
		},
		{
			ID: "runtime/makes-a-version-of-the-beginning", Requirement: "P1/next-version",
			Sentence: "The beginning of an invocation is a version without entries, and its outputs are the one after.",
			Runtime: func() *stage.Reference {
				return committing(func(_ context.Context, c commit) ([]storage.Snapshot, error) {
					refers := slices.ContainsFunc(c.Entries, func(e storage.Entry) bool { return e.TargetSession != "" })
					if !c.isInvocations() || refers || len(c.Memory) > 0 {
						return []storage.Snapshot{c.Snapshot}, nil
					}
					begun := c.Snapshot
					begun.Entries, begun.Controlled = nil, 0
					return []storage.Snapshot{begun, c.Snapshot}, nil
				})
			},
		},
		replay("replays-control-messages", "P4.2/no-control",
			"Control messages are replayed.", withHidden(func(_ past, l logged) bool { return l.Control != nil })),
		replay("replays-control-messages-of-ancestors", "P4.2/no-control",
			"The control messages that a child inherits are replayed.", withHidden(func(p past, l logged) bool {
				return l.Control != nil && l.Session != p.session
			})),
		replay("replays-pending-forks", "P4.2/no-pending-forks",
			"The fork records of the latest snapshot are replayed.", withHidden(func(p past, l logged) bool {
				return l.Fork && l.Session == p.session && l.Version == p.version
			})),
		replay("replays-sibling-forks", "P11.2/sibling-forks",
			"A child is fed the fork records of its parent that are for other children.", withHidden(func(p past, l logged) bool {
				return l.Fork && l.Session != p.session && l.TargetSession != p.session
			})),
		{
			ID: "runtime/ends-with-two-lifecycle-events", Requirement: "P4.2/lifecycle-once",
			Sentence: "The lifecycle event comes twice.",
			Runtime: gathered(func(all []protocol.Input) []protocol.Input {
				return append(all, all[len(all)-1])
			}),
		},
		{
			ID: "runtime/begins-with-a-lifecycle-event-too", Requirement: "P4.2/lifecycle-once",
			Sentence: "The lifecycle event stands behind the memory announcement, and again at the end.",
			Runtime: gathered(func(all []protocol.Input) []protocol.Input {
				return slices.Insert(all, 1, all[len(all)-1])
			}),
		},
	}
}

// oneEntryEach is a snapshot as several of one entry each. What takes effect with it
// goes with the first.
func oneEntryEach(s storage.Snapshot) (list []storage.Snapshot) {
	for i, entry := range s.Entries {
		one := s
		one.Entries = []storage.Entry{entry}
		if i > 0 {
			one.Memory = nil
		}
		if !protocol.IsControl(entry.ContentType) && one.Controlled == one.Version {
			one.Controlled = 0
		}
		list = append(list, one)
	}
	return list
}

// withArrivals feeds what has come by the end of the replay.
func withArrivals(ctx context.Context, by carrier, invocation reference.Invocation) error {
	inputs, session := invocation.Inputs, invocation.Identity.Session
	invocation.Inputs = func(yield func(protocol.Input, error) bool) {
		next, stop := iter.Pull2(inputs)
		defer stop()
		var held *protocol.Input
		for {
			input, err, more := next()
			if !more {
				break
			}
			if held != nil && !yield(*held, nil) {
				return
			}
			if err != nil {
				yield(input, err)
				return
			}
			held = &input
		}
		for entry, err := range by.engine.Log(ctx, session) {
			if err == nil && (entry.Session != session || entry.Version <= invocation.Identity.Snapshot || !entry.Replayed()) {
				continue
			}
			in, err := inputOf(ctx, by.engine, entry, err)
			if !yield(in, err) || err != nil {
				return
			}
		}
		yield(*held, nil)
	}
	return by.Invoke(ctx, invocation)
}

// inputOf is the Input of an entry, with its body inside.
func inputOf(ctx context.Context, engine *reference.Runtime, entry reference.LogEntry, err error) (protocol.Input, error) {
	if err != nil {
		return protocol.Input{}, err
	}
	data, err := bodyOf(ctx, engine, entry)
	return protocol.Input{
		Name: entry.Name, Size: entry.Size, ContentType: entry.ContentType, ContentEncoding: entry.ContentEncoding,
		SchemaURL: entry.SchemaURL, Metadata: entry.Metadata, Data: data,
	}, err
}

// withHidden replays entries that are kept from handlers.
func withHidden(is func(past, logged) bool) func(context.Context, *past) error {
	return func(ctx context.Context, p *past) error {
		for i, l := range p.log {
			if l.input != nil || !is(*p, l) {
				continue
			}
			in, err := inputOf(ctx, p.engine, l.LogEntry, nil)
			if err != nil {
				return err
			}
			p.log[i].input = &in
		}
		return nil
	}
}
