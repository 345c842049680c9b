package storage_test

import (
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
