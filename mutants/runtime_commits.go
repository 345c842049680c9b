package mutants

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// runtimeCommits commit versions otherwise than the S3 rules have.
func runtimeCommits() []Mutant {
	return slices.Concat(runtimeVersionSteps(), runtimeConflicts(), runtimeLeftovers(), runtimeTypes())
}

func runtimeVersionSteps() []Mutant {
	return []Mutant{
		{
			ID: "runtime/begins-at-version-one", Requirement: "S3/version-step",
			Sentence: "A new session has an empty snapshot.",
			Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return forward{b} }),
		},
		{
			ID: "runtime/keeps-only-the-latest-of-a-name", Requirement: "S3/append-only",
			Sentence: "An entry is taken out of its snapshot when another of its name is committed.",
			Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return compacting{&rewritable{Bucket: b}} }),
		},
		{
			ID: "runtime/commits-in-batches", Requirement: "S3/atomic-snapshot",
			Sentence: "What an invocation emitted is committed five entries a version.",
			Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return batching{b} }),
		},
		{
			ID: "runtime/commits-that-nothing-came", Requirement: "S3/no-output-no-snapshot",
			Sentence: "An invocation without entries commits an empty snapshot.",
			Runtime: outgoing(func(ctx context.Context, run running, _ reference.Invocation) taker {
				some := false
				return taker{
					output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
						some = some || route.Kind != protocol.RouteMemory && route.Kind != protocol.RouteNone
						return next(record)
					},
					ended: func(err error) error {
						if err == nil && !some {
							_, err = run.Store.Append(ctx, run.session, storage.Normal, nil)
						}
						return err
					},
				}
			}),
		},
	}
}

// forward begins root sessions with an empty snapshot.
type forward struct{ storage.Bucket }

func (f forward) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, file, ok := sessionOf(key)
	if !ok || file != manifestName {
		return f.Bucket.Put(ctx, key, body)
	}
	again, m, err := reread[manifestFile](body)
	if err != nil {
		return err
	}
	if err := f.Bucket.Put(ctx, key, again); err != nil || m.Parent != nil {
		return err
	}
	_, err = (&storage.Store{Bucket: f.Bucket}).Append(ctx, session, storage.Queueing, nil)
	return err
}

// compacting takes older entries of a name out of the snapshots that have them.
type compacting struct{ *rewritable }

func (c compacting) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, ok := snapshotOf(key)
	if !ok {
		return c.rewritable.Put(ctx, key, body)
	}
	again, s, err := reread[storage.Snapshot](body)
	if err != nil {
		return err
	}
	if err := c.rewritable.Put(ctx, key, again); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, entry := range s.Entries {
		names[entry.Name] = entry.Name != ""
	}
	for v := int64(1); v < s.Version; v++ {
		older := snapshotKey(session, v)
		object, err := c.Get(ctx, older)
		if err != nil {
			return err
		}
		changed, err := rewritten(object, func(s *storage.Snapshot) error {
			s.Entries = slices.DeleteFunc(s.Entries, func(e storage.Entry) bool { return names[e.Name] })
			return nil
		})
		if err := errors.Join(err, object.Close()); err != nil {
			return err
		}
		if err := c.replace(older, changed); err != nil {
			return err
		}
	}
	return nil
}

func snapshotKey(session string, version int64) string {
	return fmt.Sprintf("sessions/%s/snapshots/%020d.json", session, version)
}

// batching divides what an invocation commits.
type batching struct{ storage.Bucket }

const batch = 5

func (b batching) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, ok := snapshotOf(key)
	if !ok {
		return b.Bucket.Put(ctx, key, body)
	}
	again, s, err := reread[storage.Snapshot](body)
	if err != nil {
		return err
	}
	if !isOfInvocation(s) || len(s.Entries) <= batch {
		return b.Bucket.Put(ctx, key, again)
	}
	store := &storage.Store{Bucket: b.Bucket}
	stops := s.Controlled == s.Version
	for entries := range slices.Chunk(s.Entries, batch) {
		piece := storage.Snapshot{Head: s.Head, Entries: entries}
		if piece.Invoked = s.Version; stops {
			piece.Controlled = s.Version // of the pieces the last counts, which has the control message
		}
		err := store.Commit(ctx, session, piece)
		if errors.Is(err, storage.ErrConflict) {
			return storage.ErrExist
		}
		if err != nil {
			return err
		}
		s.Version++
		s.Memory = nil
	}
	return nil
}

func runtimeConflicts() []Mutant {
	conflicting := func(id, requirement, sentence string, wait time.Duration, of func(storage.Snapshot) bool,
		meets func(ctx context.Context, c clash) error) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return conflicted{rewritable: &rewritable{Bucket: b}, wait: wait, of: of, meets: meets}
			}),
		}
	}
	replaces := func(_ context.Context, c clash) error { return c.in.replace(c.key, c.body) }
	isPush := func(s storage.Snapshot) bool { return s.Type == storage.Queueing }
	return []Mutant{
		conflicting("overwrites-what-came-meanwhile", "S3/optimistic-commit",
			"An invocation's snapshot takes the place of one that came while the handler ran.",
			0, isOfInvocation, replaces),
		conflicting("overwrites-other-pushes", "S3/optimistic-commit",
			"Of pushes at the same time the last takes the place of the others.",
			raceTime, isPush, replaces),
		conflicting("leaves-a-hole-for-each-conflict", "S3/version-step",
			"A push that meets another takes the version after the next, and nothing is left in between.",
			raceTime, isPush, func(ctx context.Context, c clash) error {
				_, err := c.store.Append(ctx, c.session, storage.Queueing, nil)
				return errors.Join(storage.ErrExist, err)
			}),
		conflicting("drops-outputs-that-conflict", "S3/conflict-loses-nothing",
			"What a handler emitted is lost when something came while it ran.",
			0, isOfInvocation, func(context.Context, clash) error { return nil }),
		conflicting("keeps-outputs-of-every-attempt", "S3/conflict-loses-nothing",
			"What a handler emitted is committed behind what came while it ran, and the handler is invoked again.",
			0, isOfInvocation, func(ctx context.Context, c clash) error {
				_, err := c.store.Append(ctx, c.session, storage.Normal, c.snapshot.Entries)
				return errors.Join(storage.ErrExist, err)
			}),
	}
}

// raceTime is how long a commit is delayed, so that commits at the same time meet.
const raceTime = 30 * time.Millisecond

// clash is a commit of a version that is taken.
type clash struct {
	in       *rewritable
	store    *storage.Store
	session  string
	key      string
	body     io.Reader
	snapshot storage.Snapshot
}

// conflicted does something else about conflicts of certain commits.
type conflicted struct {
	*rewritable
	wait  time.Duration
	of    func(storage.Snapshot) bool
	meets func(context.Context, clash) error
}

func (c conflicted) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, ok := snapshotOf(key)
	if !ok {
		return c.rewritable.Put(ctx, key, body)
	}
	again, s, err := reread[storage.Snapshot](body)
	if err != nil {
		return err
	}
	if !c.of(s) {
		return c.rewritable.Put(ctx, key, again)
	}
	time.Sleep(c.wait)
	err = c.rewritable.Put(ctx, key, again)
	if !errors.Is(err, storage.ErrExist) {
		return err
	}
	if _, err := again.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return c.meets(ctx, clash{c.rewritable, &storage.Store{Bucket: c.rewritable}, session, key, again, s})
}
