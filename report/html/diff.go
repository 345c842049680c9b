package html

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// diffLine is a line of a diff: its sign, -, + or none, and its text.
type diffLine struct {
	Sign string
	Text []segment
}

// Class is how the line is marked.
func (l diffLine) Class() string {
	switch l.Sign {
	case "-":
		return "want"
	case "+":
		return "got"
	}
	return ""
}

// field is one thing that was wanted, beside what was got in its place.
type field struct {
	Name      string
	Want, Got []segment
	Differs   bool
}

// fields is want and got as a structural diff: the things that both name, one
// beside the other. It is nil when the two do not list things by name.
func fields(want, got string) []field {
	w, g := named(want), named(got)
	if len(w) == 0 || len(g) == 0 {
		return nil
	}
	var all []field
	for _, n := range w {
		f := field{Name: n.name, Differs: true}
		other := slices.IndexFunc(g, func(o namedText) bool { return o.name == n.name })
		if other < 0 {
			f.Want = []segment{{Text: n.text}}
		} else {
			f.Want, f.Got = compared(n.text, g[other].text)
			f.Differs = n.text != g[other].text
		}
		all = append(all, f)
	}
	for _, n := range g {
		if !slices.ContainsFunc(w, func(o namedText) bool { return o.name == n.name }) {
			all = append(all, field{Name: n.name, Got: []segment{{Text: n.text}}, Differs: true})
		}
	}
	return all
}

type namedText struct{ name, text string }

// named takes `body: 5 bytes, "hello", name: "a"` apart. A part without a name
// belongs to the thing before it; a text that begins with one lists nothing.
func named(text string) (all []namedText) {
	for _, part := range parts(text) {
		name, rest, ok := strings.Cut(part, ": ")
		switch {
		case ok && isName(name):
			all = append(all, namedText{name, rest})
		case len(all) == 0:
			return nil
		default:
			all[len(all)-1].text += ", " + part
		}
	}
	return all
}

func isName(s string) bool {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/", r)
	}
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) })
}

// parts splits at the commas that stand outside of quotes and brackets.
func parts(s string) (all []string) {
	depth, from := 0, 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\' && quote == '"':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`':
			quote = c
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			depth = max(depth-1, 0)
		case depth == 0 && strings.HasPrefix(s[i:], ", "):
			all = append(all, s[from:i])
			from = i + 2
		}
	}
	return append(all, s[from:])
}

// compared marks where two texts differ. Texts that have nothing in common are
// left as they are: a mark on everything shows nothing.
func compared(a, b string) (marked, other []segment) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for head > 0 && (head < len(a) && !utf8.RuneStart(a[head]) || head < len(b) && !utf8.RuneStart(b[head])) {
		head--
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && (!utf8.RuneStart(a[len(a)-tail]) || !utf8.RuneStart(b[len(b)-tail])) {
		tail--
	}
	if a == b || head+tail < 3 {
		return []segment{{Text: a}}, []segment{{Text: b}}
	}
	return middle(a, head, tail), middle(b, head, tail)
}

func middle(s string, head, tail int) (all []segment) {
	for _, part := range []segment{{Text: s[:head]}, {s[head : len(s)-tail], true}, {Text: s[len(s)-tail:]}} {
		if part.Text != "" {
			all = append(all, part)
		}
	}
	return all
}

// repeats reports whether a diff says no more than the fields of want and got do: each
// of its lines is one of them, wanted or got.
func repeats(diff string, all []field) bool {
	if len(all) == 0 {
		return false
	}
	for text := range strings.SplitSeq(strings.TrimRight(diff, "\n"), "\n") {
		sign, rest, _ := strings.Cut(text, " ")
		name, _, ok := strings.Cut(rest, ": ")
		if sign != "-" && sign != "+" || !ok || !slices.ContainsFunc(all, func(f field) bool { return f.Name == name }) {
			return false
		}
	}
	return true
}

// diffLines is a diff of the judge, a line each: what differs between a line and the one
// that stands in its place is marked, and so is the byte of the stream that the
// finding names, where a dump shows it; -1 is none.
func diffLines(diff string, limit, mark int) (all []diffLine) {
	if diff == "" {
		return nil
	}
	for text := range strings.SplitSeq(block(diff, limit), "\n") {
		l := diffLine{Text: []segment{{Text: text}}}
		switch {
		case strings.HasPrefix(text, "- "), text == "-":
			l = diffLine{"-", []segment{{Text: text[1:]}}}
		case strings.HasPrefix(text, "+ "), text == "+":
			l = diffLine{"+", []segment{{Text: text[1:]}}}
		default:
			l.Text = markedDump(text, mark)
		}
		if n := len(all); l.Sign == "+" && n > 0 && all[n-1].Sign == "-" && len(all[n-1].Text) == 1 {
			all[n-1].Text, l.Text = compared(all[n-1].Text[0].Text, l.Text[0].Text)
		}
		all = append(all, l)
	}
	return all
}

// markedDump marks the byte of a stream in a line of a dump within a finding: two
// spaces, the offset in eight digits, two spaces, sixteen bytes, two spaces, text.
func markedDump(text string, mark int) []segment {
	const hex, plain = 2 + 8 + 2, 2 + 8 + 2 + 47 + 2
	whole := []segment{{Text: text}}
	if mark < 0 || len(text) <= plain || text[:2] != "  " || text[10:hex] != "  " || text[plain-2:plain] != "  " {
		return whole
	}
	from, err := strconv.ParseInt(text[2:10], 16, 64)
	at := mark - int(from)
	a, b := hex+3*at, plain+at
	if err != nil || at < 0 || at >= 16 || b >= len(text) {
		return whole
	}
	return []segment{{Text: text[:a]}, {text[a : a+2], true}, {Text: text[a+2 : b]}, {text[b : b+1], true}, {Text: text[b+1:]}}
}

// target is where a finding points to in the evidence.
type target struct {
	// role is that of an invocation which is not the main one, number is for one of several
	// invocations, from 1.
	role   string
	number int
	stream string
	record int    // of the stream, from 1; 0 is none
	output int    // among the Outputs that are no answers of the agreement, from 1
	name   string // of the record
	path   string // of a member of the record
	offset int    // of a byte of the stream; -1 is none
}

// isOther reports whether a role is that of an invocation beside the main ones.
func isOther(role string) bool { return role == "control" || role == "beside" }

// pointed reads the place that a finding names, "invocation 2, stdout, record 1, byte
// 17" for one. What is no such place points nowhere.
func pointed(where string) target {
	t := target{offset: -1}
	words := strings.Split(where, ", ")
	switch first, number := numbered(words[0]); {
	case isOther(words[0]):
		t.role, words = words[0], words[1:]
	case first == "invocation" && number > 0:
		t.number, words = number, words[1:]
	}
	if len(words) == 0 {
		return t
	}
	if rest, ok := strings.CutPrefix(words[0], "conform/"); ok && isName(rest) {
		t.name = words[0]
		return t
	}
	if !isRecords(words[0]) {
		return t
	}
	t.stream, words = words[0], words[1:]
	for _, word := range words {
		switch what, number := numbered(word); {
		case what == "record" && number > 0:
			t.record = number
		case what == "output" && number > 0:
			t.output = number
		case what == "byte" && number >= 0:
			t.offset = number
		case isName(word):
			t.path = word
		}
	}
	return t
}

// numbered takes "record 2" apart; the number is -1 when there is none.
func numbered(s string) (what string, number int) {
	what, digits, _ := strings.Cut(s, " ")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return s, -1
	}
	return what, int(n)
}
