package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// hit is one check of one case that says something about a requirement.
type hit struct {
	*result.Case
	check *result.Check
}

// finding is all that speaks against one requirement, in order of cases.
type finding struct {
	requirement requirement
	hits        []hit
}

// requirement is what a report says of a requirement: the run's own record of it,
// with what the registry of this program adds.
type requirement struct {
	id, word, section, title, text string
	position                       int
}

// lookUp finds requirements by ID: first in the run, so that a report can be shown
// by a program with another registry.
type lookUp struct {
	run   *result.Run
	spec  *spec.Spec // may be nil
	place map[string]int
}

func newLookUp(run *result.Run, s *spec.Spec) *lookUp {
	l := &lookUp{run: run, spec: s, place: map[string]int{}}
	for i, q := range run.Requirements {
		l.place[q.ID] = i
	}
	return l
}

func (l *lookUp) requirement(id string) requirement {
	r := requirement{id: id, position: len(l.run.Requirements)}
	if i, ok := l.place[id]; ok {
		q := &l.run.Requirements[i]
		r.position, r.word, r.section, r.text = i, q.Level, q.Section, q.Text
	}
	if l.spec == nil {
		return r
	}
	if q, ok := l.spec.Requirement(id); ok {
		r.word = q.Word()
		r.section = cmp.Or(r.section, string(q.Section))
		r.text = cmp.Or(r.text, q.Text)
	}
	r.title = l.title(r.section)
	return r
}

// title is the heading of a section, empty when it is not known.
func (l *lookUp) title(section string) string {
	if l.spec == nil {
		return ""
	}
	h, _ := l.spec.Heading(spec.Section(section))
	return h.Title
}

// reading is our answer with the ID, empty when it is not known.
func (l *lookUp) reading(id string) string {
	if l.spec == nil {
		return ""
	}
	r, _ := l.spec.Reading(id)
	return r.Reading
}

// findings groups the checks with the verdict by requirement, in the order of the
// registry. The run has to be ordered. Checks of cases that the harness could not
// judge accuse no one, and those that the known-failures file excuses stand with
// it.
func findings(l *lookUp, verdict result.Verdict) []finding {
	by := map[string]*finding{}
	for i := range l.run.Cases {
		c := &l.run.Cases[i]
		if c.Verdict == result.HarnessError || c.Verdict == result.KnownFailure {
			continue
		}
		for j := range c.Checks {
			k := &c.Checks[j]
			if k.Verdict != verdict {
				continue
			}
			if by[k.Requirement] == nil {
				by[k.Requirement] = &finding{requirement: l.requirement(k.Requirement)}
			}
			by[k.Requirement].hits = append(by[k.Requirement].hits, hit{c, k})
		}
	}
	all := make([]finding, 0, len(by))
	for _, f := range by {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b finding) int {
		return cmp.Or(
			cmp.Compare(a.requirement.position, b.requirement.position),
			cmp.Compare(a.requirement.id, b.requirement.id),
		)
	})
	return all
}

// echo is a hit that says the same on several transports.
type echo struct {
	hit
	transports []string
}

// echoes joins hits of the same check of the same case that found the same, but for
// what differs from one transport to another.
func echoes(hits []hit) []echo {
	type key struct{ id, check, where, want, got, diff string }
	at, like := map[key]int{}, newLikeness()
	several := map[key]int{}
	for _, h := range hits {
		several[key{id: h.ID, check: h.check.ID}]++
	}
	var all []echo
	for _, h := range hits {
		k := key{id: h.ID, check: h.check.ID}
		if several[k] > 1 { // else there is nothing that it could be like
			k.where, k.want, k.got, k.diff = like.of(h.check.Where), like.of(h.check.Want), like.of(h.check.Got), like.of(h.check.Diff)
		}
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k] = i
			all = append(all, echo{hit: h})
		}
		if !slices.Contains(all[i].transports, h.Transport) {
			all[i].transports = append(all[i].transports, h.Transport)
		}
	}
	return all
}

// likeness is what differs between results that are otherwise the same: the seven digits
// that cases put into bodies, session IDs and digests, the bytes of a dump, whose text
// stands beside them, and what the output of a transport is called. Counts of bytes stay.
type likeness struct{ dump, digest, output, number *regexp.Regexp }

func newLikeness() likeness {
	return likeness{
		dump: regexp.MustCompile(`( [0-9a-f]{2}){2,}`), digest: regexp.MustCompile(`[0-9a-f]{16,}`),
		output: regexp.MustCompile(`\b(stdout|answer), `), number: regexp.MustCompile(`(\bbytes? )?[0-9]+( bytes?\b)?`),
	}
}

// of is a text without these differences.
func (l likeness) of(s string) string {
	s = l.dump.ReplaceAllString(s, " #")
	s = l.digest.ReplaceAllString(s, "#")
	s = l.output.ReplaceAllString(s, "output, ")
	return l.number.ReplaceAllStringFunc(s, func(number string) string {
		if len(number) == 7 && !strings.Contains(number, " ") {
			return "#"
		}
		return number
	})
}

// outcome is cases that came to the same verdict for the same reason, as far as [likeness]
// tells. The reason is that of the first.
type outcome struct {
	verdict result.Verdict
	reason  string
	cases   []*result.Case
}

// outcomes groups the cases with one of the verdicts, in the order of the
// verdicts, then of the cases.
func outcomes(cases []result.Case, wanted ...result.Verdict) []outcome {
	var all []outcome
	like := newLikeness()
	for _, v := range wanted {
		at := map[string]int{}
		for i := range cases {
			c := &cases[i]
			if c.Verdict != v {
				continue
			}
			reason := like.of(result.Clip(c.Reason, maxCopied))
			j, ok := at[reason]
			if !ok {
				j, at[reason] = len(all), len(all)
				all = append(all, outcome{verdict: v, reason: c.Reason})
			}
			all[j].cases = append(all[j].cases, c)
		}
	}
	return all
}
