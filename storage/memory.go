package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MemoryVersion returns the namespace's current version, 0 if it has none.
func (s *Store) MemoryVersion(ctx context.Context, namespace string) (int64, error) {
	if err := checkNamespace(namespace); err != nil {
		return 0, err
	}
	return s.memory(namespace).version(ctx)
}

// WriteMemory commits entries to a namespace as its next version, retrying on
// conflict so that of concurrent writers all land (S7/memory-commit). If source
// is not nil and a version after the given one came from it, nothing is written.
func (s *Store) WriteMemory(ctx context.Context, namespace string, source *Version, after int64, entries []Entry) error {
	for _, entry := range entries {
		if err := CheckMemoryName(namespace, entry.Name); err != nil {
			return err
		}
	}
	snapshot := Snapshot{Head: Head{Source: source}, Entries: entries}
	if _, _, err := s.memory(namespace).append(ctx, snapshot, after); err != nil {
		return fmt.Errorf("writing to memory namespace %.80q: %w", namespace, err)
	}
	return nil
}

// MemoryEntry returns the latest entry of a name in a namespace, whoever wrote it
// (S7/memory-latest, S7/memory-shared), or [ErrNotExist].
func (s *Store) MemoryEntry(ctx context.Context, namespace, name string) (Entry, error) {
	if err := CheckMemoryName(namespace, name); err != nil {
		return Entry{}, err
	}
	memory := s.memory(namespace)
	version, err := memory.version(ctx)
	if err != nil {
		return Entry{}, err
	}
	for ; version > 0; version-- {
		entry, found, err := memory.last(ctx, version, name)
		if err != nil || found {
			return entry, err
		}
	}
	return Entry{}, fmt.Errorf("memory object %q of namespace %q: %w", name, namespace, ErrNotExist)
}

// Namespaces returns the names of all memory namespaces, sorted. A namespace exists
// from its first write on (reading R15).
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	found := make(map[string]bool)
	for key, err := range s.Bucket.List(ctx, memoriesPrefix) {
		if err != nil {
			return nil, fmt.Errorf("listing memory namespaces: %w", err)
		}
		segment, _, _ := strings.Cut(strings.TrimPrefix(key, memoriesPrefix), "/")
		if name, ok := unescapeSegment(segment); ok {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// MemoryEntries returns the latest entry of each name in a namespace, sorted by
// name; none if there is no such namespace.
func (s *Store) MemoryEntries(ctx context.Context, namespace string) ([]Entry, error) {
	version, err := s.MemoryVersion(ctx, namespace)
	if err != nil {
		return nil, err
	}
	latest := make(map[string]Entry)
	for at := int64(1); at <= version; at++ {
		reader, err := s.memory(namespace).open(ctx, at)
		if err != nil {
			return nil, err
		}
		for entry, err := range reader.Entries() {
			if err != nil {
				return nil, errors.Join(err, reader.Close())
			}
			latest[entry.Name] = entry
		}
		if err := reader.Close(); err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }), nil
}

// last returns the last entry of a name in one version.
func (s series) last(ctx context.Context, version int64, name string) (last Entry, found bool, err error) {
	reader, err := s.open(ctx, version)
	if err != nil {
		return Entry{}, false, err
	}
	defer reader.Close()
	for entry, err := range reader.Entries() {
		if err != nil {
			return Entry{}, false, err
		}
		if entry.Name == name {
			last, found = entry, true
		}
	}
	return last, found, nil
}

func (s *Store) memory(namespace string) series {
	return series{store: s, prefix: memoryPrefix(namespace)}
}
