package mutants

import (
	"context"
	"errors"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// runtimeLeftovers let what a failed invocation emitted take effect, one kind each.
func runtimeLeftovers() []Mutant {
	leaving := func(id, sentence string, kind protocol.RouteKind, leave func(ctx context.Context, run running, entries []storage.Entry) error) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: "S3/failed-leaves-nothing", Sentence: sentence,
			// Over HTTP the status comes first, and nothing is read of what it fails.
			Transports: []string{protocol.TransportSubprocess},
			Runtime: outgoing(func(ctx context.Context, run running, _ reference.Invocation) taker {
				var left []storage.Entry
				return taker{
					output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
						if route.Kind == kind {
							entry, err := entryOf(ctx, run.Store, record.Value)
							if err != nil {
								return err
							}
							entry.TargetSession = route.Session
							left = append(left, entry)
						}
						return next(record)
					},
					ended: func(err error) error {
						if err != nil && len(left) > 0 {
							return errors.Join(err, leave(ctx, run, left))
						}
						return err
					},
				}
			}),
		}
	}
	return []Mutant{
		leaving("makes-children-of-failures", "The children of a failed invocation's forks are made.",
			protocol.RouteFork, func(ctx context.Context, run running, forks []storage.Entry) error {
				version, err := run.Store.Version(ctx, run.session)
				for _, fork := range forks {
					child := storage.Manifest{Session: fork.TargetSession, Parent: &storage.Version{Session: run.session, Version: version}}
					fork.TargetSession = ""
					if _, _, createErr := run.Store.CreateSession(ctx, child); createErr != nil {
						return createErr
					}
					if _, err = run.Store.Append(ctx, child.Session, storage.Normal, []storage.Entry{fork}); err != nil {
						return err
					}
				}
				return err
			}),
		leaving("delivers-writes-of-failures", "What a failed invocation wrote to other sessions is delivered.",
			protocol.RouteSession, func(ctx context.Context, run running, writes []storage.Entry) error {
				version, err := run.Store.Version(ctx, run.session)
				return errors.Join(err, deliver(ctx, run.Store, storage.Version{Session: run.session, Version: version + 1}, writes))
			}),
		leaving("keeps-memory-of-failures", "What a failed invocation wrote to memory is there.",
			protocol.RouteMemory, func(ctx context.Context, run running, writes []storage.Entry) error {
				for _, entry := range writes {
					namespace, object, _ := protocol.SplitMemoryName(entry.Name)
					entry.Name = object
					if err := run.Store.WriteMemory(ctx, namespace, nil, 0, []storage.Entry{entry}); err != nil {
						return err
					}
				}
				return nil
			}),
	}
}

func runtimeTypes() []Mutant {
	calling := func(id, sentence string, is func(storage.Snapshot) bool, kind storage.SnapshotType) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: "S3/types", Sentence: sentence,
			Runtime: altering(func(_ shelf, s *storage.Snapshot) error {
				if is(*s) {
					s.Type = kind
				}
				return nil
			}),
		}
	}
	return []Mutant{
		calling("calls-pushes-normal", "What is pushed is a normal snapshot.",
			func(s storage.Snapshot) bool { return s.Type == storage.Queueing }, storage.Normal),
		calling("calls-writes-of-others-queueing", "What comes from another session is a queueing snapshot.",
			func(s storage.Snapshot) bool { return s.Type == storage.Provisional }, storage.Queueing),
		calling("calls-invocations-provisional", "What an invocation commits is a provisional snapshot.",
			isOfInvocation, storage.Provisional),
	}
}
