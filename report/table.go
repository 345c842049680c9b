package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// tally is how many requirements, or cases, came to each verdict.
type tally map[result.Verdict]int

// words lists the verdicts that occur, those to leave out aside, each count with its
// verdict and the comma that follows.
func (t tally) words(leave ...result.Verdict) []string {
	var all []string
	for _, v := range verdicts() {
		if n := t[v]; n > 0 && !slices.Contains(leave, v) {
			all = append(all, fmt.Sprintf("%d %s,", n, v))
		}
	}
	if last := len(all) - 1; last >= 0 {
		all[last] = strings.TrimSuffix(all[last], ",")
	}
	return all
}

// row is one section of the table.
type row struct {
	section, title string
	tally          tally
}

// rows counts the requirements of each section in which any was selected. Of a
// selection, what it does not touch says nothing and is left out.
func rows(l *lookUp) []row {
	by := map[string]tally{}
	whole := l.run.Selection.IsWhole()
	for _, q := range l.run.Requirements {
		if !whole && (q.Verdict == result.Untested || q.Verdict == result.NotApplicable) {
			continue
		}
		if by[q.Section] == nil {
			by[q.Section] = tally{}
		}
		by[q.Section][q.Verdict]++
	}
	var all []row
	for section, t := range by {
		if len(t) > 1 || t[result.Untested] == 0 {
			all = append(all, row{section, l.title(section), t})
		}
	}
	slices.SortFunc(all, func(a, b row) int {
		return cmp.Or(spec.Section(a.section).Compare(spec.Section(b.section)), cmp.Compare(a.section, b.section))
	})
	return all
}

// table shows the requirements by section: how many there are and how many pass
// in columns, whatever else became of them in words, since a run has few of the
// many verdicts.
func (p *page) table() {
	all := rows(p.look)
	if len(all) == 0 {
		return
	}
	const numbers = len("  requirements  pass  ")
	sum := tally{}
	first := len("section")
	for _, r := range all {
		first = max(first, columns(head(r)))
		for v, n := range r.tally {
			sum[v] += n
		}
	}
	// A long title gives way before the words do.
	first = min(first, p.width-numbers-20)
	p.line("%s", p.paint(dim, pad("section", first)+"  requirements  pass"))
	put := func(s style, title string, t tally) {
		line := fmt.Sprintf("%s  %12d  %4s", pad(cutTo(clean(title), first), first), t.sum(), cell(t[result.Pass]))
		rest := wrap(t.words(result.Pass), p.width-first-numbers)
		for i, words := range rest {
			if i > 0 {
				line = strings.Repeat(" ", first+numbers-2)
			}
			p.line("%s  %s", p.paint(s, line), p.paint(worst(t), words))
		}
		if len(rest) == 0 {
			p.line("%s", p.paint(s, line))
		}
	}
	for _, r := range all {
		put(plainStyle, head(r), r.tally)
	}
	put(bold, "all", sum)
	p.line("")
}

// head is the first cell of a row: number and title.
func head(r row) string { return strings.TrimSpace(fmt.Sprintf("%-5s %s", r.section, r.title)) }

// cell is a count; a zero is a dot, so that the eye finds the others.
func cell(n int) string {
	if n == 0 {
		return "."
	}
	return fmt.Sprint(n)
}

// sum is how many there are in all.
func (t tally) sum() int {
	n := 0
	for _, m := range t {
		n += m
	}
	return n
}

// worst is how the words beside a row are marked.
func worst(t tally) style {
	s := dim
	for v, n := range t {
		switch {
		case n == 0:
		case isFailing(v):
			return red
		case v == result.Warn || v == result.NotTestable || v == result.NotRun || v == result.KnownFailure:
			s = yellow
		}
	}
	return s
}

// pad fills a text with spaces to the width.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-columns(s), 0))
}
