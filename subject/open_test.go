//go:build unix

package subject

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
)

func TestAnOpenedSubjectIsReadyToStart(t *testing.T) {
	f := newFolders(t)
	file := parse(t, `
name: x
kind: handler
version: [sh, -c, "echo; echo \" 1.2 \e[31mbeta\"; echo more"]
transports:
  subprocess: {command: [sh, "{dir}/h.sh", "{cache}/lib"]}
  http: {url: "http://127.0.0.1:{port}/", command: [sh, "{dir}/s.sh", "{port}"]}
features: [instructions]
known-failures: known.txt
`)
	o := f.open(t, file)
	env := Environment(os.Environ())
	want := &Opened{
		Name: "x", Kind: "handler", Version: "1.2 [31mbeta", Features: []string{"instructions"},
		Handler: map[string]ResolvedCommand{
			"subprocess": {Args: []string{"sh", f.dir + "/h.sh", o.Cache + "/lib"}, Dir: f.dir, Env: env},
			"http":       {Args: []string{"sh", f.dir + "/s.sh", "{port}"}, Dir: f.dir, Env: env, URL: "http://127.0.0.1:{port}/"},
		},
		KnownFailures: f.dir + "/known.txt", Dir: f.dir, Cache: o.Cache,
	}
	if diff := cmp.Diff(want, o, cmpopts.IgnoreUnexported(Opened{})); diff != "" {
		t.Error("(-want +got)", diff)
	}
	require.DirExists(t, o.Cache)
	require.Equal(t, []string{"subprocess", "http"}, o.Transports())
	_, err := o.Runtime()
	require.EqualError(t, err, "subject x: it is a handler, not a runtime")
}

func TestRelativeFoldersMeanTheSameToACommand(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	require.NoError(t, os.Mkdir("mine", 0o777))
	o, err := Open(t.Context(), handler(shell("touch {cache}/done")), "mine", "cache", nil)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "mine"), o.Dir)
	require.FileExists(t, filepath.Join(o.Cache, "done"))
}

func TestTheVersionMayComeOnStderr(t *testing.T) {
	f := newFolders(t)
	file := handler()
	file.Version = shell("echo 7 >&2")
	require.Equal(t, "7", f.open(t, file).Version)
}

func TestASubjectThatCantBeStartedIsOneClearError(t *testing.T) {
	f := newFolders(t)
	for _, test := range []struct {
		name   string
		change func(file *File)
		want   string
	}{
		{"no program", func(file *File) { file.Transports.Subprocess.Command = Args{"no-such-tool"} },
			"subject my sdk: `transports.subprocess`: start \"no-such-tool\" in \"" + f.dir + "\": program not found: it is in no folder of PATH; install it or fix the path"},
		{"no program in the cache", func(file *File) {
			file.Setup = []Args{{"true"}}
			file.Transports.Subprocess.Command = Args{"{cache}/bin/x"}
		}, ""},
		{"version without a program", func(file *File) { file.Version = Args{"./none"} },
			"subject my sdk: `version`: start \"./none\" in \"" + f.dir + "\": program not found: no such file; install it or fix the path"},
		{"version that fails", func(file *File) { file.Version = shell("echo broken >&2; exit 4") },
			"subject my sdk: `version`: sh -c 'echo broken >&2; exit 4': exit status 4; it printed\n    broken"},
		{"version that says nothing", func(file *File) { file.Version = Args{"true"} }, "subject my sdk: `version`: true printed nothing"},
		{"runtime without a program", func(file *File) {
			*file = File{Name: "rt", Kind: KindRuntime, Commands: map[string]Args{"start": {"true"}, "log": {"./none", "{session}"}}}
		}, "subject rt: `commands.log`: start \"./none\" in \"" + f.dir + "\": program not found: no such file; install it or fix the path"},
		{"driver without a program", func(file *File) { *file = File{Name: "rt", Kind: KindRuntime, Driver: Args{"{dir}/none"}} },
			"subject rt: `driver`: start \"" + f.dir + "/none\" in \"" + f.dir + "\": program not found: no such file; install it or fix the path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := handler()
			test.change(file)
			_, err := Open(t.Context(), file, f.dir, f.cache, nil)
			if test.want == "" {
				s, sumErr := newSetup(file, f.dir, f.cache)
				require.NoError(t, sumErr)
				require.ErrorIs(t, err, process.ErrNotFound)
				test.want = "subject my sdk: `transports.subprocess`: start \"" + s.root + "/files/bin/x\" in \"" + f.dir +
					"\": program not found: no such file; install it or fix the path (if it worked before, remove " + s.root + ": the next run sets it up anew)"
			}
			require.EqualError(t, err, test.want)
		})
	}
}

func TestAVersionCommandThatDoesNotEndIsEnded(t *testing.T) {
	f := newFolders(t)
	file := handler()
	o := f.open(t, file)
	file.Version = shell("sleep 60 & sleep 60")
	started := time.Now()
	_, err := o.version(context.Background(), 100*time.Millisecond)
	require.EqualError(t, err, "`version`: run \"sh\": it has not ended within 100ms")
	require.Less(t, time.Since(started), long)
	requireNoChildren(t)
}

func TestTheDefaultCacheIsTheUsers(t *testing.T) {
	if os.Getenv("HOME") == "" {
		t.Setenv("HOME", t.TempDir())
	}
	got, err := DefaultCache()
	require.NoError(t, err)
	require.Equal(t, "pugmark-conform", filepath.Base(got))
}
