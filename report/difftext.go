package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
)

// WriteJSON writes the comparison as JSON.
func (d *Diff) WriteJSON(w io.Writer) error {
	text, err := result.EncodeJSON(d, everyDepth)
	if err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return writeDiff(w, string(text))
}

// WriteText writes the comparison for a terminal.
func (d *Diff) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "a  %s\nb  %s\n", d.A.line(), d.B.line())
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", clean(n))
	}
	b.WriteString("\n")
	for _, part := range d.parts() {
		fmt.Fprintf(&b, "%s\n", strings.ToUpper(part.title))
		for _, c := range part.changes {
			fmt.Fprintf(&b, "  %s  %s\n", c.name(), c.verdicts())
			for _, line := range c.reasons() {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
		for _, line := range part.counted {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		if part.more > 0 {
			fmt.Fprintf(&b, "  and %d more, all in the JSON\n", part.more)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s\n", d.sum())
	return writeDiff(w, b.String())
}

// WriteMarkdown writes the comparison for the summary of a CI job, in at most
// [MaxMarkdown] bytes.
func (d *Diff) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	left := 0
	add := func(text string) {
		if b.Len()+len(text) > MaxMarkdown-mdReserve {
			left++
			return
		}
		b.WriteString(text)
	}
	title := "nothing regressed"
	if d.HasRegressed() {
		title = "regressed"
	}
	add(fmt.Sprintf("# pugmark-conform diff: %s\n\n%s.\n\n| | run |\n| --- | --- |\n| a | %s |\n| b | %s |\n", title, d.sum(), mdCode(d.A.line()), mdCode(d.B.line())))
	for i, n := range d.Notes {
		if i == 0 {
			add("\n")
		}
		add("- note: " + mdProse(n) + "\n")
	}
	for _, part := range d.parts() {
		add("\n## " + part.title + "\n\n")
		for _, c := range part.changes {
			item := fmt.Sprintf("- %s: %s\n", mdCode(c.name()), c.verdicts())
			for _, line := range c.reasons() {
				item += "  - " + mdCode(line) + "\n"
			}
			add(item)
		}
		for _, line := range part.counted {
			add("- " + line + "\n")
		}
		if part.more > 0 {
			add(fmt.Sprintf("- and %d more, all in the JSON\n", part.more))
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n**Left out for want of room: %s.**\n", count(left, "line"))
	}
	return writeDiff(w, b.String())
}

func writeDiff(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return nil
}

// line is a run in one line.
func (c Compared) line() string {
	of := ""
	if !c.Whole {
		of = ", of a selection"
	}
	return clean(strings.TrimSpace(result.Clip(c.Subject, maxName)+" "+result.Clip(c.Version, maxName)) + ": " +
		strings.ReplaceAll(string(c.Verdict), "-", " ") + of + " (suite " + result.Clip(c.Suite, maxName) + ")")
}

// part is the changes of one kind.
type part struct {
	title   string
	changes []Change
	more    int // of which only the JSON form has the names
	counted []string
}

// parts is the changes by kind, results after requirements.
func (d *Diff) parts() []part {
	var all []part
	for _, k := range Kinds() {
		for _, of := range []struct {
			noun    string
			changes []Change
		}{{"requirements", d.Requirements}, {"results", d.Cases}} {
			// What is worse and what is not there any more have causes of their own, and
			// of the second kind there may be very many.
			there, gone := part{title: fmt.Sprintf("%s %s", of.noun, k)}, part{title: of.noun + " regressed: gone"}
			if k == New || k == Gone {
				there.title, gone.title = fmt.Sprintf("%s %s", k, of.noun), fmt.Sprintf("%s %s", k, of.noun)
			}
			for _, c := range of.changes {
				switch {
				case c.Kind != k, c.EntryGone:
				case c.isGone():
					gone.changes = append(gone.changes, c)
				default:
					there.changes = append(there.changes, c)
				}
			}
			there.counted = entriesGone(k, of.changes)
			// What only one run has is seldom the question, and may be most of it.
			for _, p := range []*part{&there, &gone} {
				if over := len(p.changes) - maxEchoes; over > 0 && (k == New || p == &gone) {
					p.changes, p.more = p.changes[:maxEchoes], over
				}
				if len(p.changes)+len(p.counted) > 0 {
					all = append(all, *p)
				}
			}
		}
	}
	return all
}

// entriesGone counts the changes of a kind that are of the known-failures file alone,
// those that pass and those that fail in a line each.
func entriesGone(k Kind, changes []Change) (lines []string) {
	by := map[string]int{}
	for _, c := range changes {
		if c.Kind == k && c.EntryGone {
			by[c.verdicts()]++
		}
	}
	for _, verdicts := range slices.Sorted(maps.Keys(by)) {
		them := "them"
		if by[verdicts] == 1 {
			them = "it"
		}
		lines = append(lines, fmt.Sprintf("%s %s: the entry that excused %s is gone", count(by[verdicts], "result"), verdicts, them))
	}
	return lines
}

// sum counts the changes.
func (d *Diff) sum() string {
	n := map[Kind]int{}
	for _, c := range d.Cases {
		n[c.Kind]++
	}
	q := map[Kind]int{}
	for _, c := range d.Requirements {
		q[c.Kind]++
	}
	words := func(n map[Kind]int) string {
		var all []string
		for _, k := range Kinds() {
			if n[k] > 0 {
				all = append(all, fmt.Sprintf("%d %s", n[k], k))
			}
		}
		if len(all) == 0 {
			return "none changed"
		}
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("results: %d in both, %s; requirements: %s", d.Common, words(n), words(q))
}

func (c Change) name() string {
	name := clean(result.Clip(c.ID, maxCopied))
	if c.Transport != "" {
		name += " on " + clean(result.Clip(c.Transport, maxName))
	}
	return name
}

// verdicts is the verdicts before and after, each one of our words.
func (c Change) verdicts() string {
	switch c.Kind {
	case New:
		return string(c.After)
	case Gone:
		return "was " + string(c.Before)
	}
	if c.isGone() {
		return fmt.Sprintf("%s -> gone", c.Before)
	}
	if c.Before == c.After {
		return fmt.Sprintf("still %s, for another reason", c.After)
	}
	return fmt.Sprintf("%s -> %s", c.Before, c.After)
}

// reasons is why, and how to see it; of what is fine, nothing.
func (c Change) reasons() []string {
	var all []string
	add := func(label, text string) {
		if text != "" {
			all = append(all, label+clean(result.Clip(text, maxLine)))
		}
	}
	if c.Kind == Changed || c.Kind == Gone {
		add("was: ", c.Was)
	}
	add("is: ", c.Is)
	if c.Kind == Regressed || c.Kind == Changed {
		if c.Rerun != "" {
			all = append(all, "rerun: "+clean(result.Clip(c.Rerun, maxCopied)))
		}
	}
	return all
}
