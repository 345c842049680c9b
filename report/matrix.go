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

// Matrix holds runs of several implementations side by side: what became of each
// requirement in each of them.
type Matrix struct {
	Columns []Column
	Rows    []Row
	// Suites is set when the runs are of different suites, so that their verdicts rest
	// on different cases.
	Suites bool
}

// Column is one run.
type Column struct {
	// Name tells the columns apart: name and version of the subject, with a number
	// where several have the same.
	Name    string
	Kinds   string
	Verdict string // in words
	Suite   string
	// Selection is what was left out; empty when nothing was.
	Selection string
	// Alone is the requirements that only this implementation fails.
	Alone []string
}

// Row is one requirement.
type Row struct {
	ID, Level, Section, Title, Text string
	// Cells is the verdict in each column; empty where the requirement does not bind
	// the subject, or the suite does not have it.
	Cells []result.Verdict
	// Alone is the column that alone fails the requirement, which others pass; -1 is
	// none.
	Alone int
}

// NewMatrix puts the runs side by side, in the order given. The registry gives order,
// titles and words; nil leaves these to the runs.
func NewMatrix(runs []*result.Run, s *spec.Spec) *Matrix {
	m := &Matrix{}
	seen := map[string]int{}
	for _, run := range runs {
		name := cmp.Or(subjectOf(run), "without a name")
		if seen[name]++; seen[name] > 1 {
			name += fmt.Sprintf(" (%d)", seen[name])
		}
		m.Columns = append(m.Columns, Column{
			Name: name, Kinds: clean(strings.Join(run.Subject.Kinds, ", ")), Verdict: conclusion(run),
			Suite: clean(result.Clip(run.Suite.Version, maxName)), Selection: clean(result.Clip(selectionOf(run.Selection), maxLine)),
		})
		m.Suites = m.Suites || run.Suite.Cases != runs[0].Suite.Cases
	}
	at := map[string]int{}
	for column, run := range runs {
		look := newLookUp(run, s)
		for _, q := range run.Requirements {
			i, known := at[q.ID]
			if !known {
				i = len(m.Rows)
				at[q.ID] = i
				r := look.requirement(q.ID)
				m.Rows = append(m.Rows, Row{
					ID: clean(result.Clip(q.ID, maxName)), Level: clean(result.Clip(r.word, maxName)), Section: clean(result.Clip(r.section, maxName)),
					Title: clean(result.Clip(r.title, maxName)), Text: clean(result.Clip(r.text, maxProse)),
					Cells: make([]result.Verdict, len(runs)),
				})
			}
			m.Rows[i].Cells[column] = q.Verdict
		}
	}
	slices.SortStableFunc(m.Rows, func(a, b Row) int {
		return cmp.Or(spec.Section(a.Section).Compare(spec.Section(b.Section)), cmp.Compare(a.Section, b.Section))
	})
	for i := range m.Rows {
		r := &m.Rows[i]
		if r.Alone = alone(r.Cells); r.Alone >= 0 {
			m.Columns[r.Alone].Alone = append(m.Columns[r.Alone].Alone, r.ID)
		}
	}
	return m
}

// doesNotHold reports whether a requirement with the verdict does not hold, excused
// or not.
func doesNotHold(v result.Verdict) bool { return badness(v) >= badness(result.Flaky) }

// alone is the one cell that does not hold, where another passes; else -1.
func alone(cells []result.Verdict) int {
	at, passes := -1, false
	for i, v := range cells {
		switch {
		case v == "":
		case doesNotHold(v):
			if at >= 0 {
				return -1
			}
			at = i
		case badness(v) <= badness(result.Warn):
			passes = true
		}
	}
	if !passes {
		return -1
	}
	return at
}

// WriteMarkdown writes the matrix for the summary of a CI job, in at most
// [MaxMarkdown] bytes. Requirements that every implementation passes, or none binds,
// are counted, not listed.
func (m *Matrix) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# pugmark-conform: implementations and requirements\n\n| implementation | verdict | suite | only this one fails |\n| --- | --- | --- | ---: |\n")
	for _, c := range m.Columns {
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", mdCode(c.Name), mdProse(c.Verdict), mdCode(c.Suite), len(c.Alone))
	}
	if m.Suites {
		b.WriteString("\nThe runs are of different suites: their verdicts rest on different cases.\n")
	}
	b.WriteString("\n| requirement | level |")
	for _, c := range m.Columns {
		of := ""
		if c.Selection != "" {
			of = " (a selection)"
		}
		fmt.Fprintf(&b, " %s%s |", mdCode(c.Name), of)
	}
	b.WriteString(" only this one fails |\n| --- | --- |" + strings.Repeat(" --- |", len(m.Columns)+1) + "\n")
	same, left := 0, 0
	for _, r := range m.Rows {
		if r.isQuiet() {
			same++
			continue
		}
		var row strings.Builder
		fmt.Fprintf(&row, "| %s | %s |", mdCode(r.ID), mdProse(r.Level))
		for i, v := range r.Cells {
			word := cmp.Or(string(v), " ")
			if i == r.Alone {
				word = "**" + word + "**"
			}
			fmt.Fprintf(&row, " %s |", word)
		}
		only := " "
		if r.Alone >= 0 {
			only = mdCode(m.Columns[r.Alone].Name)
		}
		fmt.Fprintf(&row, " %s |\n", only)
		if b.Len()+row.Len() > MaxMarkdown-mdReserve {
			left++
			continue
		}
		b.WriteString(row.String())
	}
	fmt.Fprintf(&b, "\n%s not listed, since every implementation that they bind passes, or none was asked.\n", count(same, "requirement"))
	if left > 0 {
		fmt.Fprintf(&b, "\n**Left out for want of room: %s.**\n", count(left, "requirement"))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the matrix: %w", err)
	}
	return nil
}

// isQuiet reports whether there is nothing to say about a requirement.
func (r *Row) isQuiet() bool {
	return !slices.ContainsFunc(r.Cells, func(v result.Verdict) bool {
		return v != "" && v != result.Pass && v != result.NotApplicable && v != result.Untested
	})
}
