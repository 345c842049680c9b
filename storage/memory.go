package storage

import (
	"context"
	"fmt"
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
		return fmt.Errorf("writing to memory namespace %q: %w", namespace, err)
	}
	return nil
}

// MemoryEntry returns the latest entry of a name in a namespace
// (S7/memory-latest), or [ErrNotExist].
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
