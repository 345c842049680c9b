package dirbucket_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/buckettest"
	"pugmark.dev/conform/storage/dirbucket"
)

func open(t *testing.T, folder string) *dirbucket.Bucket {
	t.Helper()
	bucket, err := dirbucket.Open(folder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket
}

func TestBucketContract(t *testing.T) {
	buckettest.Run(t, func(t *testing.T) storage.Bucket { return open(t, filepath.Join(t.TempDir(), "new", "store")) })
}

func TestTwoBucketsOnOneFolderSeeEachOther(t *testing.T) {
	folder := t.TempDir()
	one, two := open(t, folder), open(t, folder)
	require.NoError(t, one.Put(t.Context(), "a/b", strings.NewReader("one")))
	require.ErrorIs(t, two.Put(t.Context(), "a/b", strings.NewReader("two")), storage.ErrExist)
	size, err := two.Stat(t.Context(), "a/b")
	require.NoError(t, err)
	require.EqualValues(t, 3, size)
}

// F30: a process killed in the middle of a write leaves a temporary file.
func TestLeftoversAreNotListed(t *testing.T) {
	folder := t.TempDir()
	bucket := open(t, folder)
	require.NoError(t, bucket.Put(t.Context(), "a/b", strings.NewReader("x")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a", ".tmp-leftover"), []byte("ha"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".DS_Store"), nil, 0o666))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "Foreign"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "Foreign", "file"), nil, 0o666))
	var keys []string
	for key, err := range bucket.List(t.Context(), "") {
		require.NoError(t, err)
		keys = append(keys, key)
	}
	require.Equal(t, []string{"a/b"}, keys)
}

func TestPutLeavesNoTemporaryFile(t *testing.T) {
	folder := t.TempDir()
	bucket := open(t, folder)
	require.NoError(t, bucket.Put(t.Context(), "a/b", strings.NewReader("x")))
	require.ErrorIs(t, bucket.Put(t.Context(), "a/b", strings.NewReader("y")), storage.ErrExist)
	entries, err := os.ReadDir(filepath.Join(folder, "a"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestOverlongNamesAreRefusedByEveryCall(t *testing.T) {
	bucket := open(t, t.TempDir())
	long := strings.Repeat("n", storage.MaxSegment+1)
	require.ErrorIs(t, bucket.Put(t.Context(), "a/"+long, strings.NewReader("x")), storage.ErrInvalidKey)
	var listed error
	for _, err := range bucket.List(t.Context(), long+"/") {
		listed = err
	}
	require.ErrorIs(t, listed, storage.ErrInvalidKey)
}

// F33: what lies outside the folder is neither read nor written.
func TestLinksOutOfTheFolderAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	bait := filepath.Join(outside, "bait")
	require.NoError(t, os.WriteFile(bait, []byte("secret"), 0o666))
	folder := t.TempDir()
	bucket := open(t, folder)
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "out")))
	require.NoError(t, os.Symlink(bait, filepath.Join(folder, "link")))
	for _, key := range []string{"out/bait", "link"} {
		_, err := bucket.Get(t.Context(), key)
		require.Error(t, err)
		require.Error(t, bucket.Put(t.Context(), key, strings.NewReader("x")))
	}
	require.Error(t, bucket.Put(t.Context(), "out/new", strings.NewReader("x")))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}
