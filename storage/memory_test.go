package storage_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
)

func TestLatestWriteToAMemoryNameWins(t *testing.T) {
	store := newStore(t)
	write := func(namespace string, entries ...storage.Entry) {
		require.NoError(t, store.WriteMemory(t.Context(), namespace, nil, 0, entries))
	}
	write("team/ops", storage.Entry{Name: "k", Size: 1}, storage.Entry{Name: "k", Size: 2}, storage.Entry{Name: "other", Size: 3})
	write("team", storage.Entry{Name: "k", Size: 4})
	require.EqualValues(t, 2, memorySize(t, store, "team/ops", "k"))
	write("team/ops", storage.Entry{Name: "k", Size: 5})
	require.EqualValues(t, 5, memorySize(t, store, "team/ops", "k"))
	require.EqualValues(t, 3, memorySize(t, store, "team/ops", "other"))
	require.EqualValues(t, 4, memorySize(t, store, "team", "k"))
	for _, missing := range [][2]string{{"team", "other"}, {"Team", "k"}, {"none", "k"}} {
		_, err := store.MemoryEntry(t.Context(), missing[0], missing[1])
		require.ErrorIs(t, err, storage.ErrNotExist)
	}
	_, err := store.MemoryEntry(t.Context(), "team/..", "k")
	require.ErrorIs(t, err, storage.ErrInvalidName)
}

func memorySize(t *testing.T, store *storage.Store, namespace, name string) int64 {
	t.Helper()
	entry, err := store.MemoryEntry(t.Context(), namespace, name)
	require.NoError(t, err)
	return entry.Size
}

func TestMemoryDeliveryIsIdempotent(t *testing.T) {
	store := newStore(t)
	source := &storage.Version{Session: alpha, Version: 2}
	for range 2 {
		require.NoError(t, store.WriteMemory(t.Context(), "ns", source, 0, named("k")))
	}
	version, err := store.MemoryVersion(t.Context(), "ns")
	require.NoError(t, err)
	require.EqualValues(t, 1, version)
}

func TestNamespacesAndTheirNamesAreListed(t *testing.T) {
	store := newStore(t)
	none, err := store.Namespaces(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)
	for _, write := range [][2]string{{"team", "b"}, {"team/ops", "k"}, {"Team", "k"}, {"é", "x"}, {"team", "a"}, {"team", "b"}} {
		require.NoError(t, store.WriteMemory(t.Context(), write[0], nil, 0, named(write[1])))
	}
	namespaces, err := store.Namespaces(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"Team", "team", "team/ops", "é"}, namespaces)
	entries, err := store.MemoryEntries(t.Context(), "team")
	require.NoError(t, err)
	var got []string
	for _, entry := range entries {
		got = append(got, fmt.Sprint(entry.Name, " ", entry.Sequence))
	}
	require.Equal(t, []string{"a 2", "b 3"}, got)
	entries, err = store.MemoryEntries(t.Context(), "none")
	require.NoError(t, err)
	require.Empty(t, entries)
	_, err = store.MemoryEntries(t.Context(), "..")
	require.ErrorIs(t, err, storage.ErrInvalidName)
}

// F34, P8.2/longest-prefix: whatever order namespaces come to be in.
func TestEachKeyGoesToItsOwnNamespaceWhateverTheOrderOfMounting(t *testing.T) {
	sizes := map[string]int64{"team": 1, "team/ops": 2, "team/ops/eu": 3}
	for _, order := range [][]string{
		{"team", "team/ops", "team/ops/eu"}, {"team", "team/ops/eu", "team/ops"}, {"team/ops", "team", "team/ops/eu"},
		{"team/ops", "team/ops/eu", "team"}, {"team/ops/eu", "team", "team/ops"}, {"team/ops/eu", "team/ops", "team"},
	} {
		store := newStore(t)
		for _, namespace := range order {
			entry := storage.Entry{Name: "k", Size: sizes[namespace]}
			require.NoError(t, store.WriteMemory(t.Context(), namespace, nil, 0, []storage.Entry{entry}))
		}
		for namespace, size := range sizes {
			require.Equal(t, size, memorySize(t, store, namespace, "k"), "%s mounted in the order %v", namespace, order)
		}
	}
}
