//go:build unix

package subject

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// setups counts the set-ups that are kept, and their lock files.
func (f folders) setups(t *testing.T) (roots, locks int) {
	t.Helper()
	made, err := filepath.Glob(f.cache + "/setup/*/stamp")
	require.NoError(t, err)
	held, err := filepath.Glob(f.cache + "/setup/*.lock")
	require.NoError(t, err)
	return len(made), len(held)
}

// closed opens a subject and lets go of it.
func (f folders) closed(t *testing.T, file *File) *Opened {
	t.Helper()
	o := f.open(t, file)
	require.NoError(t, o.Close())
	require.NoError(t, o.Close())
	return o
}

func TestOnlyTheSetupsThatWereUsedLastAreKept(t *testing.T) {
	f := newFolders(t)
	file := handler(Args{"true", "{dir}/needs.txt"}, shell("echo x >>"+f.dir+"/marks"))
	first := ""
	for i := range 4 {
		writeFile(t, f.dir+"/needs.txt", fmt.Sprint(i))
		o := f.closed(t, file)
		if i == 0 {
			first = o.Cache
		}
	}
	roots, locks := f.setups(t)
	require.Equal(t, 2, roots)
	require.Equal(t, 2, locks)
	require.NoDirExists(t, first)

	// The one before is there still, and counts as used from now on.
	writeFile(t, f.dir+"/needs.txt", "2")
	f.closed(t, file)
	require.Equal(t, 4, f.marks(t))
	writeFile(t, f.dir+"/needs.txt", "4")
	f.closed(t, file)
	writeFile(t, f.dir+"/needs.txt", "2")
	f.closed(t, file)
	require.Equal(t, 5, f.marks(t))
	writeFile(t, f.dir+"/needs.txt", "3")
	f.closed(t, file)
	require.Equal(t, 6, f.marks(t), "of two the one that was not used for longest goes")
}

func TestASetupOfAnotherSubjectFileIsLeftAlone(t *testing.T) {
	f := newFolders(t)
	elsewhere := folders{t.TempDir(), f.cache}
	file := handler(Args{"true", "{dir}/needs.txt"})
	writeFile(t, elsewhere.dir+"/needs.txt", "mine")
	kept := elsewhere.closed(t, file)
	for i := range 4 {
		writeFile(t, f.dir+"/needs.txt", fmt.Sprint(i))
		f.closed(t, file)
	}
	require.DirExists(t, kept.Cache)
}

func TestASetupThatDidNotGoThroughIsTheFirstToGo(t *testing.T) {
	f := newFolders(t)
	file := handler(Args{"sh", "{dir}/needs.sh"})
	writeFile(t, f.dir+"/needs.sh", "true")
	good := f.closed(t, file)
	writeFile(t, f.dir+"/needs.sh", "false")
	_, err := Open(t.Context(), file, f.dir, f.cache, nil)
	require.Error(t, err)
	writeFile(t, f.dir+"/needs.sh", ":")
	f.closed(t, file)
	require.DirExists(t, good.Cache)
	origins, err := filepath.Glob(f.cache + "/setup/*/origin")
	require.NoError(t, err)
	require.Len(t, origins, 2)
}

func TestASetupThatIsInUseIsKept(t *testing.T) {
	f := newFolders(t)
	file := handler(Args{"true", "{dir}/needs.txt"})
	writeFile(t, f.dir+"/needs.txt", "one")
	used := f.open(t, file)
	again := f.open(t, file) // as many as want
	require.NoError(t, again.Close())
	for i := range 3 {
		writeFile(t, f.dir+"/needs.txt", fmt.Sprint(i))
		f.closed(t, file)
	}
	require.DirExists(t, used.Cache)
	require.NoError(t, used.Close())
	writeFile(t, f.dir+"/needs.txt", "last")
	f.closed(t, file)
	require.NoDirExists(t, used.Cache)
}

// Another process has it, and lets go when it ends, however it ends.
func TestASetupThatAnotherProcessUsesIsKept(t *testing.T) {
	f := newFolders(t)
	writeFile(t, filepath.Join(f.dir, FileName),
		"name: x\nkind: handler\nsetup: [['true', '{dir}/needs.txt']]\ntransports: {rpc: {command: ['true']}}\n")
	writeFile(t, f.dir+"/needs.txt", "one")
	c := exec.Command(os.Args[0], f.dir, f.cache)
	c.Env = append(os.Environ(), "SUBJECT_TEST=open-and-stay")
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { c.Process.Kill() })
	var theirs string
	_, err = fmt.Fscanln(out, &theirs)
	require.NoError(t, err)

	file, err := Load(filepath.Join(f.dir, FileName))
	require.NoError(t, err)
	for i := range 3 {
		writeFile(t, f.dir+"/needs.txt", fmt.Sprint(i))
		f.closed(t, file)
	}
	require.DirExists(t, theirs)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	writeFile(t, f.dir+"/needs.txt", "last")
	f.closed(t, file)
	require.NoDirExists(t, theirs)
}

func TestALockWhoseFileWasRemovedIsNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	unlock, err := lock(t.Context(), path, nil)
	require.NoError(t, err)
	held := make(chan func(), 1)
	go func() {
		second, err := lock(context.Background(), path, func() {
			os.Remove(path) // while it is waited for
			unlock()
		})
		if err == nil {
			held <- second
		}
		close(held)
	}()
	second, ok := <-held
	require.True(t, ok)
	defer second()
	_, err = tryHold(path, exclusive)
	require.ErrorIs(t, err, errHeld, "what the second holds is the file that all look at")
}

func TestASetupOfAReadOnlyCacheIsUsed(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root may write everywhere, so this shows little here")
	}
	f := newFolders(t)
	file := handler(shell("echo x >>" + f.dir + "/marks"))
	o := f.closed(t, file)
	require.NoError(t, os.Remove(filepath.Dir(o.Cache)+".lock"))
	require.NoError(t, os.Chmod(f.cache+"/setup", 0o555))
	t.Cleanup(func() { os.Chmod(f.cache+"/setup", 0o755) })
	f.closed(t, file)
	require.Equal(t, 1, f.marks(t))
}
