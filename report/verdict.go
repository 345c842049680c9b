package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
)

// slowest is how many results are named under where the time goes.
const slowest = 5

// time counts the results, which are cases each on one transport, and shows where the
// time went.
func (p *page) time() {
	cases := slices.Clone(p.look.run.Cases)
	if len(cases) == 0 {
		return
	}
	t := tally{}
	var sum int64
	for _, c := range cases {
		t[c.Verdict]++
		sum += c.DurationMS
	}
	p.summed("results", t.words())
	p.summed("time", []string{Duration(p.look.run.DurationMS), "of wall time for", Duration(sum), "of results; the slowest:"})
	slices.SortStableFunc(cases, func(a, b result.Case) int { return cmp.Compare(b.DurationMS, a.DurationMS) })
	for _, c := range cases[:min(slowest, len(cases))] {
		p.line("%s", cutTo(fmt.Sprintf("  %9s  %s on %s", Duration(c.DurationMS), clean(c.ID), clean(c.Transport)), p.width))
	}
	p.masked()
	p.line("")
}

// summed writes one line of totals, wrapped.
func (p *page) summed(noun string, words []string) {
	const width = 9
	for i, line := range wrap(words, p.width-width) {
		if i > 0 {
			noun = ""
		}
		p.line("%s%s", p.paint(dim, pad(noun, width)), line)
	}
}

// verdict is the last line: what was judged, how it came out, and the exit status
// that says the same.
func (p *page) verdict() {
	run := p.look.run
	s := redBold
	switch {
	case len(run.Cases) == 0:
	case ExitStatus(run) == ExitConformant:
		s = greenBold
	case ExitStatus(run) == ExitIncomplete:
		s = yellowBold
	}
	line := p.paint(bold, subjectOf(run)) + ": " + p.paint(s, conclusion(run))
	if words := tested(run); words != "" {
		line += "; " + words
	}
	p.line("%s; exit status %d", line, ExitStatus(run))
}

// next says what one can do about a run that is not as it should be.
func (p *page) next(say func(first *result.Case) []string) {
	if say == nil || ExitStatus(p.look.run) == ExitConformant {
		return
	}
	label := "next"
	for _, line := range say(firstShown(p.look)) {
		p.line("%s  %s", p.paint(dim, pad(label, 4)), clean(line))
		label = ""
	}
}

// firstShown is the result that the summary shows first, nil when it shows none that
// counts against the subject.
func firstShown(l *lookUp) *result.Case {
	if all := findings(l, result.Fail); len(all) > 0 {
		return echoes(all[0].hits)[0].Case
	}
	for _, o := range unclear(l.run.Cases) {
		return o.cases[0]
	}
	return nil
}

// conclusion is how a run came out, in the words that every format has for it.
func conclusion(run *result.Run) string {
	word := outcomeOf(run)
	if !run.Selection.IsWhole() {
		word += ", of the selection"
	}
	return word
}

// outcomeOf is conclusion without what the run was of.
func outcomeOf(run *result.Run) string {
	cases := tally{}
	for _, c := range run.Cases {
		cases[c.Verdict]++
	}
	switch {
	case len(run.Cases) == 0:
		return "nothing was run"
	case cases[result.HarnessError] > 0:
		return "error of the harness in " + count(cases[result.HarnessError], "result")
	case run.Verdict == result.AsExpected:
		return "as expected with known failures in " + count(cases[result.KnownFailure], "result")
	}
	return clean(strings.ReplaceAll(string(run.Verdict), "-", " "))
}

// subjectOf is the name and the version of what was under test.
func subjectOf(run *result.Run) string {
	return strings.TrimSpace(clean(result.Clip(run.Subject.Name, maxName)) + " " + clean(result.Clip(run.Subject.Version, maxName)))
}

// tested counts the requirements that were put to the test; none is no words.
func tested(run *result.Run) string {
	requirements := tally{}
	for _, q := range run.Requirements {
		if q.Verdict != result.Untested && q.Verdict != result.NotApplicable {
			requirements[q.Verdict]++
		}
	}
	if len(requirements) == 0 {
		return ""
	}
	return fmt.Sprintf("of %s %s", count(requirements.sum(), "requirement"), strings.Join(requirements.words(), " "))
}
