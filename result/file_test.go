package result

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/transcript"
)

// soon fails the test when f does not return.
func soon(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("still waiting for what is no file")
	}
}

func TestOnlyRegularFilesOfABoundedSizeAreRead(t *testing.T) {
	dir := t.TempDir()
	file, pipe, link := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("1234567"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, name := range []string{file, link} {
		data, err := ReadFile(name, 7)
		require.NoError(t, err)
		require.Equal(t, "1234567", string(data))
	}
	_, err := ReadFile(file, 6)
	require.EqualError(t, err, file+" has over 6 bytes")
	for _, name := range []string{pipe, dir, "/dev/zero"} {
		soon(t, func() {
			_, err := ReadFile(name, 7)
			require.EqualError(t, err, name+" is no regular file")
		})
	}
	_, err = ReadFile(filepath.Join(dir, "absent"), 7)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEvidenceThatIsAPipeIsRefused(t *testing.T) {
	root := t.TempDir()
	e := &Evidence{Case: "handler/a/b", Transport: "rpc", Invocations: []Invocation{{Transcript: transcript.Transcript{}}}}
	folder, err := WriteEvidence(root, e, &Case{Verdict: Pass})
	require.NoError(t, err)
	dir := filepath.Join(root, folder)
	for name, read := range map[string]func() error{
		evidenceFile: func() error { _, err := ReadEvidence(dir); return err },
		caseFile:     func() error { _, err := ReadCase(dir); return err },
	} {
		require.NoError(t, read())
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
		soon(t, func() { require.ErrorContains(t, read(), filepath.Join(dir, name)+" is no regular file") })
	}
}
