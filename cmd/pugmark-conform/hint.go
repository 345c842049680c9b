package main

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/runner"
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

// hintFor is what may have been meant by a pattern that matches nothing: a folder of
// cases, the file of a case, or a case that is not among the built-in ones.
func hintFor(cases []*casefile.Case, pattern string) string {
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
	return ""
}
