package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
)

// slowest is how many cases are named under where the time goes.
const slowest = 5

// time counts the cases and shows where the time went.
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
	p.summed("cases", t.words())
	p.summed("time", []string{duration(p.look.run.DurationMS), "of wall time for", duration(sum), "of cases; the slowest:"})
	slices.SortStableFunc(cases, func(a, b result.Case) int { return cmp.Compare(b.DurationMS, a.DurationMS) })
	for _, c := range cases[:min(slowest, len(cases))] {
		p.line("%s", cutTo(fmt.Sprintf("  %9s  %s on %s", duration(c.DurationMS), clean(c.ID), clean(c.Transport)), p.width))
	}
	p.line("")
}

// summed writes one line of totals, wrapped.
func (p *page) summed(noun string, words []string) {
	const width = 7
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
	cases, requirements, tested := tally{}, tally{}, 0
	for _, c := range run.Cases {
		cases[c.Verdict]++
	}
	for _, q := range run.Requirements {
		if q.Verdict != result.Untested && q.Verdict != result.NotApplicable {
			requirements[q.Verdict]++
			tested++
		}
	}
	word, s := strings.ReplaceAll(string(run.Verdict), "-", " "), redBold
	if run.Verdict == result.AsExpected {
		word += " with " + count(cases[result.KnownFailure], "known failure")
	}
	status := ExitStatus(run)
	switch {
	case len(run.Cases) == 0:
		word = "nothing was run"
	case cases[result.HarnessError] > 0:
		word = "error of the harness in " + count(cases[result.HarnessError], "case")
	case status == ExitConformant:
		s = greenBold
	case status == ExitIncomplete:
		s = yellowBold
	}
	if !isWhole(run.Selection) {
		word += ", of the selection"
	}
	subject := strings.TrimSpace(clean(result.Clip(run.Subject.Name, maxName)) + " " + clean(result.Clip(run.Subject.Version, maxName)))
	line := p.paint(bold, subject) + ": " + p.paint(s, clean(word))
	if tested > 0 {
		line += fmt.Sprintf("; of %s %s", count(tested, "requirement"), strings.Join(requirements.words(), " "))
	}
	p.line("%s; exit status %d", line, status)
}
