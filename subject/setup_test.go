//go:build unix

package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
)

// folders is a subject's folder and a cache.
type folders struct{ dir, cache string }

func newFolders(t *testing.T) folders {
	t.Helper()
	return folders{t.TempDir(), t.TempDir()}
}

// handler is a file whose set-up is the given lines.
func handler(lines ...Args) *File {
	return &File{Name: "my sdk", Kind: KindHandler, Setup: lines,
		Transports: Transports{Subprocess: &CommandTransport{Args{"true"}}}}
}

func shell(script string) Args { return Args{"sh", "-c", script} }

func (f folders) open(t *testing.T, file *File) *Opened {
	t.Helper()
	o, err := Open(t.Context(), file, f.dir, f.cache, nil)
	require.NoError(t, err)
	return o
}

// marks counts the set-ups that wrote a line to the file marks.
func (f folders) marks(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "marks"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return strings.Count(string(text), "\n")
}

func TestASetupIsRunOnceForItsContent(t *testing.T) {
	f := newFolders(t)
	mark := "echo x >>" + f.dir + "/marks"
	file := handler(shell("pwd >where; "+mark), Args{"cp", "{dir}/needs.txt", "{cache}/copy"})
	writeFile(t, f.dir+"/needs.txt", "one")
	writeFile(t, f.dir+"/other.txt", "one")

	o := f.open(t, file)
	require.Equal(t, 1, f.marks(t))
	got, err := os.ReadFile(filepath.Join(o.Cache, "copy"))
	require.NoError(t, err)
	require.Equal(t, "one", string(got))
	where, err := os.ReadFile(filepath.Join(o.Cache, "where"))
	require.NoError(t, err)
	require.Equal(t, o.Cache+"\n", string(where), "it runs in {cache}")

	// Again: no command is run, so that there need be none any more.
	writeFile(t, f.dir+"/other.txt", "two")
	t.Setenv("PATH", t.TempDir())
	file.Transports.Subprocess.Command = Args{"/bin/true"}
	require.Equal(t, o.Cache, f.open(t, file).Cache)
	require.Equal(t, 1, f.marks(t))
}

func TestAnythingThatTheSetupRestsOnMakesItNew(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, f folders, file *File){
		"another name":           func(_ *testing.T, _ folders, file *File) { file.Name = "your sdk" },
		"another line":           func(_ *testing.T, _ folders, file *File) { file.Setup = append(file.Setup, Args{"true"}) },
		"an empty word":          func(_ *testing.T, _ folders, file *File) { file.Setup[1] = append(file.Setup[1], "") },
		"a file that is named":   func(t *testing.T, f folders, _ *File) { writeFile(t, f.dir+"/needs.txt", "two") },
		"a file after an option": func(t *testing.T, f folders, _ *File) { writeFile(t, f.dir+"/more.txt", "two") },
		"a file in a folder":     func(t *testing.T, f folders, _ *File) { writeFile(t, f.dir+"/sdk/src/a.py", "two") },
		"a new file in a folder": func(t *testing.T, f folders, _ *File) { writeFile(t, f.dir+"/sdk/src/b.py", "") },
		"a file above":           func(t *testing.T, f folders, _ *File) { writeFile(t, f.dir+"/../lib/x", "two") },
		"the set-up is gone":     func(t *testing.T, f folders, _ *File) { require.NoError(t, os.RemoveAll(f.cache+"/setup")) },
		"its files are gone": func(t *testing.T, f folders, _ *File) {
			dirs, err := filepath.Glob(f.cache + "/setup/*/files")
			require.NoError(t, err)
			require.Len(t, dirs, 1)
			require.NoError(t, os.RemoveAll(dirs[0]))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolders(t)
			f.dir += "/conformance"
			require.NoError(t, os.MkdirAll(f.dir+"/sdk/src", 0o777))
			require.NoError(t, os.MkdirAll(f.dir+"/../lib", 0o777))
			require.NoError(t, os.MkdirAll(f.dir+"/sdk/.git", 0o777))
			for _, file := range []string{"needs.txt", "more.txt", "sdk/src/a.py", "../lib/x"} {
				writeFile(t, filepath.Join(f.dir, file), "one")
			}
			file := handler(shell("echo x >>"+f.dir+"/marks"), Args{"true", "{dir}/needs.txt", "--more={dir}/more.txt", "{dir}/sdk[extra]", "{dir}/../lib"})
			f.closed(t, file)
			writeFile(t, f.dir+"/sdk/.git/HEAD", "no source")
			f.closed(t, file)
			require.Equal(t, 1, f.marks(t))
			change(t, f, file)
			f.open(t, file)
			require.Equal(t, 2, f.marks(t))
		})
	}
}

func TestASetupBelongsToAPlaceOnlyIfItRefersToAFolder(t *testing.T) {
	for _, test := range []struct {
		name string
		line Args
		want int // set-ups for two copies of the same folder
	}{
		{"no file", Args{"true"}, 1},
		{"a file", Args{"true", "-r{dir}/needs.txt", "{dir}/sdk/a.py:{dir}/needs.txt"}, 1},
		{"a folder", Args{"true", "{dir}/sdk"}, 2},
		{"its own folder", Args{"true", "{dir}"}, 2},
		{"a folder above it", Args{"true", "{dir}/.."}, 2},
		{"what is not there yet", Args{"true", "{dir}/build"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, marks := newFolders(t), newFolders(t)
			for range 2 {
				f.dir = t.TempDir() + "/conformance"
				require.NoError(t, os.MkdirAll(f.dir+"/sdk", 0o777))
				writeFile(t, f.dir+"/needs.txt", "one")
				writeFile(t, f.dir+"/sdk/a.py", "one")
				f.open(t, handler(test.line, shell("echo x >>"+marks.dir+"/marks")))
			}
			require.Equal(t, test.want, marks.marks(t))
		})
	}
}

func TestAFailedSetupSaysWhatAndWhere(t *testing.T) {
	f := newFolders(t)
	writeFile(t, f.dir+"/ok", "no")
	file := handler(Args{"true"}, shell(`echo to stdout; echo "no such version" >&2; cat `+f.dir+`/ok | grep -q yes || exit 3`), Args{"false"})
	_, err := Open(t.Context(), file, f.dir, f.cache, nil)
	var failed *SetupError
	require.ErrorAs(t, err, &failed)
	logs, globErr := filepath.Glob(f.cache + "/setup/*/setup.log")
	require.NoError(t, globErr)
	require.Len(t, logs, 1)
	want := &SetupError{Subject: "my sdk", Line: 2, Lines: 3, Args: file.Setup[1], Exit: "exit status 3",
		Output: "to stdout\nno such version", Log: logs[0]}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Error("(-want +got)", diff)
	}
	text := failed.Error()
	require.True(t, strings.HasPrefix(text, "set up my sdk: line 2 of 3 of `setup`, sh -c 'echo to stdout;"), text)
	require.Contains(t, text, ": exit status 3; its last lines were\n    to stdout\n    no such version\nthe whole output, with no secret masked, is in "+logs[0])
	info, err := os.Stat(logs[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "what a set-up prints is for its user alone")
	kept, err := os.ReadFile(logs[0])
	require.NoError(t, err)
	require.Contains(t, string(kept), "$ true\n$ sh -c ")
	require.Contains(t, string(kept), "\nto stdout\nno such version\n")

	// It does not count, and begins anew in a clean folder.
	file.Setup[0] = shell("ls -A >>" + f.dir + "/seen; touch half; echo x >>" + f.dir + "/marks")
	file.Setup[2] = Args{"true"}
	_, err = Open(t.Context(), file, f.dir, f.cache, nil)
	require.ErrorAs(t, err, &failed)
	writeFile(t, f.dir+"/ok", "yes")
	f.open(t, file)
	require.Equal(t, 2, f.marks(t))
	seen, err := os.ReadFile(f.dir + "/seen")
	require.NoError(t, err)
	require.Empty(t, string(seen), "what the failed one had left")
}

func TestASetupWithoutItsProgramNamesIt(t *testing.T) {
	f := newFolders(t)
	_, err := Open(t.Context(), handler(Args{"no-such-tool", "x"}), f.dir, f.cache, nil)
	var failed *SetupError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, process.ErrNotFound)
	require.Contains(t, err.Error(), "line 1 of 1 of `setup`, no-such-tool x: start \"no-such-tool\"")
	require.Contains(t, err.Error(), "it is in no folder of PATH")
}

func TestAnInterruptedSetupDoesNotCount(t *testing.T) {
	f := newFolders(t)
	script := "ls -A >>" + f.dir + "/seen; touch half; echo x >>" + f.dir + "/marks; [ -e " + f.dir + "/quick ] || exec sleep 60"
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by the user")
	done := make(chan error, 1)
	go func() {
		_, err := Open(ctx, handler(shell(script)), f.dir, f.cache, nil)
		done <- err
	}()
	require.Eventually(t, func() bool { return f.marks(t) == 1 }, long, 5*time.Millisecond)
	cancel(stopped)
	select {
	case err := <-done:
		require.ErrorIs(t, err, stopped)
	case <-time.After(long):
		t.Fatal("the set-up goes on")
	}
	requireNoChildren(t)
	writeFile(t, f.dir+"/quick", "")
	o := f.open(t, handler(shell(script)))
	seen, err := os.ReadFile(f.dir + "/seen")
	require.NoError(t, err)
	require.Empty(t, string(seen), "what the interrupted one had left")
	require.FileExists(t, o.Cache+"/half")
}

func TestAnInterruptedSetupIsNotBlamed(t *testing.T) {
	f := newFolders(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	script := "echo x >>" + f.dir + "/marks; exec sleep 60"
	go func() {
		_, err := Open(ctx, handler(shell(script)), f.dir, f.cache, nil)
		done <- err
	}()
	require.Eventually(t, func() bool { return f.marks(t) == 1 }, long, 5*time.Millisecond)
	cancel()
	select {
	case err := <-done:
		require.EqualError(t, err, "set up my sdk: line 1 of 1 of `setup`, sh -c 'echo x >>"+f.dir+"/marks; exec sleep 60': interrupted; the next set-up begins anew")
	case <-time.After(long):
		t.Fatal("the set-up goes on")
	}
}

func TestSetupsOfManyProcessesAreOne(t *testing.T) {
	f := newFolders(t)
	writeFile(t, filepath.Join(f.dir, FileName), fmt.Sprintf(
		"name: x\nkind: handler\nsetup: [[sh, -c, 'echo x >>%s/marks; sleep 0.2; touch done']]\nversion: [ls, '{cache}/done']\ntransports: {rpc: {command: ['true']}}\n", f.dir))
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			c := exec.Command(os.Args[0], f.dir, f.cache)
			c.Env = append(os.Environ(), "SUBJECT_TEST=open")
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, f.marks(t))
}

func TestWhoWaitsForAnotherRunIsToldAndCanGiveUp(t *testing.T) {
	f := newFolders(t)
	file := handler(Args{"true"})
	s, err := newSetup(file, f.dir, f.cache)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(s.root), 0o777))
	unlock, err := lock(t.Context(), s.root+".lock", nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var told []string
	_, err = Open(ctx, file, f.dir, f.cache, func(text string) {
		told = append(told, text)
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"my sdk: another run is setting it up; waiting for it"}, told)
	unlock()
	told = nil
	_, err = Open(t.Context(), file, f.dir, f.cache, func(text string) { told = append(told, text) })
	require.NoError(t, err)
	require.Equal(t, []string{"my sdk: set-up 1 of 1: true"}, told)
}

func TestASetupHasTheUsersEnvironment(t *testing.T) {
	f := newFolders(t)
	t.Setenv("PUGMARK_SESSION_ID", "stale")
	t.Setenv("TRACESTATE", "stale")
	t.Setenv("MY_PROXY", "kept")
	o := f.open(t, handler(shell("env >env")))
	got, err := os.ReadFile(o.Cache + "/env")
	require.NoError(t, err)
	require.Contains(t, string(got), "MY_PROXY=kept\n")
	require.NotContains(t, string(got), "stale")
	for _, entry := range o.Handler[TransportSubprocess].Env {
		require.NotContains(t, entry, "stale")
	}
}
