package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// Summary takes the progress line away and shows the run: what failed, first
// things first, then what needs attention, what was left out, a table by section,
// where the time went, and the verdict in one line at the end. The registry gives
// titles and readings; nil leaves these out. An error is one of writing.
func (t *Terminal) Summary(run *result.Run, s *spec.Spec) error {
	t.End()
	r := ordered(run)
	p := &page{
		terminalStyle: &terminalStyle{paint: t.paint, width: t.width()},
		look:          newLookUp(r, s),
		readings:      map[string]bool{},
		evidence:      t.Evidence,
		folder:        t.Evidence,
	}
	p.failures()
	p.attention()
	p.entries()
	p.warnings()
	p.known()
	p.leftOut()
	p.untested()
	p.table()
	p.time()
	p.verdict()
	p.next(t.Next)
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := io.WriteString(t.Out, p.String()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// failures shows each requirement that failed: its first case whole, the others
// in a line each, since they often have one cause.
func (p *page) failures() {
	for _, f := range findings(p.look, result.Fail) {
		p.heading(redBold, "FAIL", f.requirement)
		p.prose(2, plainStyle, f.requirement.text)
		p.line("")
		all := echoes(f.hits)
		p.whole(all[0])
		p.others(all)
		p.line("")
	}
}

// heading is the first line of what is said about a requirement.
func (p *page) heading(s style, word string, q requirement) {
	var about []string
	if q.word != "" {
		about = append(about, q.word)
	}
	if q.section != "" {
		about = append(about, strings.TrimSpace("section "+q.section+" "+q.title))
	}
	line := p.paint(s, word) + " " + p.paint(bold, clean(q.id))
	if len(about) > 0 {
		line += "  " + p.paint(dim, clean(strings.Join(about, ", ")))
	}
	p.line("%s", line)
}

// whole shows all of one hit.
func (p *page) whole(e echo) {
	p.line("  %s", place(e))
	p.why(e.Why)
	p.check(e.check)
	p.stderr(e.Case)
	if v := e.Verdict; v == result.Crash || v == result.Hang || v == result.Flaky {
		p.field(string(v), e.Reason)
	}
	p.verbatim("rerun", e.Rerun)
	p.verbatim("evidence", p.below(e.Evidence))
}

// check shows where a check looked, what it wanted and what it got.
func (p *page) check(k *result.Check) {
	p.field("where", k.Where)
	p.field("want", k.Want)
	p.field("got", k.Got)
	p.block("diff", k.Diff)
	for _, id := range k.Readings {
		p.reading(id)
	}
}

func (p *page) why(text string) {
	p.labelled("why", wrap(strings.Fields(clean(result.Clip(text, maxProse))), p.width-4-labelWidth), plainStyle)
}

// reading tells, once, which answer of ours a check rests on and how to do
// without it.
func (p *page) reading(id string) {
	text := fmt.Sprintf("our reading %s", id)
	if p.readings[id] {
		text += ", as above"
	} else if answer := p.look.reading(id); answer != "" {
		text += ": " + answer
	}
	if !p.readings[id] {
		text = strings.TrimSuffix(text, ".") + "; leave such checks out with --without-readings=" + id
	}
	p.readings[id] = true
	p.labelled("reading", wrap(strings.Fields(clean(text)), p.width-4-labelWidth), plainStyle)
}

// others lists the further hits of a finding, each in a line, or in two where what it
// says would be cut away.
func (p *page) others(all []echo) {
	if len(all) == 1 {
		return
	}
	p.line("")
	others := inBrief(all[1:])
	for i, o := range others {
		if i == maxEchoes {
			p.line("  and %d more, all in the report", len(others)-i)
			return
		}
		switch {
		case columns("  also "+place(o.echo)+o.said) <= p.width:
			p.line("  also %s%s", place(o.echo), o.said)
		case i > 0 && others[i-1].alike == o.alike:
			p.line("%s", cutTo("  also "+place(o.echo)+": the same", p.width))
		default:
			p.line("%s", cutTo("  also "+place(o.echo)+":", p.width))
			p.line("%s", cutTo("       "+strings.TrimPrefix(o.said, ": "), p.width))
		}
	}
}

// brief is a hit in a few words.
type brief struct {
	echo
	said, alike string // alike is by [likeness]
}

// inBrief is hits in a few words. Of a handler that said why it ended, its words count
// and not how each transport shows that it did.
func inBrief(all []echo) (list []brief) {
	like := newLikeness()
	for _, e := range all {
		b := brief{echo: e, said: says(e.check)}
		if _, why, ok := strings.Cut(e.check.Got, result.StderrSays); ok {
			b.said = ": " + clean(result.Clip(strings.TrimPrefix(result.StderrSays, "; ")+why, maxLine))
		}
		b.alike = like.of(b.said)
		if n := len(list); n > 0 && list[n-1].ID == b.ID && list[n-1].alike == b.alike {
			for _, t := range b.transports {
				if !slices.Contains(list[n-1].transports, t) {
					list[n-1].transports = append(slices.Clone(list[n-1].transports), t)
				}
			}
			continue
		}
		list = append(list, b)
	}
	return list
}

// place names the case and the transports of a hit.
func place(e echo) string {
	return clean(e.ID) + " on " + clean(strings.Join(e.transports, ", "))
}

// says is a check in a few words.
func says(k *result.Check) string {
	switch text := clean(result.Clip(cmp.Or(k.Got, k.Where, k.Want), maxLine)); {
	case text == "":
		return ""
	case k.Got != "":
		return ": got " + text
	case k.Where != "":
		return ": at " + text
	default:
		return ": want " + text
	}
}

// unclear returns the cases that need looking at without a check that failed, and the
// flaky ones, whose reason is told nowhere else; those with the same reason together.
func unclear(all []result.Case) []outcome {
	var cases []result.Case
	for _, c := range all {
		failed := func(k result.Check) bool { return k.Verdict == result.Fail }
		if c.Verdict == result.HarnessError || c.Verdict == result.Flaky || !slices.ContainsFunc(c.Checks, failed) {
			cases = append(cases, c)
		}
	}
	return outcomes(cases, result.HarnessError, result.Crash, result.Hang, result.Fail, result.Flaky,
		result.UnexpectedPass, result.NotTestable, result.NotRun)
}

// attention shows the cases that need looking at without a check that failed.
func (p *page) attention() {
	for _, o := range unclear(p.look.run.Cases) {
		s := redBold
		if o.verdict == result.NotTestable || o.verdict == result.NotRun {
			s = yellowBold
		}
		line := p.paint(s, strings.ToUpper(string(o.verdict)))
		if len(o.cases) > 1 {
			line += "  " + p.paint(dim, count(len(o.cases), "result"))
		}
		p.line("%s", line)
		for _, l := range wrap(pieces(clean(result.Clip(o.reason, maxLine))), p.width-2) {
			p.line("  %s", l)
		}
		if o.verdict == result.Hang {
			for _, l := range wrap(strings.Fields("on a slow machine, --time-scale 3 gives every case three times its time"), p.width-2) {
				p.line("  %s", l)
			}
		}
		if o.verdict == result.NotTestable {
			for _, l := range wrap(strings.Fields("mend first what stands in the way, most often a failure above; then the requirements of these cases can be seen to hold or not"), p.width-2) {
				p.line("  %s", l)
			}
		}
		p.line("")
		p.list(o.cases)
		p.stderr(o.cases[0])
		p.verbatim("rerun", o.cases[0].Rerun)
		p.verbatim("evidence", p.below(o.cases[0].Evidence))
		p.line("")
	}
}

// list names cases, each with its transports.
func (p *page) list(cases []*result.Case) {
	var all []echo
	for _, c := range cases {
		all = append(all, echoes([]hit{{c, &result.Check{}}})...)
		if n := len(all); n > 1 && all[n-2].ID == c.ID {
			all[n-2].transports = append(all[n-2].transports, c.Transport)
			all = all[:n-1]
		}
	}
	for i, e := range all {
		if i == maxEchoes {
			p.line("  and %d more, all in the report", len(all)-i)
			return
		}
		p.line("  %s", place(e))
	}
}

// warnings shows the SHOULDs that do not hold, in short.
func (p *page) warnings() {
	for _, f := range findings(p.look, result.Warn) {
		p.heading(yellowBold, "WARN", f.requirement)
		all := echoes(f.hits)
		p.line("%s", cutTo("  "+place(all[0])+says(all[0].check), p.width))
		if n := len(all) - 1; n > 0 {
			p.line("  and %s more", count(n, "check"))
		}
		p.line("")
	}
}

// known lists what the known-failures file excuses.
func (p *page) known() {
	for _, o := range outcomes(p.look.run.Cases, result.KnownFailure) {
		p.line("%s  %s", p.paint(yellowBold, "KNOWN FAILURE"), p.paint(dim, count(len(o.cases), "result")))
		p.prose(2, plainStyle, o.reason)
		p.list(o.cases)
		p.line("")
	}
}

// leftOut says what the subject declared away, and what that took out.
func (p *page) leftOut() {
	all := outcomes(p.look.run.Cases, result.NotApplicable)
	if len(all) == 0 {
		return
	}
	cases, requirements := 0, 0
	for _, o := range all {
		cases += len(o.cases)
	}
	for _, q := range p.look.run.Requirements {
		if q.Verdict == result.NotApplicable {
			requirements++
		}
	}
	p.line("%s  %s", p.paint(bold, "NOT APPLICABLE"),
		p.paint(dim, count(cases, "result")+" left out, and with them "+count(requirements, "requirement")))
	for _, o := range all {
		p.line("  %4d  %s", len(o.cases), cutTo(cmp.Or(clean(o.reason), "no reason given"), p.width-8))
	}
	p.line("")
}
