package main

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/mutants"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
)

// hinted adds to an error about patterns what may have been meant by the first of
// them that matches none of the cases.
func hinted(err error, cases []*casefile.Case, patterns ...string) error {
	for _, p := range patterns {
		if matchAny(cases, p) {
			continue
		}
		if hint := hintFor(cases, p); hint != "" {
			return fmt.Errorf("%w; %s", err, hint)
		}
		return err
	}
	return err
}

func matchAny(cases []*casefile.Case, pattern string) bool {
	return slices.ContainsFunc(cases, func(c *casefile.Case) bool { return runner.Match(pattern, c.ID) })
}

// hintFor is what may have been meant by a pattern that matches nothing: something that
// is no case, a folder of cases, the file of a case, a case that is not among the
// built-in ones, or a part of an ID.
func hintFor(cases []*casefile.Case, pattern string) string {
	if registry, err := spec.Load(); err == nil {
		if hint := otherThing(registry, pattern); hint != "" {
			return hint
		}
	}
	pattern = path.Clean(filepath.ToSlash(pattern))
	if matchAny(cases, pattern+"/*") {
		return fmt.Sprintf("all cases in that folder are '%s/*'", pattern)
	}
	if matchAny(cases, pattern+"/**") {
		return fmt.Sprintf("all cases below that folder are '%s/**'", pattern)
	}
	id := pattern
	if _, below, ok := strings.Cut("/"+pattern, "/"+casesFolder+"/"); ok {
		id = below
	}
	id = strings.TrimSuffix(strings.TrimSuffix(id, ".yaml"), ".txtar")
	if id != pattern && matchAny(cases, id) {
		return fmt.Sprintf("the ID of that case is %s", id)
	}
	for _, extension := range []string{".yaml", ".txtar"} {
		if isFile(filepath.Join(casesFolder, filepath.FromSlash(id)+extension)) {
			return fmt.Sprintf("it is a file of %s, and not among the cases that were loaded: add --cases %s", casesFolder, casesFolder)
		}
	}
	return partOf(cases, pattern)
}

// otherThing says what a word names that is no case.
func otherThing(registry *spec.Spec, word string) string {
	if _, ok := registry.Requirement(word); ok {
		return fmt.Sprintf("it is a requirement: `pugmark-conform explain %s` shows it, and names its cases", word)
	}
	if _, ok := registry.Reading(word); ok {
		return fmt.Sprintf("it is a reading: `pugmark-conform explain %s` shows it, and names its cases", word)
	}
	return wrongSubject(word)
}

// wrongSubject says what a mutant, a twin or an idler with the ID is.
func wrongSubject(id string) string {
	what := ""
	if i := slices.IndexFunc(mutants.All(), func(m mutants.Mutant) bool { return m.ID == id }); i >= 0 {
		what = "a mutant, which breaks " + mutants.All()[i].Requirement
	} else if slices.ContainsFunc(mutants.Twins(), func(t mutants.Twin) bool { return t.ID == id }) {
		what = "a twin, which breaks nothing"
	} else if slices.ContainsFunc(mutants.Idlers(), func(i mutants.Idler) bool { return i.ID == id }) {
		what = "a subject that does nothing"
	} else {
		return ""
	}
	return fmt.Sprintf("it is %s: `pugmark-conform mutants %s` puts it to the test", what, id)
}

// partOf names the cases whose ID has the word as its last part, or anywhere.
func partOf(cases []*casefile.Case, word string) string {
	if word == "" || strings.ContainsAny(word, "*?[\\") {
		return ""
	}
	var last, within []string
	for _, c := range cases {
		if strings.HasSuffix(c.ID, "/"+word) {
			last = append(last, c.ID)
		}
		if strings.Contains(c.ID, word) {
			within = append(within, c.ID)
		}
	}
	const most = 3
	found := last
	if len(found) == 0 {
		found = within
	}
	switch {
	case len(found) == 0:
		return ""
	case len(found) <= most:
		return fmt.Sprintf("did you mean %s?", strings.Join(found, " or "))
	case strings.Contains(word, "/"):
		return fmt.Sprintf("it is a part of the IDs of %d cases, such as %s", len(found), found[0])
	}
	return fmt.Sprintf("it is a part of the IDs of %d cases: `pugmark-conform list '**/*%s*/**'`", len(found), word)
}

// sectionHint names the requirements that a section has, by its number or by what
// their IDs begin with: 7.1, P7.1.
func sectionHint(registry *spec.Spec, word string) string {
	number := strings.TrimSuffix(strings.TrimPrefix(word, "section "), "/")
	var of []string
	for _, r := range registry.Requirements() {
		if head, _, _ := strings.Cut(r.ID, "/"); head == number || spec.Section(number) == r.Section {
			of = append(of, r.ID)
		}
	}
	if len(of) == 0 {
		if heading, ok := registry.Heading(spec.Section(number)); ok {
			return fmt.Sprintf("%s is section %s, %s, and no requirement is of it alone", word, heading.Section, heading.Title)
		}
		return ""
	}
	return fmt.Sprintf("%s is a section, and `pugmark-conform explain` takes one requirement of it: %s", word, strings.Join(of, ", "))
}
