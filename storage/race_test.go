package storage_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
)

// The variables by which the test starts itself as a writer.
const (
	envWriterFolder = "STORAGE_TEST_WRITER_FOLDER"
	envWriterName   = "STORAGE_TEST_WRITER_NAME"
)

const raceRounds = 60

func TestMain(m *testing.M) {
	if folder := os.Getenv(envWriterFolder); folder != "" {
		if err := writeRounds(folder, os.Getenv(envWriterName)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func writeRounds(folder, name string) error {
	bucket, err := dirbucket.Open(folder)
	if err != nil {
		return err
	}
	defer bucket.Close()
	store := &storage.Store{Bucket: bucket}
	for round := range raceRounds {
		entry := storage.Entry{Name: fmt.Sprint(name, "/", round)}
		if _, err := store.Append(context.Background(), alpha, storage.Queueing, []storage.Entry{entry}); err != nil {
			return err
		}
	}
	return nil
}

// F27: of two commits of a version one wins, between processes too.
func TestTwoProcessesLoseNothing(t *testing.T) {
	folder := t.TempDir()
	bucket, err := dirbucket.Open(folder)
	require.NoError(t, err)
	defer bucket.Close()
	store := &storage.Store{Bucket: bucket}
	_, _, err = store.CreateSession(t.Context(), storage.Manifest{Session: alpha})
	require.NoError(t, err)

	var writers []*exec.Cmd
	for _, name := range []string{"one", "two"} {
		writer := exec.CommandContext(t.Context(), os.Args[0])
		writer.Env = append(os.Environ(), envWriterFolder+"="+folder, envWriterName+"="+name)
		writer.Stderr = os.Stderr
		require.NoError(t, writer.Start())
		writers = append(writers, writer)
	}
	for _, writer := range writers {
		require.NoError(t, writer.Wait())
	}

	version, err := store.Version(t.Context(), alpha)
	require.NoError(t, err)
	require.EqualValues(t, 2*raceRounds, version)
	names := map[string]int{}
	sequence := int64(0)
	for v := int64(1); v <= version; v++ {
		for entry, err := range store.Entries(t.Context(), alpha, v) {
			require.NoError(t, err, "version %d", v)
			names[entry.Name]++
			sequence++
			require.Equal(t, sequence, entry.Sequence)
		}
	}
	require.Len(t, names, 2*raceRounds)
}
