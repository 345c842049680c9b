package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/subject"
)

// place is a file that a verb reads or writes beside its reports, and what it is.
type place struct{ path, what string }

// apart is an error when a report would be written over a place, over what else lies in
// the evidence folder, or into the file that standard output is: one of the two would be
// lost, and nobody told.
func (a *app) apart(outputs []output, evidence string, places ...place) error {
	stdout, hasFile := os.FileInfo(nil), false
	if f := fileOf(a.Out); f != nil {
		info, err := f.Stat()
		stdout, hasFile = info, err == nil && info.Mode().IsRegular()
	}
	for _, o := range outputs {
		if o.path == "-" {
			continue
		}
		fail := func(what string) error {
			return fmt.Errorf("--output %s=%s: %s; name another file", o.format, o.path, what)
		}
		if info, err := os.Stat(o.path); err == nil && hasFile && os.SameFile(info, stdout) {
			return fail("standard output goes to this file")
		}
		for _, p := range places {
			if p.path != "" && samePlace(o.path, p.path) {
				return fail("this is " + p.what)
			}
		}
		if what := o.inEvidence(evidence); what != "" {
			return fail(what)
		}
	}
	return nil
}

// inEvidence says what speaks against a report at a path in the evidence folder. Beside
// the folders of cases it may lie, until the next run empties the folder.
func (o output) inEvidence(evidence string) string {
	name, err := filepath.Rel(followed(evidence), followed(o.path))
	switch {
	case evidence == "" || err != nil || !filepath.IsLocal(name):
		return ""
	case name == storedReport && o.format == "json": // the same bytes
		return ""
	case name == storedReport:
		return "the run keeps its report in json there"
	case name == marker || name != filepath.Base(name) || slices.Contains([]string{casefile.KindHandler, casefile.KindRuntime}, name) || strings.HasPrefix(name, "repeat-"):
		return "the evidence of cases lies there"
	}
	return ""
}

// samePlace reports whether two paths, of which one is written to, are one file, there or
// not, by whatever links. What is no file is the same by its name alone: a device or a
// pipe takes one after the other.
func samePlace(a, b string) bool {
	if a == "-" || b == "-" {
		return a == b
	}
	a, b = followed(a), followed(b)
	first, errA := os.Stat(a)
	second, errB := os.Stat(b)
	if errA == nil && errB == nil && first.Mode().IsRegular() {
		return os.SameFile(first, second)
	}
	return a == b
}

// followed is a path without links, also where the last one leads to nothing yet.
func followed(path string) string {
	const most = 40 // as many as the system follows
	for range most {
		path = resolved(path)
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path
}

// noted remembers reports and such as no source of any subject; see
// [subject.NoteWritten]. Where that can't be done, a set-up that names their folder is
// run once more than needed.
func (a *app) noted(paths ...string) {
	if cache, err := subject.DefaultCache(); err == nil {
		_ = subject.NoteWritten(cache, paths...)
	}
}
