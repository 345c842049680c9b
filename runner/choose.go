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
	// FailedFrom is the report whose failures alone are run; what they are stands in
	// [Options.Only].
	FailedFrom string
}

// IsAll reports whether nothing was left out.
func (c Choice) IsAll() bool {
	return len(c.Patterns)+len(c.Requirements)+len(c.Levels)+len(c.Transports)+len(c.WithoutReadings) == 0 && c.FailedFrom == ""
}

// Words is the choice as the report shows it.
func (c Choice) Words() []string {
	words := slices.Clone(c.Patterns)
	for _, f := range c.flags() {
		for _, v := range f.words {
			words = append(words, "--"+f.name+"="+v)
		}
	}
	for _, v := range c.WithoutReadings {
		words = append(words, "--without-readings="+v)
	}
	if c.FailedFrom != "" {
		words = append(words, "--failed-from="+c.FailedFrom)
	}
	slices.Sort(words)
	return words
}

// flag is one of the flags that keep cases, and its words.
type flag struct {
	name  string
	words []string
}

func (c Choice) flags() []flag {
	return []flag{{"requirement", c.Requirements}, {"level", c.Levels}, {"transport", c.Transports}}
}

// NothingError says that a choice leaves nothing to run, or that one of its
// patterns matches nothing: a mistake of the caller, never a pass.
type NothingError struct{ Message string }

func (e *NothingError) Error() string { return e.Message }

// Choose returns the cases of the subject's kinds that the choice keeps. A word of
// the choice that matches nothing, and a choice that leaves nothing to run, are a
// *NothingError.
func Choose(all []*casefile.Case, c Choice, registry *spec.Spec, s Subject) ([]*casefile.Case, error) {
	for _, id := range c.WithoutReadings {
		if _, ok := registry.Reading(id); !ok && id != "*" {
			return nil, &NothingError{fmt.Sprintf("--without-readings=%s: no reading has this ID", id)}
		}
	}
	for _, t := range c.Transports {
		if !slices.Contains(casefile.Transports(), t) {
			return nil, &NothingError{fmt.Sprintf("--transport=%s: there is %s", t, strings.Join(casefile.Transports(), ", "))}
		}
	}
	kinds := s.Kinds()
	var chosen []*casefile.Case
	used := map[string]bool{}
	others, other := 0, ""
	for _, candidate := range all {
		if !c.keeps(candidate, registry, used) {
			continue
		}
		if !slices.Contains(kinds, candidate.Kind) {
			others, other = others+1, candidate.Kind
			continue
		}
		chosen = append(chosen, candidate)
	}
	for _, p := range c.Patterns {
		if !used["case "+p] {
			return nil, nothing("%q matches no case", p)
		}
	}
	for _, f := range c.flags() {
		for _, word := range f.words {
			if used[f.name+" "+word] {
				continue
			}
			if near, ok := registry.Suggest(word); ok && f.name == "requirement" && near != word {
				return nil, &NothingError{fmt.Sprintf("--requirement=%s matches no case; did you mean %s?", word, near)}
			}
			return nil, nothing("--%s=%s matches no case", f.name, word)
		}
	}
	switch {
	case len(chosen) == 0 && others > 0:
		cases := "the case that was chosen is"
		if others > 1 {
			cases = fmt.Sprintf("the %d cases that were chosen are", others)
		}
		return nil, &NothingError{fmt.Sprintf("%s is a %s, and %s for a %s", s.Name, strings.Join(kinds, " and a "), cases, other)}
	case len(chosen) == 0:
		return nil, nothing("the choice leaves no case to run")
	}
	return chosen, c.reachable(chosen, s)
}

// reachable is an error when the choice names transports, and the subject offers
// none of them for any chosen case.
func (c Choice) reachable(chosen []*casefile.Case, s Subject) error {
	if len(c.Transports) == 0 {
		return nil
	}
	for _, candidate := range chosen {
		if slices.ContainsFunc(unique(s.transports(candidate.Kind), c.Transports), candidate.Supports) {
			return nil
		}
	}
	return &NothingError{fmt.Sprintf("%s offers %s, so nothing is left to run over %s",
		s.Name, strings.Join(s.allTransports(), ", "), strings.Join(c.Transports, ", "))}
}

func nothing(format string, args ...any) error {
	return &NothingError{fmt.Sprintf(format, args...) + "; `pugmark-conform list` shows what there is"}
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
