package runner

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/spec"
)

// Choice is what of all cases is to be run. Empty lists choose everything.
type Choice struct {
	// Patterns are globs on case IDs: * within a segment, ** across.
	Patterns []string
	// Requirements, Levels and Transports keep only what covers, has or uses one
	// of them. Requirements are globs too.
	Requirements, Levels, Transports []string
	// WithoutReadings leaves out the cases that rest on one of these readings; a
	// single * is all readings.
	WithoutReadings []string
}

// IsAll reports whether nothing was left out.
func (c Choice) IsAll() bool {
	return len(c.Patterns)+len(c.Requirements)+len(c.Levels)+len(c.Transports)+len(c.WithoutReadings) == 0
}

// Words is the choice as the report shows it.
func (c Choice) Words() []string {
	words := slices.Clone(c.Patterns)
	for flag, values := range map[string][]string{
		"requirement": c.Requirements, "level": c.Levels, "transport": c.Transports, "without-readings": c.WithoutReadings,
	} {
		for _, v := range values {
			words = append(words, "--"+flag+"="+v)
		}
	}
	slices.Sort(words)
	return words
}

// NothingError says that a choice leaves nothing to run, or that one of its
// patterns matches nothing: a mistake of the caller, never a pass.
type NothingError struct{ Message string }

func (e *NothingError) Error() string { return e.Message }

// Choose returns the cases of the subject's kinds that the choice keeps.
func Choose(all []*casefile.Case, c Choice, registry *spec.Spec, s Subject) ([]*casefile.Case, error) {
	kinds := s.Kinds()
	var chosen []*casefile.Case
	used := map[string]bool{}
	other := map[string]int{}
	for _, candidate := range all {
		if !c.keeps(candidate, registry, used) {
			continue
		}
		if !slices.Contains(kinds, candidate.Kind) {
			other[candidate.Kind]++
			continue
		}
		chosen = append(chosen, candidate)
	}
	for flag, patterns := range map[string][]string{"case": c.Patterns, "requirement": c.Requirements, "level": c.Levels, "transport": c.Transports} {
		for _, p := range patterns {
			if !used[flag+" "+p] {
				return nil, &NothingError{fmt.Sprintf("the %s %q matches no case; `pugmark-conform list` shows what there is", flag, p)}
			}
		}
	}
	if len(chosen) == 0 {
		for kind, n := range other {
			return nil, &NothingError{fmt.Sprintf("%s is a %s, and the %d cases that were chosen are for a %s", s.Name, strings.Join(kinds, " and a "), n, kind)}
		}
		return nil, &NothingError{"the choice leaves no case to run; `pugmark-conform list` shows what there is"}
	}
	return chosen, nil
}

// keeps reports whether the choice keeps a case, and notes which of its words
// matched something.
func (c Choice) keeps(candidate *casefile.Case, registry *spec.Spec, used map[string]bool) bool {
	keep := matches("case", c.Patterns, used, func(p string) bool { return Match(p, candidate.ID) })
	keep = matches("requirement", c.Requirements, used, func(p string) bool {
		return slices.ContainsFunc(candidate.Covers, func(id string) bool { return Match(p, id) })
	}) && keep
	keep = matches("level", c.Levels, used, func(level string) bool {
		return slices.ContainsFunc(candidate.Covers, func(id string) bool {
			r, ok := registry.Requirement(id)
			return ok && strings.EqualFold(string(r.Level), level)
		})
	}) && keep
	keep = matches("transport", c.Transports, used, candidate.Supports) && keep
	if slices.ContainsFunc(candidate.Readings, func(id string) bool {
		return slices.Contains(c.WithoutReadings, id) || slices.Contains(c.WithoutReadings, "*")
	}) {
		return false
	}
	return keep
}

func matches(flag string, words []string, used map[string]bool, match func(string) bool) bool {
	keep := len(words) == 0
	for _, word := range words {
		if match(word) {
			used[flag+" "+word] = true
			keep = true
		}
	}
	return keep
}

// Match reports whether a glob matches a case or requirement ID: * matches within
// a segment, ** any number of segments.
func Match(pattern, id string) bool {
	return matchSegments(strings.Split(pattern, "/"), strings.Split(id, "/"))
}

func matchSegments(pattern, id []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := range len(id) + 1 {
				if matchSegments(pattern[1:], id[i:]) {
					return true
				}
			}
			return false
		}
		if len(id) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], id[0]); err != nil || !ok {
			return false
		}
		pattern, id = pattern[1:], id[1:]
	}
	return len(id) == 0
}
