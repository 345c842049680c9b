package mutants

import (
	"fmt"
	"io"
	"text/tabwriter"

	"pugmark.dev/conform/result"
)

// Text writes the matrix for people: a line for each mutant, then what is wrong,
// then the totals. The error is w's.
func (m *Matrix) Text(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range m.Mutants {
		by := "CAUGHT BY NOTHING"
		if len(row.Caught) > 0 {
			first := row.Caught[0]
			by = fmt.Sprintf("%s, %s: %s", first.Case, first.Transport, first.Check)
			if more := len(row.Caught) - 1; more > 0 {
				by += fmt.Sprintf(" (and %d more)", more)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", row.ID, row.Requirement, by)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	p := &printer{w: w}
	for _, row := range m.Silent() {
		p.line("\nsilent: %s breaks %s and no check of that failed in %d results: %s", row.ID, row.Requirement, row.Results, row.Sentence)
	}
	for _, t := range m.Twins {
		p.complaints("accused", t)
	}
	for _, i := range m.Idlers {
		p.complaints("passed", i)
		if i.Verdict == result.Conformant {
			p.line("\nconformant: %s: %s", i.ID, i.Sentence)
		}
	}
	if len(m.Unfailed) > 0 && len(m.Mutants) > 0 {
		p.line("\ncases that no mutant fails:")
		for _, id := range m.Unfailed {
			p.line("  %s", id)
		}
	}
	caught, accused, passed := len(m.Mutants)-len(m.Silent()), 0, 0
	for _, t := range m.Twins {
		if t.isBad() {
			accused++
		}
	}
	for _, i := range m.Idlers {
		if i.isBad() {
			passed++
		}
	}
	p.line("")
	p.line("%d of %d mutants caught, %d of %d twins accused, %d of %d idlers passed something, %d of %d cases failed by no mutant",
		caught, len(m.Mutants), accused, len(m.Twins), passed, len(m.Idlers), len(m.Unfailed), m.Cases)
	return p.err
}

// printer writes lines until one can't be written.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) complaints(word string, o Outcome) {
	if len(o.Complaints) == 0 {
		return
	}
	p.line("\n%s: %s: %s", word, o.ID, o.Sentence)
	for _, c := range o.Complaints {
		what := string(c.Verdict)
		if c.Check != "" {
			what += " of " + c.Check + " (" + c.Requirement + ")"
		}
		if c.What != "" {
			what += ": " + c.What
		}
		p.line("  %s, %s: %s", c.Case, c.Transport, what)
	}
}
