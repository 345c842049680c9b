package report

import (
	"fmt"
	"strings"

	"pugmark.dev/conform/result"
)

// broken is the entries of the known-failures file that don't hold, one line each:
// where, which, and why.
func broken(run *result.Run) (lines []string) {
	if run.Known == nil {
		return nil
	}
	for _, e := range run.Known.Entries {
		if e.Problem == "" {
			continue
		}
		about := clean(result.Clip(e.Case, maxName))
		if e.Transport != "" {
			about += " on " + clean(result.Clip(e.Transport, maxName))
		}
		lines = append(lines, fmt.Sprintf("%s:%d: %s: %s", clean(result.Clip(run.Known.File, maxName)), e.Line, about, clean(result.Clip(e.Problem, maxLine))))
	}
	return lines
}

// entries shows the entries of the known-failures file that don't hold: they make the
// run red, whatever its cases say.
func (p *page) entries() {
	lines := broken(p.look.run)
	if len(lines) == 0 {
		return
	}
	what := "1 entry does not hold"
	if len(lines) > 1 {
		what = fmt.Sprintf("%d entries do not hold", len(lines))
	}
	p.line("%s  %s", p.paint(redBold, "KNOWN-FAILURES FILE"), p.paint(dim, what))
	for _, line := range lines {
		for i, part := range wrap(pieces(line), p.width-4) {
			p.line("%s%s", strings.Repeat(" ", 2+2*min(i, 1)), part)
		}
	}
	p.line("")
}

// masked says which variables have their names in the place of their values.
func (p *page) masked() {
	if len(p.look.run.Masked) == 0 {
		return
	}
	var names []string
	for _, name := range p.look.run.Masked {
		names = append(names, clean(result.Clip(name, maxName)))
	}
	p.summed("masked", strings.Fields("the values of "+strings.Join(names, ", ")+", wherever they stood"))
}
