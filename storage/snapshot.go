package storage

import (
	"context"
	"fmt"
	"iter"
)

// Version returns the session's current version, 0 if it has no snapshot. A
// session that does not exist has version 0 as well.
func (s *Store) Version(ctx context.Context, session string) (int64, error) {
	if err := CheckSession(session); err != nil {
		return 0, err
	}
	return s.snapshots(session).version(ctx)
}

// Head loads a snapshot without its entries, or [ErrNotExist].
func (s *Store) Head(ctx context.Context, session string, version int64) (Head, error) {
	if err := CheckSession(session); err != nil {
		return Head{}, err
	}
	return s.snapshots(session).head(ctx, version)
}

// OpenSnapshot opens a snapshot for reading its entries one at a time, or
// [ErrNotExist].
func (s *Store) OpenSnapshot(ctx context.Context, session string, version int64) (*SnapshotReader, error) {
	if err := CheckSession(session); err != nil {
		return nil, err
	}
	return s.snapshots(session).open(ctx, version)
}

// Entries yields the entries that a snapshot added, in descriptor order, holding
// one at a time. An error ends the sequence.
func (s *Store) Entries(ctx context.Context, session string, version int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		reader, err := s.OpenSnapshot(ctx, session, version)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer reader.Close()
		reader.Entries()(yield)
	}
}

// Commit stores a snapshot as snapshot.Version, which must be the one after the
// current. The error is [ErrConflict] if another commit took that version
// (S3/optimistic-commit). Sequence numbers, Base, Count and Commit are assigned
// here; Settled, Invoked and Controlled never fall.
func (s *Store) Commit(ctx context.Context, session string, snapshot Snapshot) error {
	if err := CheckSession(session); err != nil {
		return err
	}
	return s.snapshots(session).commit(ctx, snapshot)
}

// Append commits entries as the session's next version, retrying on conflict
// (reading R13), and returns the version. The session must exist.
func (s *Store) Append(ctx context.Context, session string, kind SnapshotType, entries []Entry) (int64, error) {
	if _, err := s.Manifest(ctx, session); err != nil {
		return 0, err
	}
	snapshot := Snapshot{Head: Head{Type: kind}, Entries: entries}
	version, _, err := s.snapshots(session).append(ctx, snapshot, 0)
	return version, err
}

// Deliver writes entries of the snapshot source to session as one provisional
// snapshot (P12/provisional), unless a snapshot of it after the given version has that source
// already (P12/idempotent, S6/idempotent, reading R14); written tells which. It stamps
// the source on the entries (P12/source, S6/source-pair) and takes their target off. The session must exist.
func (s *Store) Deliver(ctx context.Context, session string, source Version, after int64, entries []Entry) (written bool, err error) {
	if _, err := s.Manifest(ctx, session); err != nil {
		return false, err
	}
	delivered := make([]Entry, len(entries))
	for i, entry := range entries {
		entry.TargetSession, entry.TargetVersion = "", 0
		entry.SourceSession, entry.SourceVersion = source.Session, source.Version
		delivered[i] = entry
	}
	snapshot := Snapshot{Head: Head{Type: Provisional, Source: &source}, Entries: delivered}
	_, written, err = s.snapshots(session).append(ctx, snapshot, after)
	if err != nil {
		return false, fmt.Errorf("delivering version %d of session %s to session %s: %w", source.Version, source.Session, session, err)
	}
	return written, nil
}

func (s *Store) snapshots(session string) series {
	return series{store: s, prefix: snapshotsPrefix(session)}
}
