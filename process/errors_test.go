//go:build unix

package process

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	require.NoError(t, os.Chmod(path, mode)) // whatever the umask
}

func TestStartErrorsSayTheCause(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "plain"), "#!/bin/sh\n", 0o644)
	writeFile(t, filepath.Join(dir, "orphan"), "#! /nowhere/python9 -u\n", 0o755)
	writeFile(t, filepath.Join(dir, "crlf"), "#!/bin/sh\r\nexit 0\r\n", 0o755)
	writeFile(t, filepath.Join(dir, "text"), "hello\n", 0o755)
	path := []string{"PATH=relative:" + dir + "/missing:" + dir}

	for _, test := range []struct {
		name string
		c    Command
		kind error
		text string
	}{
		{"no arguments", Command{}, ErrNoProgram, `start "": the command names no program`},
		{"an empty program", Command{Args: []string{""}}, ErrNoProgram, `start "": the command names no program`},
		{"not in PATH", Command{Args: []string{"pugmark-nothing"}, Env: path}, ErrNotFound,
			`start "pugmark-nothing": program not found: it is in no folder of PATH; install it or fix the path`},
		{"no such file", Command{Args: []string{"./nothing"}, Dir: dir}, ErrNotFound,
			`start "./nothing" in "` + dir + `": program not found: no such file; install it or fix the path`},
		{"a file on the way", Command{Args: []string{dir + "/plain/x"}}, ErrNotFound,
			`start "` + dir + `/plain/x": program not found: no such file; install it or fix the path`},
		{"no mode to run", Command{Args: []string{"./plain"}, Dir: dir}, ErrNotExecutable,
			`start "./plain" in "` + dir + `": program is not executable: its mode is -rw-r--r--; chmod +x it`},
		{"no mode to run, in PATH", Command{Args: []string{"plain"}, Env: path}, ErrNotExecutable,
			`start "plain": program is not executable: ` + dir + `/plain: its mode is -rw-r--r--; chmod +x it`},
		{"a folder", Command{Args: []string{dir}}, ErrNotExecutable,
			`start "` + dir + `": program is not executable: it is a folder`},
		{"neither program nor script", Command{Args: []string{"./text"}, Dir: dir}, ErrNotExecutable,
			`start "./text" in "` + dir + `": program is not executable: it is neither a program for this machine nor a script with a #! line`},
		{"an interpreter that is missing", Command{Args: []string{"./orphan"}, Dir: dir}, ErrNotFound,
			`start "./orphan" in "` + dir + `": program not found: its first line asks for "/nowhere/python9", which is missing; install it or fix the line`},
		{"a carriage return in the first line", Command{Args: []string{"./crlf"}, Dir: dir}, ErrNotFound,
			`start "./crlf" in "` + dir + `": program not found: its first line asks for "/bin/sh\r", which is missing; install it or fix the line`},
		{"no folder", Command{Args: []string{"sh"}, Dir: dir + "/gone"}, ErrNoFolder,
			`start "sh" in "` + dir + `/gone": working folder is missing: stat ` + dir + `/gone: no such file or directory`},
		{"a file as folder", Command{Args: []string{"sh"}, Dir: dir + "/plain"}, ErrNoFolder,
			`start "sh" in "` + dir + `/plain": working folder is missing: it is a file`},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := openFiles(t)
			_, err := Start(test.c)
			require.ErrorIs(t, err, test.kind)
			var typed *StartError
			require.True(t, errors.As(err, &typed))
			require.Equal(t, test.text, err.Error())
			require.LessOrEqual(t, openFiles(t), files, "descriptors are left")
		})
	}
}

func TestProgramIsFoundWhereTheCommandSays(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "three"), "#!/bin/sh\nexit 3\n", 0o755)
	for name, c := range map[string]Command{
		"in the PATH of Env":      {Args: []string{"three"}, Env: []string{"PATH=/nowhere:" + dir}},
		"in the last PATH of Env": {Args: []string{"three"}, Env: []string{"PATH=/nowhere", "PATH=" + dir}},
		"from Dir":                {Args: []string{"./three"}, Dir: dir},
		"by its whole path":       {Args: []string{dir + "/three"}, Dir: "/"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, Exit{Code: 3}, wait(t, start(t, c)))
		})
	}
	t.Run("in the harness's PATH when Env has none", func(t *testing.T) {
		t.Setenv("PATH", dir)
		require.Equal(t, Exit{Code: 3}, wait(t, start(t, Command{Args: []string{"three"}})))
	})
}

// busyScript is a program that somebody has open for writing.
func busyScript(t *testing.T) (string, *os.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "busy")
	writeFile(t, path, "#!/bin/sh\nexit 3\n", 0o755)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return path, f
}

func TestAProgramStillBeingWrittenIsTriedAgain(t *testing.T) {
	path, f := busyScript(t)
	_, err := (*Set)(nil).start(Command{Args: []string{path}}, 0)
	require.ErrorIs(t, err, ErrBusy, "the premise: without another try it can't be started")
	require.ErrorIs(t, err, syscall.ETXTBSY)

	time.AfterFunc(50*time.Millisecond, func() { f.Close() })
	p, err := (*Set)(nil).start(Command{Args: []string{path}}, long)
	require.NoError(t, err)
	defer p.End(0)
	require.Equal(t, Exit{Code: 3}, wait(t, p))
}

func TestOtherErrorsAreNotTriedAgain(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "text"), "hello\n", 0o755)
	began := time.Now()
	_, err := (*Set)(nil).start(Command{Args: []string{dir + "/text"}}, time.Hour)
	require.ErrorIs(t, err, ErrNotExecutable)
	require.Less(t, time.Since(began), long)
}

func TestScriptsWrittenAndStartedInParallelNeverFail(t *testing.T) {
	// F13: the descriptor of one is open in the child that another forks. Two
	// things stand against it: forks wait for each other's exec, and the retry,
	// which the test above is about.
	dir := t.TempDir()
	errs := make(chan error)
	const n = 200
	limit := make(chan bool, 16)
	for i := range n {
		go func() {
			limit <- true
			defer func() { <-limit }()
			path := filepath.Join(dir, string(rune('a'+i%26))+time.Duration(i).String())
			if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
				errs <- err
				return
			}
			p, err := Start(Command{Args: []string{path}})
			if err == nil {
				if e := p.Wait(); e.Code != 3 {
					err = errors.New(e.String())
				}
				p.End(0)
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
