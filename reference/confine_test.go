package reference_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
)

// F33: nothing that a handler writes or asks for reaches a file outside the store.
func TestHandlersDoNotReachOutsideTheStore(t *testing.T) {
	folder := t.TempDir()
	bait := filepath.Join(folder, "secret")
	require.NoError(t, os.WriteFile(bait, []byte("bait"), 0o666))
	bucket, err := dirbucket.Open(filepath.Join(folder, "store"))
	require.NoError(t, err)
	defer bucket.Close()
	w := newWorld(t)
	w.bucket = bucket
	w.runtime = w.on(bucket)
	w.runtime.Sources = reference.Folders{filepath.Join(folder, "store")}
	w.start(storage.Manifest{Session: parentID})
	w.push(parentID, "a", strings.Repeat("x", 2000))

	for name, output := range map[string]protocol.Output{
		"memory above":          {Name: "memories/../../x/y"},
		"memory parent":         {Name: "memories/a/.."},
		"memory current":        {Name: "memories/./k"},
		"memory with a NUL":     {Name: "memories/a\x00/k"},
		"memory absolute":       {Name: "memories//etc/k"},
		"session above":         {Session: "../../../tmp/zz", Data: []byte("x")},
		"session above, forked": {Session: "../../../tmp/zz", Fork: true},
		"uri beside the store":  {URI: "file://" + bait},
		"uri above":             {URI: "file://" + folder + "/store/../secret"},
		"uri above, escaped":    {URI: "file://" + folder + "/store/%2e%2e/secret"},
	} {
		_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(&scripted{
			steps: []func(*invocation) error{emits(text("kept", "x"), output)},
		}))
		var failure *reference.InvocationError
		require.ErrorAs(t, err, &failure, name)
		require.Equal(t, reference.ReasonOutput, failure.Reason, name)
	}
	w.once(parentID, func(call *invocation) error {
		memory := strings.TrimSuffix(call.inputs[0].URL, "/memories/")
		objects := call.inputs[1].URL[:strings.LastIndex(call.inputs[1].URL, "/")]
		for _, root := range []string{memory, objects} {
			for _, path := range []string{
				"/../secret", "/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/memories/../../secret", "/memories/%2e%2e/secret",
				"/memories/%2e%2e%2f%2e%2e/secret", "/memories/a/../../../secret", "//secret", "/sha256:../../../secret",
				"/objects/sha256/../../../secret", "/manifest.json", "/sessions/" + parentID + "/manifest.json", "/.current", bait,
			} {
				requireAnswer(t, root+path, 404, "", "")
			}
		}
		return nil
	})
	wantLines(t, "log", []string{"1 1.1 queueing a=" + strings.Repeat("x", 2000)}, w.log(parentID))
	var outside []string
	require.NoError(t, filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if name == filepath.Join(folder, "store") {
			return fs.SkipDir
		}
		if !entry.IsDir() {
			outside = append(outside, name)
		}
		return err
	}))
	require.Equal(t, []string{bait}, outside)
	kept, err := os.ReadFile(bait)
	require.NoError(t, err)
	require.Equal(t, "bait", string(kept))
}

// F34, P8.2/longest-prefix, on the memory server, whatever the order of mounting.
func TestMemoryServerResolvesTheLongestNamespace(t *testing.T) {
	for _, order := range [][]string{
		{"team", "team/ops", "team/ops/eu"}, {"team", "team/ops/eu", "team/ops"}, {"team/ops", "team", "team/ops/eu"},
		{"team/ops", "team/ops/eu", "team"}, {"team/ops/eu", "team", "team/ops"}, {"team/ops/eu", "team/ops", "team"},
	} {
		w := newWorld(t, parentID)
		for _, namespace := range order {
			w.once(parentID, emits(text("memories/"+namespace+"/k", "of "+namespace)))
		}
		w.once(parentID, emits(text("memories/team/only", "x")))
		w.once(parentID, func(call *invocation) error {
			root := call.inputs[0].URL
			for _, namespace := range order {
				requireAnswer(t, root+namespace+"/k", 200, "text/plain", "of "+namespace)
			}
			requireAnswer(t, root+"team/only", 200, "text/plain", "x")
			for _, key := range []string{"team/ops/only", "team/ops/eu/only", "team/op/k", "te/k", "team/ops/eu/x/k"} {
				requireAnswer(t, root+key, 404, "", "")
			}
			return nil
		})
	}
}
