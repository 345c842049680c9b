package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage/s3bucket/s3test"
)

// The current session of a bucket is remembered in the working folder.
func TestSessionsInABucket(t *testing.T) {
	server := s3test.Start(t)
	server.Setenv(t)
	place := server.URL(t)
	t.Chdir(t.TempDir())
	ok := func(args ...string) string {
		t.Helper()
		status, out, stderr := call(t, append([]string{"-b", place}, args...)...)
		require.Zero(t, status, stderr)
		return out
	}
	session := ok("start")
	ok("push", "--name", "a")
	key := "objects/sha256/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	root, _, _ := strings.Cut(place, "?")
	uri := strings.TrimRight(root, "/") + "/" + key
	ok("run", "--once", "--", "sh", "-c", `cat >/dev/null; echo '{"name":"b","uri":"`+uri+`"}{"name":"memories/ns/k","data":"aGk="}'`)
	require.Equal(t, "1.1  queueing  name a  text/plain  5 bytes\n    hello\n2.2  normal  name b  5 bytes\n    hello", ok("log", "-A"))
	require.Equal(t, "hi", ok("memory", "get", "ns/k"))
	require.Contains(t, ok("inspect", session), `"version": 2`)
	files, err := os.ReadDir(".pugmark")
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.True(t, strings.HasPrefix(files[0].Name(), ".current-"), "no listing of a store shows it")
}
