package mutants

import (
	"context"
	"io"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeLineages feed parents and children otherwise than sections 11.1 and 11.2
// have.
func runtimeLineages() []Mutant {
	return []Mutant{
		{
			ID: "runtime/replays-own-forks", Requirement: "P11.1/not-replayed",
			Sentence: "The forks of the latest version are replayed to the session that wrote them.",
			Runtime: replayingForks(func(run running, at int64, e reference.LogEntry) bool {
				return e.Session == run.session && e.Version == at
			}),
		},
		{
			ID: "runtime/replays-inherited-forks", Requirement: "P11.2/sibling-forks",
			Sentence: "The fork records of ancestors are replayed, but for a child's own.",
			Runtime: replayingForks(func(run running, _ int64, e reference.LogEntry) bool {
				return e.Session != run.session && e.TargetSession != run.session
			}),
		},
		{
			ID: "runtime/takes-a-forks-body-for-old", Requirement: "P11.2/first-invocation",
			Sentence: "In a child's first invocation no entry is new.",
			Runtime:  firstOfChild(func(entry *protocol.Input) { entry.Event = "" }),
		},
		{
			ID: "runtime/takes-what-a-child-inherits-for-new", Requirement: "P11.2/first-invocation",
			Sentence: "In a child's first invocation every entry is new.",
			Runtime:  firstOfChild(func(entry *protocol.Input) { entry.Event = protocol.EventPush }),
		},
		{
			ID: "runtime/says-fork-in-every-invocation", Requirement: "P11.2/later-invocations",
			Sentence: "The lifecycle event of a child is fork in every invocation.",
			Runtime: around(func(run running, t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					manifest, err := run.Store.Manifest(ctx, run.session)
					if err != nil {
						return err
					}
					if manifest.Parent != nil {
						invocation.Inputs = restreamed(invocation.Inputs, func(all []protocol.Input) []protocol.Input {
							all[len(all)-1].Event = protocol.EventFork
							return all
						})
					}
					return t.Invoke(ctx, invocation)
				})
			}),
		},
		{
			ID: "runtime/shows-children-all-of-their-parent", Requirement: "P11.2/parent-visible",
			Sentence: "A child sees what its parent commits after the fork.",
			Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return following{b} }),
		},
		{
			ID: "runtime/shows-children-nothing-of-their-parent", Requirement: "P11.2/parent-visible",
			Sentence: "A child sees its own entries alone.",
			Runtime: around(func(run running, t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					inherited := 0
					for entry, err := range run.Log(ctx, run.session) {
						if err != nil {
							return err
						}
						if entry.Session != run.session && entry.Replayed() {
							inherited++
						}
					}
					invocation.Inputs = restreamed(invocation.Inputs, entriesOf(func(entries []protocol.Input) []protocol.Input {
						return entries[min(inherited, len(entries)):]
					}))
					return t.Invoke(ctx, invocation)
				})
			}),
		},
	}
}

// firstOfChild makes a runtime that changes the entries of a child's first invocation.
func firstOfChild(change func(*protocol.Input)) func() *stage.Reference {
	return gathered(func(all []protocol.Input) []protocol.Input {
		if all[len(all)-1].Event == protocol.EventFork {
			return entriesOf(func(entries []protocol.Input) []protocol.Input {
				for i := range entries {
					change(&entries[i])
				}
				return entries
			})(all)
		}
		return all
	})
}

// replayingForks makes a runtime that replays records of forks too, those that are wanted
// in an invocation on a version.
func replayingForks(wanted func(run running, at int64, e reference.LogEntry) bool) func() *stage.Reference {
	return around(func(run running, t reference.Transport) reference.Transport {
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			at := invocation.Identity.Snapshot
			var log []reference.LogEntry
			for entry, err := range run.Log(ctx, run.session) {
				if err != nil {
					return err
				}
				if entry.Session != run.session || entry.Version <= at {
					log = append(log, entry)
				}
			}
			var failed error
			invocation.Inputs = restreamed(invocation.Inputs, entriesOf(func(entries []protocol.Input) (list []protocol.Input) {
				for _, e := range log {
					switch {
					case e.Replayed() && len(entries) > 0:
						list, entries = append(list, entries[0]), entries[1:]
					case e.Fork && wanted(run, at, e):
						input, err := forkInput(ctx, run, e)
						if err != nil {
							failed = err
						}
						list = append(list, input)
					}
				}
				return append(list, entries...)
			}))
			if err := t.Invoke(ctx, invocation); err != nil {
				return err
			}
			return failed
		})
	})
}

// forkInput is the record of a fork as an Input, with its body inline.
func forkInput(ctx context.Context, run running, e reference.LogEntry) (protocol.Input, error) {
	input := protocol.Input{Name: e.Name, Size: e.Size, ContentType: e.ContentType, ContentEncoding: e.ContentEncoding, Metadata: e.Metadata}
	body, err := run.Body(ctx, e.DumpEntry)
	if err != nil {
		return input, err
	}
	defer body.Close()
	input.Data, err = io.ReadAll(io.LimitReader(body, storage.InlineLimit))
	return input, err
}

// following shows the manifests of children as if they branched off now.
type following struct{ storage.Bucket }

func (f following) Get(ctx context.Context, key string) (*storage.Object, error) {
	object, err := f.Bucket.Get(ctx, key)
	if _, file, ok := sessionOf(key); err != nil || !ok || file != manifestName {
		return object, err
	}
	defer object.Close()
	body, err := rewritten(object, func(m *manifestFile) (err error) {
		if m.Parent != nil {
			m.Parent.Version, err = (&storage.Store{Bucket: f.Bucket}).Version(ctx, m.Parent.Session)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &storage.Object{ReadCloser: io.NopCloser(body), Size: body.Size()}, nil
}
