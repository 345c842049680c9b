//go:build unix

package subject

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const tinyHandler = "name: Tiny\nkind: handler\ntransports: {subprocess: {command: [sh, \"{dir}/run.sh\"]}}\n"

func shipped() fstest.MapFS {
	return fstest.MapFS{
		"tiny/subject.yaml":  {Data: []byte(tinyHandler)},
		"tiny/run.sh":        {Data: []byte("#!/bin/sh\necho run\n")},
		"tiny/lib/x.txt":     {Data: []byte("x")},
		"other/subject.yaml": {Data: []byte(tinyHandler)},
		"broken/readme.txt":  {Data: []byte("no subject")},
	}
}

func TestAShippedSubjectIsLaidIntoTheCache(t *testing.T) {
	cache := t.TempDir()
	f, dir, err := Find("tiny", shipped(), cache)
	require.NoError(t, err)
	require.Equal(t, "Tiny", f.Name)
	require.True(t, filepath.IsAbs(dir))
	for name, want := range map[string]string{"subject.yaml": tinyHandler, "run.sh": "#!/bin/sh\necho run\n", "lib/x.txt": "x"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	info, err := os.Stat(filepath.Join(dir, "run.sh"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "a script")

	// The same content again is left as it is, with what a tool put beside it.
	beside := filepath.Join(dir, "__pycache__")
	require.NoError(t, os.Mkdir(beside, 0o777))
	_, again, err := Find("tiny", shipped(), cache)
	require.NoError(t, err)
	require.Equal(t, dir, again)
	require.DirExists(t, beside)

	// Another content is another folder; the old one may be in use.
	changed := shipped()
	changed["tiny/lib/x.txt"] = &fstest.MapFile{Data: []byte("y")}
	_, other, err := Find("tiny", changed, cache)
	require.NoError(t, err)
	require.NotEqual(t, dir, other)
	got, err := os.ReadFile(filepath.Join(dir, "lib/x.txt"))
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
}

func TestASpoiltCopyIsMadeAnew(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"changed": func(dir string) error { return os.WriteFile(dir+"/run.sh", []byte("exit 1"), 0o666) },
		"gone":    func(dir string) error { return os.RemoveAll(dir + "/lib") },
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			_, dir, err := Find("tiny", shipped(), cache)
			require.NoError(t, err)
			require.NoError(t, spoil(dir))
			_, again, err := Find("tiny", shipped(), cache)
			require.NoError(t, err)
			require.Equal(t, dir, again)
			for name, file := range shipped() {
				if rest, ok := strings.CutPrefix(name, "tiny/"); ok {
					got, err := os.ReadFile(filepath.Join(dir, rest))
					require.NoError(t, err)
					require.Equal(t, string(file.Data), string(got))
				}
			}
		})
	}
}

func TestManyMayLayOutTheSameSubject(t *testing.T) {
	cache := t.TempDir()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, dir, err := Find("tiny", shipped(), cache)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := Load(filepath.Join(dir, FileName)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	left, err := filepath.Glob(cache + "/subjects/*")
	require.NoError(t, err)
	require.Len(t, left, 2, "the folder and its lock: %q", left)
}

func TestASubjectIsFoundByItsPath(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"mine", "tiny", "empty"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o777))
	}
	mine := filepath.Join(root, "mine")
	writeFile(t, filepath.Join(mine, FileName), tinyHandler)
	writeFile(t, filepath.Join(root, "tiny", FileName), tinyHandler)
	writeFile(t, filepath.Join(root, "x.yaml"), tinyHandler)
	t.Chdir(root)
	cache := t.TempDir()
	for name, want := range map[string]string{
		"mine": mine, "mine/": mine, "./mine": mine, "mine/subject.yaml": mine, filepath.Join(mine, FileName): mine,
		"x.yaml": root, "./tiny": filepath.Join(root, "tiny"),
	} {
		f, dir, err := Find(name, shipped(), cache)
		require.NoError(t, err, name)
		require.Equal(t, "Tiny", f.Name)
		if diff := cmp.Diff(want, dir); diff != "" {
			t.Error(name, "(-want +got)", diff)
		}
	}
	_, dir, err := Find("tiny", shipped(), cache)
	require.NoError(t, err)
	require.NotEqual(t, filepath.Join(root, "tiny"), dir, "a shipped name means the same everywhere")

	for name, want := range map[string]string{
		"no.yaml":   "subject file: open " + root + "/no.yaml: no such file or directory",
		"./empty":   "the folder ./empty has no subject.yaml: stat empty/subject.yaml: no such file or directory",
		"./nothing": "subject file: open " + root + "/nothing: no such file or directory",
	} {
		_, _, err := Find(name, shipped(), cache)
		require.EqualError(t, err, want)
	}
}

func TestAnUnknownNameNamesThoseThatAreKnown(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("folder", 0o777))
	for name, want := range map[string]string{
		"tniy":   `there is no subject "tniy" (did you mean tiny?): known by name are other, tiny, and a subject of your own is given by the path of its file or folder`,
		"folder": `there is no subject "folder": known by name are other, tiny, and a subject of your own is given by the path of its file or folder`,
		"broken": `there is no subject "broken": known by name are other, tiny, and a subject of your own is given by the path of its file or folder`,
		"":       `there is no subject "": known by name are other, tiny, and a subject of your own is given by the path of its file or folder`,
	} {
		_, _, err := Find(name, shipped(), t.TempDir())
		var unknown *UnknownError
		require.ErrorAs(t, err, &unknown)
		require.EqualError(t, err, want)
	}
}

func TestAShippedFileThatIsWrongIsNamed(t *testing.T) {
	cache := t.TempDir()
	_, _, err := Find("x", fstest.MapFS{"x/subject.yaml": {Data: []byte("name: x\nkind: handler\n")}}, cache)
	require.EqualError(t, err, "x/subject.yaml:1:1: a handler has at least one of the `transports` subprocess, rpc, http")
	require.NoDirExists(t, cache+"/subjects")
}
