package reference_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
)

func TestBodyByURI(t *testing.T) {
	folder := t.TempDir()
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a b"), []byte("hello"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o666))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(folder, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "fifo"), 0o666))

	w := newWorld(t, parentID)
	w.runtime.Sources = reference.Folders{folder}
	w.once(parentID, emits(
		protocol.Output{Name: "by uri", URI: "file://" + folder + "/a%20b"},
		protocol.Output{Name: "both", URI: "file://" + folder + "/none", Data: []byte("data wins")},
		protocol.Output{Name: "memories/ns/k", URI: "file://localhost" + folder + "/a%20b"},
		protocol.Output{Name: "upper case", URI: "FILE://LocalHost" + folder + "/a%20b"}, // RFC 3986, 6.2.2.1
	))
	wantLines(t, "log", []string{
		"1 1.1 normal by uri=hello", "1 1.2 normal both=data wins", "1 1.3 normal upper case=hello",
	}, w.log(parentID))
	requireMemory(t, w, "ns", "k", 5)

	for _, uri := range []string{
		"file://" + outside + "/secret", "file://" + folder + "/../" + filepath.Base(outside) + "/secret",
		"file://" + folder + "/%2e%2e/" + filepath.Base(outside) + "/secret", "file://" + folder + "/link",
		"file://" + folder + "/fifo", "file://" + folder, "file://" + folder + "/none", "file://elsewhere" + folder + "/a%20b",
		"s3://bucket/key", folder + "/a b", "%zz",
		"file://" + folder + "/a%20b?x", "file://" + folder + "/a%20b?", "file://" + folder + "/a%20b#f", "file://" + folder + "/a%20b#",
		"file://user@localhost" + folder + "/a%20b", "file:" + folder[1:] + "/a%20b",
	} {
		_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(&scripted{
			steps: []func(*invocation) error{emits(protocol.Output{URI: uri})},
		}))
		var failure *reference.InvocationError
		require.ErrorAs(t, err, &failure, uri)
		require.Equal(t, reference.ReasonOutput, failure.Reason)
	}
}

func TestBodyByURIOfTheStore(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "hello")
	w.runtime.Sources = reference.Schemes{"s3": reference.Stored{Root: "s3://bucket/pre/", Bucket: w.bucket}}
	const key = "objects/sha256/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	w.once(parentID, emits(protocol.Output{Name: "b", URI: "s3://bucket/pre/" + key}))
	wantLines(t, "log", []string{"1 1.1 queueing a=hello", "1 2.2 normal b=hello"}, w.log(parentID))
	w.once(parentID, emits(protocol.Output{Name: "c", URI: "S3://bucket/pre/" + key}))
	require.Contains(t, w.log(parentID), "1 3.3 normal c=hello")
	for uri, text := range map[string]string{
		"s3://bucket/" + key:         "outside the store",
		"s3://other/pre/" + key:      "outside the store",
		"s3://bucket/pre/../" + key:  "invalid key",
		"s3://bucket/pre/objects/no": "does not exist",
		"file:///etc/passwd":         "from s3 URIs only",
	} {
		_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(&scripted{
			steps: []func(*invocation) error{emits(protocol.Output{URI: uri})},
		}))
		require.ErrorContains(t, err, text)
	}
}
