package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// How much of a diff is shown: equal lines around a difference, bytes of one line, and
// cells of the table by which two lists are compared.
const (
	diffContext = 3
	diffLine    = 400
	diffCells   = 1 << 20
)

// fieldDiff is how fields differ, wanted and got under each other. Of a single field
// whose value is no object it is empty: want and got say as much.
func fieldDiff(fields []pair) string {
	var lines []string
	for _, p := range fields {
		switch {
		case len(p.members) > 0:
			lines = append(lines, p.members...)
		case len(fields) > 1:
			lines = append(lines, signed("-", p.name+": "+p.want), signed("+", p.name+": "+p.got))
		}
	}
	return diffText(lines)
}

// memberDiff is how an object of strings differs, a line for each member that does. Of
// an object with one member, on both sides at most, it is empty.
func memberDiff(name string, want, got map[string]string) (lines []string) {
	if len(want) <= 1 && len(got) <= 1 {
		return nil
	}
	names := maps.Clone(want)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, got)
	for _, k := range slices.Sorted(maps.Keys(names)) {
		w, wanted := want[k]
		g, came := got[k]
		if wanted == came && w == g {
			continue
		}
		member := quote(k)
		if isPlain(k) {
			member = k
		}
		if wanted {
			lines = append(lines, signed("-", fmt.Sprintf("%s.%s: %s", name, member, quote(w))))
		}
		if came {
			lines = append(lines, signed("+", fmt.Sprintf("%s.%s: %s", name, member, quote(g))))
		}
	}
	return lines
}

func isPlain(s string) bool {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) })
}

// listDiff is how two lists differ, an item a line, with some of the equal ones around
// what differs. Of lists with one item at most it is empty: want and got say as much.
func listDiff(want, got []string) string {
	if len(want) <= 1 && len(got) <= 1 {
		return ""
	}
	steps := align(want, got)
	near := make([]bool, len(steps))
	for i, s := range steps {
		if s.sign == " " {
			continue
		}
		for k := max(i-diffContext, 0); k < min(i+diffContext+1, len(steps)); k++ {
			near[k] = true
		}
	}
	var lines []string
	for i := 0; i < len(steps); i++ {
		if near[i] {
			lines = append(lines, signed(steps[i].sign, steps[i].text))
			continue
		}
		from := i
		for i+1 < len(steps) && !near[i+1] {
			i++
		}
		lines = append(lines, fmt.Sprintf("  ... %d equal", i+1-from))
	}
	return diffText(lines)
}

// diffStep is an item of two lists: only wanted, only got, or both.
type diffStep struct{ sign, text string }

// align puts two lists beside each other so that as many items as can be are equal.
// Lists that are too long for that are wholly different between their equal ends.
func align(want, got []string) (steps []diffStep) {
	add := func(sign string, items []string) {
		for _, item := range items {
			steps = append(steps, diffStep{sign, item})
		}
	}
	head := 0
	for head < len(want) && head < len(got) && want[head] == got[head] {
		head++
	}
	tail := 0
	for tail < len(want)-head && tail < len(got)-head && want[len(want)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	add(" ", want[:head])
	w, g := want[head:len(want)-tail], got[head:len(got)-tail]
	if (len(w)+1)*(len(g)+1) > diffCells {
		add("-", w)
		add("+", g)
		add(" ", want[len(want)-tail:])
		return steps
	}
	// longest[i][k] is how many items of w[i:] and g[k:] can be equal.
	longest := make([][]int, len(w)+1)
	for i := range longest {
		longest[i] = make([]int, len(g)+1)
	}
	for i := len(w) - 1; i >= 0; i-- {
		for k := len(g) - 1; k >= 0; k-- {
			if w[i] == g[k] {
				longest[i][k] = longest[i+1][k+1] + 1
			} else {
				longest[i][k] = max(longest[i+1][k], longest[i][k+1])
			}
		}
	}
	i, k := 0, 0
	for i < len(w) && k < len(g) {
		switch {
		case w[i] == g[k]:
			add(" ", w[i:i+1])
			i, k = i+1, k+1
		case longest[i+1][k] >= longest[i][k+1]:
			add("-", w[i:i+1])
			i++
		default:
			add("+", g[k:k+1])
			k++
		}
	}
	add("-", w[i:])
	add("+", g[k:])
	add(" ", want[len(want)-tail:])
	return steps
}

// signed is a line of a diff.
func signed(sign, text string) string {
	return sign + " " + clip(strings.ReplaceAll(text, "\n", `\n`), diffLine)
}

// diffText is the lines of a diff, within the bounds of a finding: what is over is
// counted, at whole lines.
func diffText(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if b.Len()+len(line)+1 > maxText-40 {
			fmt.Fprintf(&b, "... %d more lines\n", len(lines)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
