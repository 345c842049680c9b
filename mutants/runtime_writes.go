package mutants

import (
	"context"
	"errors"
	"io"
	"slices"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeWrites bring writes to other sessions elsewhere than section 12 has, at
// another time, or more or less often.
func runtimeWrites() []Mutant {
	return slices.Concat(runtimeTargets(), runtimeSources(), runtimeDeliveries(), runtimeSenders())
}

// pass is a taker's step to the next.
type pass = func(protocol.Record[protocol.Output]) error

func runtimeTargets() []Mutant {
	return []Mutant{
		{
			ID: "runtime/writes-to-others-as-normal", Requirement: "P12/provisional",
			Sentence: "What comes from another session is a normal snapshot.",
			Runtime: altering(func(_ shelf, s *storage.Snapshot) error {
				if s.Source != nil {
					s.Type = storage.Normal
				}
				return nil
			}),
		},
		{
			ID: "runtime/writes-to-the-first-target", Requirement: "P12/provisional",
			Sentence: "All writes of an invocation go to the session that the first of them names.",
			Runtime: outgoing(func(context.Context, running, reference.Invocation) taker {
				first := ""
				return taker{output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
					if route.Kind == protocol.RouteSession {
						if first == "" {
							first = route.Session
						}
						record.Value.Session = first
					}
					return next(record)
				}}
			}),
		},
		{
			ID: "runtime/keeps-what-has-no-target", Requirement: "P12/provisional",
			Sentence: "A write to a session that does not exist becomes an entry of the writer.",
			Runtime: outgoing(func(ctx context.Context, run running, _ reference.Invocation) taker {
				return taker{output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
					if route.Kind == protocol.RouteSession {
						if _, err := run.Store.Manifest(ctx, route.Session); err != nil {
							record.Value.Session = ""
						}
					}
					return next(record)
				}}
			}),
		},
	}
}

func runtimeSources() []Mutant {
	stamping := func(id, requirement, sentence string, change func(at shelf, e *storage.Entry)) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: altering(func(at shelf, s *storage.Snapshot) error {
				for i := range s.Entries {
					if s.Source != nil {
						change(at, &s.Entries[i])
					}
				}
				return nil
			}),
		}
	}
	return []Mutant{
		stamping("names-no-source", "P12/source",
			"What comes from another session does not say from where.",
			func(_ shelf, e *storage.Entry) { e.SourceSession, e.SourceVersion = "", 0 }),
		stamping("names-no-source-version", "P12/source",
			"What comes from another session says from which, and not from which version of it.",
			func(_ shelf, e *storage.Entry) { e.SourceVersion = 0 }),
		stamping("names-the-target-as-source", "S6/source-pair",
			"What comes from another session carries the ID of the session that it came to.",
			func(at shelf, e *storage.Entry) { e.SourceSession = at.session }),
	}
}

func runtimeDeliveries() []Mutant {
	return []Mutant{
		{
			ID: "runtime/delivers-again-in-each-run", Requirement: "P12/idempotent",
			Sentence: "The writes of the latest version are delivered by each run of the writer.",
			Runtime: begun(func(run running, _ *reference.RunOptions) {
				ctx := context.Background()
				version, err := run.Store.Version(ctx, run.session)
				if err != nil || version == 0 {
					return
				}
				for entry, err := range run.Store.Entries(ctx, run.session, version) {
					if err != nil || entry.Fork || entry.TargetSession == "" {
						continue
					}
					target := entry.TargetSession
					entry.TargetSession, entry.TargetVersion = "", 0
					entry.SourceSession, entry.SourceVersion = run.session, version
					_, _ = run.Store.Append(ctx, target, storage.Provisional, []storage.Entry{entry})
				}
			}),
		},
		{
			ID: "runtime/delivers-once-a-writer", Requirement: "P12/idempotent",
			Sentence: "A target that has a write of a session gets no other of that session.",
			Runtime:  skipping(func(a, b storage.Version) bool { return a.Session == b.Session }),
		},
		{
			ID: "runtime/delivers-once-a-version", Requirement: "S6/idempotent",
			Sentence: "A target that has a write of a version gets none of the same version of another session.",
			Runtime:  skipping(func(a, b storage.Version) bool { return a.Version == b.Version }),
		},
		{
			ID: "runtime/delivers-one-write-a-source", Requirement: "S6/idempotent",
			Sentence: "Of several writes of an invocation to one session the first is delivered.",
			Runtime: altering(func(_ shelf, s *storage.Snapshot) error {
				if s.Source != nil && len(s.Entries) > 1 {
					s.Entries = s.Entries[:1]
					renumber(s)
				}
				return nil
			}),
		},
		{
			ID: "runtime/delivers-before-the-commit", Requirement: "S6/idempotent",
			Sentence: "Writes are delivered before the writer's commit, and again when that meets a conflict.",
			Runtime: outgoing(func(ctx context.Context, run running, invocation reference.Invocation) taker {
				var writes []storage.Entry
				source := storage.Version{Session: run.session, Version: invocation.Identity.Snapshot + 1}
				return taker{
					output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
						if _, err := run.Store.Manifest(ctx, route.Session); route.Kind != protocol.RouteSession || err != nil {
							return next(record)
						}
						entry, err := entryOf(ctx, run.Store, record.Value)
						entry.TargetSession = route.Session
						writes = append(writes, entry)
						return err
					},
					ended: func(err error) error {
						if err != nil {
							return err
						}
						return deliver(ctx, run.Store, source, writes)
					},
				}
			}),
		},
	}
}

// deliver brings writes to their targets, those to one target together.
func deliver(ctx context.Context, store *storage.Store, source storage.Version, writes []storage.Entry) error {
	for len(writes) > 0 {
		target := writes[0].TargetSession
		var here, others []storage.Entry
		for _, entry := range writes {
			if entry.TargetSession == target {
				here = append(here, entry)
			} else {
				others = append(others, entry)
			}
		}
		if _, err := store.Deliver(ctx, target, source, 0, here); err != nil {
			return err
		}
		writes = others
	}
	return nil
}

func runtimeSenders() []Mutant {
	return []Mutant{
		{
			ID: "runtime/pauses-after-writes-to-others", Requirement: "P12/no-implicit-pause",
			Sentence: "An invocation that wrote to other sessions and has no entry of its own pauses its session.",
			Runtime: outgoing(func(_ context.Context, _ running, invocation reference.Invocation) taker {
				wrote, local, paused := false, false, false
				return taker{
					output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
						wrote = wrote || route.Kind == protocol.RouteSession
						local = local || route.Kind == protocol.RouteLocal
						paused = paused || route.Kind == protocol.RoutePause
						return next(record)
					},
					ended: func(err error) error {
						if err != nil || !wrote || local || paused {
							return err
						}
						return invocation.Output(protocol.Record[protocol.Output]{Value: protocol.Output{ContentType: protocol.TypePause}})
					},
				}
			}),
		},
		{
			ID: "runtime/ends-with-a-write-to-another-session", Requirement: "P12/continues",
			Sentence: "What a handler emits after a write to another session is lost.",
			Runtime: outgoing(func(context.Context, running, reference.Invocation) taker {
				over := false
				return taker{output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
					if over {
						return nil
					}
					over = route.Kind == protocol.RouteSession
					return next(record)
				}}
			}),
		},
		{
			ID: "runtime/refuses-writes-to-oneself", Requirement: "P12/self",
			Sentence: "An Output that names its own session fails the invocation.",
			Runtime: toOneself(func() error {
				return &reference.InvocationError{Reason: reference.ReasonOutput, Err: errors.New("a write to the own session")}
			}),
		},
		{
			ID: "runtime/loses-writes-to-oneself", Requirement: "P12/self",
			Sentence: "An Output that names its own session is lost.",
			Runtime:  toOneself(func() error { return nil }),
		},
		{
			ID: "runtime/takes-oneself-for-a-source", Requirement: "P12/self",
			Sentence: "An Output that names its own session becomes an entry that comes from there.",
			Runtime:  marksOneself,
		},
	}
}

// toOneself makes a runtime that does something else with Outputs that name their own
// session.
func toOneself(do func() error) func() *stage.Reference {
	return outgoing(func(_ context.Context, run running, _ reference.Invocation) taker {
		return taker{output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
			if route.Kind == protocol.RouteLocal && record.Value.Session == run.session {
				return do()
			}
			return next(record)
		}}
	})
}

// marksOneself stamps the source on what names its own session. A mark in the metadata
// tells the bucket which entries these are, and goes no further.
func marksOneself() *stage.Reference {
	const mark = "\x00own"
	r := outgoing(func(_ context.Context, run running, _ reference.Invocation) taker {
		return taker{output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
			if route.Kind == protocol.RouteLocal && record.Value.Session == run.session {
				marked := map[string]string{mark: ""}
				for k, v := range record.Value.Metadata {
					marked[k] = v
				}
				record.Value.Metadata = marked
			}
			return next(record)
		}}
	})()
	r.Bucket = altering(func(at shelf, s *storage.Snapshot) error {
		for i := range s.Entries {
			e := &s.Entries[i]
			if _, marked := e.Metadata[mark]; marked {
				delete(e.Metadata, mark)
				e.SourceSession, e.SourceVersion = at.session, s.Version
			}
		}
		return nil
	})().Bucket
	return r
}

// skipping makes a runtime that leaves a delivery out when the target has one with a
// source that counts as the same.
func skipping(same func(a, b storage.Version) bool) func() *stage.Reference {
	return keeping(func(b storage.Bucket) storage.Bucket { return skips{b, same} })
}

type skips struct {
	storage.Bucket
	same func(a, b storage.Version) bool
}

func (k skips) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, ok := snapshotOf(key)
	if !ok {
		return k.Bucket.Put(ctx, key, body)
	}
	again, s, err := reread[storage.Snapshot](body)
	if err != nil {
		return err
	}
	store := &storage.Store{Bucket: k.Bucket}
	for v := int64(1); s.Source != nil && v < s.Version; v++ {
		head, err := store.Head(ctx, session, v)
		if err != nil {
			return err
		}
		if head.Source != nil && k.same(*head.Source, *s.Source) {
			return nil
		}
	}
	return k.Bucket.Put(ctx, key, again)
}
