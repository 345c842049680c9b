package mutants

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// childReadings make children, and show them their parents, otherwise than the
// reference.
func childReadings() []Twin {
	return []Twin{
		{
			ID: "runtime/ends-the-log-of-a-child-at-the-fork", Sentence: "A child sees its parent's log up to the fork's record, and not what follows in that snapshot (R40).",
			Runtime: func() *stage.Reference {
				return feedingPast(func(ctx context.Context, p *past) error {
					m, err := p.engine.Store.Manifest(ctx, p.session)
					if err != nil || m.Parent == nil {
						return err
					}
					at := p.first(0, func(l logged) bool { return l.Fork && l.TargetSession == p.session })
					for i := at; i < len(p.log); i++ {
						if l := p.log[i]; l.Session == m.Parent.Session && l.Version == m.Parent.Version {
							p.log[i].input = nil
						}
					}
					return nil
				})
			},
		},
		{
			ID: "runtime/points-children-at-the-latest-version", Sentence: "A child's parent pointer has the version that the parent had when the child was made (R40).",
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return altered{Bucket: b, manifest: func(at shelf, m *storage.Manifest) error {
					if m.Parent == nil {
						return nil
					}
					version, err := at.Version(context.Background(), m.Parent.Session)
					m.Parent = &storage.Version{Session: m.Parent.Session, Version: version}
					return err
				}}
			}),
		},
		{
			ID: "runtime/knows-forks-of-the-latest-snapshot", Sentence: "Forks of the latest snapshot are made and kept from the replay, and older ones are neither (R39).",
			Runtime: func() *stage.Reference {
				r := feedingPast(withHidden(func(p past, l logged) bool {
					return l.Fork && l.Session == p.session && l.Version < p.version
				}))
				r.Bucket = childless(func(parent storage.Snapshot, fork storage.Version) bool { return fork.Version < parent.Version })
				return r
			},
		},
		{
			ID: "runtime/leaves-the-forks-of-a-paused-parent", Sentence: "A run of a paused session returns at once, and makes no children (R38).",
			Without: []string{"R38"},
			Runtime: func() *stage.Reference {
				return &stage.Reference{Bucket: childless(pausedParents)}
			},
		},
	}
}

// pausedParents has the forks of a parent wait that is paused: its last entry says
// so, and has no time to start again.
func pausedParents(parent storage.Snapshot, _ storage.Version) bool {
	if parent.Controlled != parent.Version {
		return false
	}
	message, err := control(parent.Entries[len(parent.Entries)-1])
	return err == nil && message.StartAt.IsZero()
}

// childless opens buckets that take children whose making is to wait for stored. It
// is made again by each later run.
func childless(waits func(parent storage.Snapshot, fork storage.Version) bool) func(string) (storage.Bucket, error) {
	return keeping(func(b storage.Bucket) storage.Bucket { return waiting{b, waits} })().Bucket
}

type waiting struct {
	storage.Bucket
	waits func(parent storage.Snapshot, fork storage.Version) bool
}

func (w waiting) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, file, ok := sessionOf(key)
	if !ok {
		return w.Bucket.Put(ctx, key, body)
	}
	if _, err := w.Stat(ctx, strings.TrimSuffix(key, file)+manifestName); file != manifestName {
		if errors.Is(err, storage.ErrNotExist) {
			return nil // of a child that is not there yet
		}
		return w.Bucket.Put(ctx, key, body)
	}
	m, err := read[manifestFile](body)
	if err != nil {
		return err
	}
	if m.Parent != nil {
		store := &storage.Store{Bucket: w.Bucket}
		version, err := store.Version(ctx, m.Parent.Session)
		if err != nil {
			return err
		}
		var parent storage.Snapshot
		if parent.Head, err = store.Head(ctx, m.Parent.Session, version); err != nil {
			return fmt.Errorf("the parent of %s: %w", session, err)
		}
		for entry, err := range store.Entries(ctx, m.Parent.Session, version) {
			if err != nil {
				return fmt.Errorf("the parent of %s: %w", session, err)
			}
			parent.Entries = append(parent.Entries, entry)
		}
		if w.waits(parent, *m.Parent) {
			return nil
		}
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return w.Bucket.Put(ctx, key, body)
}
