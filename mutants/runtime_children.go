package mutants

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeChildren give the children of forks other IDs, manifests and first entries
// than sections 11 and 15 have.
func runtimeChildren() []Mutant {
	return slices.Concat(runtimeChildIDs(), runtimeChildManifests(), runtimeFirstEntries())
}

func runtimeChildIDs() []Mutant {
	return []Mutant{
		{
			ID: "runtime/draws-every-child-id", Requirement: "P11/child-id",
			Sentence: "A child has an ID drawn at random, also where the Output names one.",
			Runtime:  forking(func(_ running, _ int, out *protocol.Output) { out.Session = "" }),
		},
		{
			ID: "runtime/derives-child-ids-from-bodies", Requirement: "P11/child-id",
			Sentence: "The ID of a child that the Output does not name is made of the parent's and the body's digest.",
			Runtime: forking(func(run running, _ int, out *protocol.Output) {
				if out.Session == "" {
					out.Session = digestID(run.session, string(out.Data))
				}
			}),
		},
		{
			ID: "runtime/numbers-children", Requirement: "P11/child-id",
			Sentence: "The ID of a child that the Output does not name is made of the parent's and of how many forks the invocation had.",
			Runtime: forking(func(run running, number int, out *protocol.Output) {
				if out.Session == "" {
					out.Session = digestID(run.session, fmt.Sprint(number))
				}
			}),
		},
		{
			ID: "runtime/takes-forks-without-a-session-id-for-entries", Requirement: "P11/child-id",
			Sentence: "A fork that names something else than a session ID is taken for an entry.",
			Runtime: forking(func(_ running, _ int, out *protocol.Output) {
				if out.Session != "" && storage.CheckSession(out.Session) != nil {
					out.Fork, out.Session = false, ""
				}
			}),
		},
	}
}

// forking makes a runtime that takes other forks than those that came; they are
// numbered from 1 in each invocation.
func forking(change func(run running, number int, out *protocol.Output)) func() *stage.Reference {
	return outgoing(func(_ context.Context, run running, _ reference.Invocation) taker {
		number := 0
		return taker{output: func(record protocol.Record[protocol.Output], route protocol.Route, next func(protocol.Record[protocol.Output]) error) error {
			if route.Kind == protocol.RouteFork {
				number++
				change(run, number, &record.Value)
			}
			return next(record)
		}}
	})
}

// digestID is a session ID made of texts.
func digestID(texts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", texts))
	return hex.EncodeToString(sum[:16])
}

func runtimeChildManifests() []Mutant {
	giving := func(id, requirement, sentence string, change func(at shelf, child *storage.Manifest) error) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return altered{Bucket: b, manifest: func(at shelf, m *storage.Manifest) error {
					if m.Parent == nil {
						return nil
					}
					return change(at, m)
				}}
			}),
		}
	}
	return []Mutant{
		giving("points-children-at-the-version-before", "P11.1/child-manifest",
			"A child's manifest points at the version before the one that records the fork.",
			func(_ shelf, child *storage.Manifest) error { child.Parent.Version--; return nil }),
		giving("points-children-nowhere", "P11.1/child-manifest",
			"A child's manifest has no parent.",
			func(_ shelf, child *storage.Manifest) error { child.Parent = nil; return nil }),
		giving("gives-children-their-parents-metadata", "S5/fork-metadata",
			"A child has its parent's metadata.",
			func(at shelf, child *storage.Manifest) error {
				parent, err := at.Manifest(context.Background(), child.Parent.Session)
				child.Metadata = parent.Metadata
				return err
			}),
		giving("gives-children-no-metadata", "S5/fork-metadata",
			"A child has no metadata.",
			func(_ shelf, child *storage.Manifest) error { child.Metadata = nil; return nil }),
		giving("gives-children-the-default-handler", "P15/inherited",
			"A child has no handler of its own, whatever its parent has.",
			func(_ shelf, child *storage.Manifest) error { child.Handler = ""; return nil }),
		giving("gives-children-no-agent", "P15/inherited",
			"A child has no agent, whatever its parent has.",
			func(_ shelf, child *storage.Manifest) error { child.Agent = ""; return nil }),
	}
}

func runtimeFirstEntries() []Mutant {
	beginning := func(id, requirement, sentence string, change func(at shelf, s *storage.Snapshot) error) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: altering(func(at shelf, s *storage.Snapshot) error {
				if !beginsChild(*s) {
					return nil
				}
				return change(at, s)
			}),
		}
	}
	return []Mutant{
		beginning("begins-children-empty", "P11/first-object",
			"The first snapshot of a child has no entry.",
			func(_ shelf, s *storage.Snapshot) error {
				s.Entries, s.Count = []storage.Entry{}, 0
				return nil
			}),
		beginning("cuts-the-bodies-of-forks", "P11/first-object",
			"Of a fork's body a child gets what can be inlined.",
			func(at shelf, s *storage.Snapshot) error {
				for i := range s.Entries {
					if err := cut(at.Store, &s.Entries[i]); err != nil {
						return err
					}
				}
				return nil
			}),
		beginning("begins-children-with-the-fork", "S5/child-first-entry",
			"A child's first entry is the record of the fork as it stands in the parent.",
			func(at shelf, s *storage.Snapshot) error {
				for i := range s.Entries {
					s.Entries[i].Fork, s.Entries[i].TargetSession = true, at.session
				}
				return nil
			}),
		beginning("begins-children-with-a-greeting", "S5/child-first-entry",
			"A child's first snapshot has an entry before the fork's body.",
			func(at shelf, s *storage.Snapshot) error {
				greeting, err := entryOf(context.Background(), at.Store, protocol.Output{Name: "forked", Data: []byte("from a fork")})
				s.Entries = append([]storage.Entry{greeting}, s.Entries...)
				renumber(s)
				return err
			}),
	}
}

// cut makes an entry of what fits inline of its body.
func cut(store *storage.Store, entry *storage.Entry) error {
	ctx := context.Background()
	whole, err := store.OpenBody(ctx, entry.Digest)
	if err != nil {
		return err
	}
	defer whole.Close()
	head, err := io.ReadAll(io.LimitReader(whole, storage.InlineLimit))
	if err != nil {
		return err
	}
	body, err := store.PutBody(ctx, bytes.NewReader(head))
	entry.Digest, entry.Size, entry.Data = body.Digest, body.Size, body.Data
	return err
}

// renumber numbers the entries of a snapshot, of which there are others than before.
func renumber(s *storage.Snapshot) {
	s.Count = int64(len(s.Entries))
	for i := range s.Entries {
		s.Entries[i].Sequence = s.Base + int64(i) + 1
	}
}
