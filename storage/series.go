package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// series is a row of files, versions 1, 2, 3 and so on, each committed by
// create-if-absent: the snapshots of a session, or a memory namespace.
type series struct {
	store  *Store
	prefix string
}

// version returns the highest version there is, 0 for none. It looks at every
// key, whatever the order of the listing. A version that is missing from the
// listing because it was committed meanwhile shows up as a conflict later.
func (s series) version(ctx context.Context) (int64, error) {
	var highest int64
	for key, err := range s.store.Bucket.List(ctx, s.prefix) {
		if errors.Is(err, ErrInvalidKey) {
			return 0, err // it is about the name that the prefix is made of, which the caller knows
		}
		if err != nil {
			return 0, fmt.Errorf("listing %s: %w", s.prefix, err)
		}
		if version, ok := versionOf(s.prefix, key); ok {
			highest = max(highest, version)
		}
	}
	return highest, nil
}

// commit stores snapshot as its version, numbering its entries on from the
// version before. The error is [ErrConflict] if the version is taken.
func (s series) commit(ctx context.Context, snapshot Snapshot) error {
	if snapshot.Version < 1 {
		return fmt.Errorf("committing %s: version %d is below 1", s.prefix, snapshot.Version)
	}
	if snapshot.Version > 1 {
		before, err := s.head(ctx, snapshot.Version-1)
		if err != nil {
			return fmt.Errorf("committing version %d of %s: %w", snapshot.Version, s.prefix, err)
		}
		snapshot.Base = before.Base + before.Count
		snapshot.Settled = max(snapshot.Settled, before.Settled)
		snapshot.Invoked = max(snapshot.Invoked, before.Invoked)
		snapshot.Controlled = max(snapshot.Controlled, before.Controlled)
	}
	snapshot.Commit = s.store.token()
	snapshot.Count = int64(len(snapshot.Entries))
	numbered := make([]Entry, len(snapshot.Entries))
	for i, entry := range snapshot.Entries {
		entry.Sequence = snapshot.Base + int64(i) + 1
		numbered[i] = entry
	}
	snapshot.Entries = numbered
	err := s.store.createJSON(ctx, versionKey(s.prefix, snapshot.Version), snapshot)
	if errors.Is(err, ErrExist) {
		return fmt.Errorf("committing version %d of %s: %w", snapshot.Version, s.prefix, ErrConflict)
	}
	return err
}

// append commits snapshot as the next version, whichever that is, and returns
// the version. If snapshot has a source, versions after the given one are
// searched for it first, and nothing is written if it is there
// (S6/idempotent): written is then false. Every version is searched before the
// next one is tried, so that of several concurrent deliverers one writes.
func (s series) append(ctx context.Context, snapshot Snapshot, after int64) (version int64, written bool, err error) {
	for searched := after; ; {
		current, err := s.version(ctx)
		if err != nil {
			return 0, false, err
		}
		for ; snapshot.Source != nil && searched < current; searched++ {
			head, err := s.head(ctx, searched+1)
			if err != nil {
				return 0, false, err
			}
			if head.Source != nil && *head.Source == *snapshot.Source {
				return head.Version, false, nil
			}
		}
		snapshot.Version = current + 1
		err = s.commit(ctx, snapshot)
		if err == nil {
			return snapshot.Version, true, nil
		}
		if !errors.Is(err, ErrConflict) {
			return 0, false, err
		}
	}
}

func (s series) head(ctx context.Context, version int64) (Head, error) {
	reader, err := s.open(ctx, version)
	if err != nil {
		return Head{}, err
	}
	return reader.Head, reader.Close()
}

// open reads one version up to the beginning of its entries, which stand last
// in the file.
func (s series) open(ctx context.Context, version int64) (*SnapshotReader, error) {
	key := versionKey(s.prefix, version)
	object, err := s.store.Bucket.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	reader := &SnapshotReader{key: key, object: object, decoder: jsontext.NewDecoder(object)}
	err = decodeHead(reader.decoder, &reader.Head)
	if err == nil && reader.Version != version {
		err = fmt.Errorf("%w: it says version %d", errShape, reader.Version)
	}
	if err != nil {
		_ = object.Close()
		return nil, unreadable(key, err)
	}
	return reader, nil
}

// errShape says that a file is JSON, and not that of a snapshot.
var errShape = errors.New("no snapshot")

// unreadable tells a file that is damaged from one that could not be fetched whole.
func unreadable(key string, err error) error {
	var syntax *jsontext.SyntacticError
	var semantics *json.SemanticError
	switch {
	case err == io.EOF, // an empty file; a body that is cut short on its way is another error
		errors.As(err, &syntax), errors.As(err, &semantics), errors.Is(err, errShape):
		return damaged(key, err)
	default:
		return fmt.Errorf("reading %s: %w", key, err)
	}
}

// SnapshotReader is a snapshot whose entries are read one at a time, so that a
// snapshot of any length is read in flat memory. Close it when done.
type SnapshotReader struct {
	Head
	key     string
	object  *Object
	decoder *jsontext.Decoder
}

// Entries yields the entries that the snapshot added, in descriptor order. It can
// be ranged over once. An error ends it.
func (r *SnapshotReader) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for r.decoder.PeekKind() == '{' {
			var entry Entry
			if err := json.UnmarshalDecode(r.decoder, &entry); err != nil {
				yield(Entry{}, unreadable(r.key, err))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
		// What follows is the end of the array, or what is wrong with it.
		if _, err := r.decoder.ReadToken(); err != nil {
			yield(Entry{}, unreadable(r.key, err))
		}
	}
}

// Close frees the snapshot.
func (r *SnapshotReader) Close() error { return r.object.Close() }

// decodeHead reads the fields that stand before "entries" and the bracket that
// opens it.
func decodeHead(decoder *jsontext.Decoder, head *Head) error {
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	fields := map[string]any{
		"version":    &head.Version,
		"type":       &head.Type,
		"commit":     &head.Commit,
		"base":       &head.Base,
		"count":      &head.Count,
		"settled":    &head.Settled,
		"invoked":    &head.Invoked,
		"controlled": &head.Controlled,
		"source":     &head.Source,
		"memory":     &head.Memory,
	}
	for {
		name, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		switch field, known := fields[name.String()]; {
		case name.Kind() != '"':
			return fmt.Errorf("%w: no entries", errShape)
		case name.String() == "entries":
			_, err := decoder.ReadToken()
			return err
		case known:
			if err := json.UnmarshalDecode(decoder, field); err != nil {
				return err
			}
		default:
			if err := decoder.SkipValue(); err != nil {
				return err
			}
		}
	}
}
