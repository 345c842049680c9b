package reference

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// located is an entry and where it stands.
type located struct {
	storage.Entry
	// In is the snapshot that added the entry.
	In storage.Version
	// Type is the snapshot's.
	Type storage.SnapshotType
}

// replayed reports whether handlers are fed the entry: not a control message
// (P4.2/no-control), not the record of a fork, of whichever session
// (P4.2/no-pending-forks, P11.1/not-replayed, P11.2/sibling-forks, reading R39), and not the record of a
// write to another session (reading R23).
func (l located) replayed() bool {
	return !protocol.IsControl(l.ContentType) && !l.Fork && l.TargetSession == ""
}

// chain returns the parts that a session's log consists of, oldest first: the
// ancestors up to where each branched off (P11.2/parent-visible), then the session up
// to version (P4.2/log-order).
func (r *Runtime) chain(ctx context.Context, manifest storage.Manifest, version int64) ([]storage.Version, error) {
	parts := []storage.Version{{Session: manifest.Session, Version: version}}
	seen := map[string]bool{manifest.Session: true}
	for parent := manifest.Parent; parent != nil; {
		if seen[parent.Session] {
			return nil, fmt.Errorf("session %s is its own ancestor", parent.Session)
		}
		seen[parent.Session] = true
		parts = append(parts, *parent)
		ancestor, err := r.Store.Manifest(ctx, parent.Session)
		if err != nil {
			return nil, fmt.Errorf("ancestors of session %s: %w", manifest.Session, err)
		}
		parent = ancestor.Parent
	}
	slices.Reverse(parts)
	return parts, nil
}

// entries yields every entry of the parts, in order, holding one at a time.
func (r *Runtime) entries(ctx context.Context, parts []storage.Version) iter.Seq2[located, error] {
	return func(yield func(located, error) bool) {
		for _, part := range parts {
			for version := int64(1); version <= part.Version; version++ {
				if !r.yieldSnapshot(ctx, storage.Version{Session: part.Session, Version: version}, yield) {
					return
				}
			}
		}
	}
}

// yieldSnapshot yields the entries of one snapshot; false ends the iteration.
func (r *Runtime) yieldSnapshot(ctx context.Context, at storage.Version, yield func(located, error) bool) bool {
	reader, err := r.Store.OpenSnapshot(ctx, at.Session, at.Version)
	if err != nil {
		yield(located{}, err)
		return false
	}
	defer reader.Close()
	for entry, err := range reader.Entries() {
		if !yield(located{Entry: entry, In: at, Type: reader.Type}, err) || err != nil {
			return false
		}
	}
	return true
}
