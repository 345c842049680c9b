package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
)

// knownFile is the path of the file that the run is held against, empty for none: that
// of the flag, else the one that is to shrink, else the subject's. isNew is set when
// the file is to be made.
func (f runFlags) knownFile(under opened) (file string, isNew bool, err error) {
	switch {
	case f.knownSet:
		file = f.known
	case under.known != "":
		file = relative(under.known)
	}
	if f.writeKnown == "" {
		return file, false, nil
	}
	_, err = os.Stat(f.writeKnown)
	same := file != "" && samePlace(file, f.writeKnown)
	switch {
	case errors.Is(err, fs.ErrNotExist) && file != "" && !same:
		if _, err := os.Stat(file); err == nil {
			return "", false, fmt.Errorf("--write-known-failures %s: there are known failures already, in %s; name that one, which can shrink", f.writeKnown, file)
		}
		return "", true, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", true, nil
	case err != nil:
		return "", false, fmt.Errorf("--write-known-failures %s: %w", f.writeKnown, err)
	case file != "" && !same:
		return "", false, fmt.Errorf("--write-known-failures %s: the run is held against %s; name that one", f.writeKnown, file)
	}
	return f.writeKnown, false, nil
}

// relative is a path as the reader of a report would write it: from the working
// folder, when it is below that.
func relative(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// loadKnown reads the known-failures file. All that is wrong with it is said.
func (a *app) loadKnown(file string, s *suite, under runner.Subject) (*runner.Known, error) {
	if file == "" {
		return nil, nil
	}
	entries, problems, err := casefile.LoadKnownFailures(file, s.registry)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		const most = 10 // a first file has a placeholder in each entry
		for _, p := range problems[:min(len(problems), most)] {
			fmt.Fprintln(a.Err, p)
		}
		if more := len(problems) - most; more > 0 {
			fmt.Fprintf(a.Err, "and %d more\n", more)
		}
		return nil, fmt.Errorf("%s in the known-failures file; nothing was run", count(len(problems), "problem"))
	}
	return runner.NewKnown(filepath.ToSlash(file), entries, runner.Everything(s.cases, under), a.now()), nil
}

// keepKnown makes the known-failures file of a run, or lets it shrink, and says what it
// did.
func (f runFlags) keepKnown(out io.Writer, done *result.Run, whole []runner.Key, isNew bool) error {
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(out, format+"\n", args...)
		return err
	}
	unfinished := func(c result.Case) bool {
		return c.Verdict == result.NotRun || c.Verdict == result.HarnessError
	}
	if slices.ContainsFunc(done.Cases, unfinished) {
		return say("%s was not written: not every case was run to its end", f.writeKnown)
	}
	if isNew {
		data, n := runner.FirstKnown(done.Subject.Name, done.Cases, whole)
		if err := f.replaceKnown(data); err != nil {
			return err
		}
		if n == 0 {
			why := "nothing failed"
			if slices.ContainsFunc(done.Cases, func(c result.Case) bool { return c.Verdict == result.Flaky }) {
				why = "what is flaky can't be excused, and nothing else failed"
			}
			return say("%s was made, with no entry: %s", f.writeKnown, why)
		}
		entries := "1 entry"
		if n != 1 {
			entries = fmt.Sprintf("%d entries", n)
		}
		return say("%s was made, with %s; write in the place of each %s why it is known: it is refused until then",
			f.writeKnown, entries, casefile.PlaceholderReason)
	}
	data, err := os.ReadFile(f.writeKnown)
	if err != nil {
		return fmt.Errorf("--write-known-failures: %w", err)
	}
	shrunk, err := runner.ShrinkKnown(data, done.Known, done.Cases)
	if err != nil {
		return fmt.Errorf("--write-known-failures %s: %w", f.writeKnown, err)
	}
	if len(shrunk.Removed) > 0 {
		if err := f.replaceKnown(shrunk.Data); err != nil {
			return err
		}
	}
	var lines []string
	list := func(head string, items []string) {
		if len(items) > 0 {
			lines = append(lines, head)
			for _, item := range items {
				lines = append(lines, "  "+item)
			}
		}
	}
	list("removed from "+f.writeKnown+":", shrunk.Removed)
	list("refused to add to "+f.writeKnown+", which can only shrink; mend these, or add them by hand with a reason:", shrunk.Refused)
	list("to be mended by hand in "+f.writeKnown+":", shrunk.Left)
	if len(lines) == 0 {
		lines = []string{f.writeKnown + " stays as it is"}
	}
	return say("%s", strings.Join(lines, "\n"))
}

// replaceKnown writes the file, whole or not at all.
func (f runFlags) replaceKnown(data []byte) error {
	fail := func(err error) error { return fmt.Errorf("--write-known-failures %s: %w", f.writeKnown, err) }
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(f.writeKnown); err == nil {
		mode = info.Mode().Perm()
	}
	target := f.writeKnown
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real
	}
	temporary, err := os.CreateTemp(filepath.Dir(target), ".known-failures-*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(data)
	if err := errors.Join(err, temporary.Close(), os.Chmod(temporary.Name(), mode)); err != nil {
		return fail(err)
	}
	if err := os.Rename(temporary.Name(), target); err != nil {
		return fail(err)
	}
	return nil
}
