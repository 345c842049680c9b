package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"pugmark.dev/conform/result"
)

// MaxMarkdown is how many bytes a Markdown report has at most, a little less than
// GitHub takes as the summary of a step.
const MaxMarkdown = 1<<20 - 4<<10

// mdReserve is what of it is kept for the lines that say what was left out.
const mdReserve = 4 << 10

// Markdown writes the run for the summary of a CI job: the verdict, a table by
// section, then each requirement that does not hold, with its case, what was wanted
// and got, and the command that reruns it. It has at most [MaxMarkdown] bytes; what
// has no room is counted. Nothing that a subject wrote is markup in it, or names
// anyone.
func (r Renderer) Markdown(w io.Writer, run *result.Run) error {
	stored, err := AsStored(run)
	if err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	m := &mdPage{page: plainPage(newLookUp(stored, r.Registry))}
	m.folder = r.Evidence
	m.top()
	m.sections()
	m.failing()
	m.unclear()
	m.inShort()
	m.out.WriteString(m.leftOutText())
	if _, err := io.WriteString(w, m.out.String()); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

// mdPage is a Markdown report being written.
type mdPage struct {
	*page
	out strings.Builder
	// requirements, reasons and others count the blocks that had no room.
	requirements, reasons, others int
}

// add writes a part whole if there is room for it.
func (m *mdPage) add(part string) bool {
	if m.out.Len()+len(part) > MaxMarkdown-mdReserve {
		return false
	}
	m.out.WriteString(part)
	return true
}

// top is the verdict and what it is of.
func (m *mdPage) top() {
	run := m.look.run
	m.add(fmt.Sprintf("# pugmark-conform: %s\n\n", conclusion(run)))
	line := fmt.Sprintf("%s ended with exit status %d", mdCode(subjectOf(run)), ExitStatus(run))
	if words := tested(run); words != "" {
		line += "; " + words
	}
	m.add(line + ".\n")
	if s := selectionOf(run.Selection); s != "" {
		m.add("\nOnly a selection was run: " + mdCode(result.Clip(s, maxLine)) + "\n")
	}
	m.add(fmt.Sprintf("\nSuite %s, platform %s, seed %d.\n", mdCode(result.Clip(run.Suite.Version, maxName)),
		mdCode(result.Clip(run.Platform, maxName)), run.Seed))
}

// sections is the table by section.
func (m *mdPage) sections() {
	all := rows(m.look)
	if len(all) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("\n| section | requirements | pass | other |\n| --- | ---: | ---: | --- |\n")
	sum := tally{}
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", mdProse(result.Clip(r.section+" "+r.title, maxName)), r.tally.sum(), r.tally[result.Pass], strings.Join(r.tally.words(result.Pass), " "))
		for v, n := range r.tally {
			sum[v] += n
		}
	}
	fmt.Fprintf(&b, "| **all** | %d | %d | %s |\n", sum.sum(), sum[result.Pass], strings.Join(sum.words(result.Pass), " "))
	if !m.add(b.String()) {
		m.others++
	}
}

// failing is each requirement that does not hold.
func (m *mdPage) failing() {
	all := findings(m.look, result.Fail)
	for i, f := range all {
		part := ""
		if i == 0 {
			part = "\n## What fails\n"
		}
		part += m.finding("fails", f)
		hits := echoes(f.hits)
		m.whole(hits[0])
		m.page.others(hits)
		if !m.add(part + mdBlock(m.cut())) {
			m.requirements++
		}
	}
}

// finding is the heading of a requirement, and its sentence.
func (m *mdPage) finding(word string, f finding) string {
	q := f.requirement
	text := fmt.Sprintf("\n### %s %s\n\n", mdCode(result.Clip(q.id, maxName)), word)
	var about []string
	if q.word != "" {
		about = append(about, q.word)
	}
	if q.section != "" {
		about = append(about, strings.TrimSpace("section "+q.section+" "+q.title))
	}
	if len(about) > 0 {
		text += mdProse(result.Clip(strings.Join(about, ", "), maxLine)) + ".\n"
	}
	if q.text != "" {
		text += mdProse(result.Clip(q.text, maxProse)) + "\n"
	}
	return text + "\n"
}

// unclear is the cases that need looking at without a check that failed.
func (m *mdPage) unclear() {
	for i, o := range unclear(m.look.run.Cases) {
		part := ""
		if i == 0 {
			part = "\n## What else needs looking at\n"
		}
		part += fmt.Sprintf("\n### %s: %s\n\n", count(len(o.cases), "result"), o.verdict)
		m.list(o.cases)
		m.field("reason", o.reason)
		m.verbatim("rerun", o.cases[0].Rerun)
		m.verbatim("evidence", o.cases[0].Evidence)
		m.stderr(o.cases[0])
		if !m.add(part + mdBlock(m.cut())) {
			m.reasons++
		}
	}
}

// inShort is what takes nothing away from the verdict: warnings, known failures and
// what was declared away.
func (m *mdPage) inShort() {
	for i, line := range broken(m.look.run) {
		part := "- " + mdCode(line) + "\n"
		if i == 0 {
			part = "\n## Entries of the known-failures file that do not hold\n\n" + part
		}
		if !m.add(part) {
			m.others++
		}
	}
	if names := m.look.run.Masked; len(names) > 0 {
		m.add("\nThe values of these variables were masked wherever they stood: " + mdCode(strings.Join(names, ", ")) + "\n")
	}
	for i, f := range findings(m.look, result.Warn) {
		part := ""
		if i == 0 {
			part = "\n## Warnings\n"
		}
		hits := echoes(f.hits)
		m.whole(hits[0])
		m.page.others(hits)
		if !m.add(part + m.finding("does not hold", f) + mdBlock(m.cut())) {
			m.others++
		}
	}
	for i, o := range outcomes(m.look.run.Cases, result.KnownFailure) {
		part := ""
		if i == 0 {
			part = "\n## Known failures\n"
		}
		part += fmt.Sprintf("\n%s: %s\n\n", count(len(o.cases), "result"), mdCode(cmp.Or(result.Clip(o.reason, maxLine), "no reason given")))
		m.list(o.cases)
		if !m.add(part + mdBlock(m.cut())) {
			m.others++
		}
	}
	for i, o := range outcomes(m.look.run.Cases, result.NotApplicable) {
		part := fmt.Sprintf("- %s: %s\n", count(len(o.cases), "result"), mdCode(cmp.Or(result.Clip(o.reason, maxLine), "no reason given")))
		if i == 0 {
			part = "\n## Not applicable\n\n" + part
		}
		if !m.add(part) {
			m.others++
		}
	}
	for i, q := range untested(m.look) {
		part := fmt.Sprintf("- %s %s\n", mdCode(q.id), mdProse(strings.TrimSpace(q.word+": "+q.why)))
		if i == 0 {
			part = "\n## Untested\n\n" + part
		}
		if !m.add(part) {
			m.others++
		}
	}
}

// leftOutText says what had no room.
func (m *mdPage) leftOutText() string {
	var all []string
	for _, left := range []struct {
		n    int
		noun string
	}{{m.requirements, "failing requirement"}, {m.reasons, "further reason"}, {m.others, "smaller part"}} {
		if left.n > 0 {
			all = append(all, count(left.n, left.noun))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("\n**Left out for want of room: %s.** The JSON report has all of it.\n", strings.Join(all, ", "))
}
