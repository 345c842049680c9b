package dirbucket_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

// envHalf makes the test binary write the first half of an object to a folder and
// hang there.
const envHalf = "DIRBUCKET_TEST_HALF"

func TestMain(m *testing.M) {
	if folder := os.Getenv(envHalf); folder != "" {
		bucket, err := dirbucket.Open(folder)
		if err == nil {
			err = bucket.Put(context.Background(), snapshotTwo, &stalling{Reader: strings.NewReader(strings.Repeat("x", halfSize))})
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const (
	snapshotOne = "sessions/s/snapshots/1.json"
	snapshotTwo = "sessions/s/snapshots/2.json"
	// halfSize is more than is gathered before a write.
	halfSize = 100_000
)

// stalling says on standard output when it is at its end, and never ends.
type stalling struct{ *strings.Reader }

func (s *stalling) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		fmt.Println("half")
		select {}
	}
	return n, nil
}

// WriteTo hides that of the embedded reader, which would end.
func (s *stalling) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{s})
}

// F30: a process is killed after half of the bytes of version 2.
func TestProcessKilledInTheMiddleOfAPut(t *testing.T) {
	folder := t.TempDir()
	bucket := open(t, folder)
	require.NoError(t, bucket.Put(t.Context(), snapshotOne, strings.NewReader("one")))
	writer := exec.CommandContext(t.Context(), os.Args[0])
	writer.Env = append(os.Environ(), envHalf+"="+folder)
	output, err := writer.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, writer.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "half\n", line)
	listed := func() (keys []string) {
		for key, err := range bucket.List(t.Context(), "") {
			require.NoError(t, err)
			keys = append(keys, key)
		}
		return keys
	}
	requireOne := func() {
		_, err := bucket.Stat(t.Context(), snapshotTwo)
		require.ErrorIs(t, err, storage.ErrNotExist)
		require.Equal(t, []string{snapshotOne}, listed())
	}
	requireOne()
	require.NoError(t, writer.Process.Kill()) // SIGKILL
	require.Error(t, writer.Wait())
	requireOne()
	leftovers, err := filepath.Glob(filepath.Join(folder, "sessions", "s", "snapshots", ".tmp-*"))
	require.NoError(t, err)
	require.Len(t, leftovers, 1)
	half, err := os.ReadFile(leftovers[0])
	require.NoError(t, err)
	require.Len(t, half, halfSize, "the process had written when it was killed")

	require.NoError(t, bucket.Put(t.Context(), snapshotTwo, strings.NewReader("two")))
	size, err := bucket.Stat(t.Context(), snapshotTwo)
	require.NoError(t, err)
	require.EqualValues(t, 3, size)
	require.ElementsMatch(t, []string{snapshotOne, snapshotTwo}, listed())
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

// Nobody knows the names of temporary files.
func TestAPutThatCantBeDoneNamesTheKeyAlone(t *testing.T) {
	folder := t.TempDir()
	bucket := open(t, folder)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a"), nil, 0o666))
	err := bucket.Put(t.Context(), "a/b", strings.NewReader("x"))
	require.ErrorIs(t, err, syscall.ENOTDIR)
	require.EqualError(t, err, "storing a/b: not a directory")
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
