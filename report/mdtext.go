package report

import (
	"strings"
	"unicode"
)

// mdProse is text in Markdown that stays text: nothing in it becomes markup, HTML,
// an entity, a link or a cell, and no name in it is mentioned. A backslash does not
// keep GitHub from looking for names, issues and addresses, since it looks after
// the backslash is gone; a space of no width does.
func mdProse(s string) string {
	const apart = "&#8203;"
	var b strings.Builder
	s = strings.TrimSpace(clean(s))
	number := len(s) - len(strings.TrimLeft(s, "0123456789")) // at the start, a list could begin
	for i, r := range s {
		rest := s[i:]
		switch {
		case r == '|':
			b.WriteString("&#124;") // a backslash before it would depend on what stands before that
		case r == '<':
			b.WriteString("&lt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@' || r == '#' || r == ':' && len(rest) > 1 && rest[1] != ' ':
			b.WriteString(`\` + string(r) + apart)
		case hasPrefixFold(rest, "www."), hasPrefixFold(rest, "gh-"):
			b.WriteString(string(r) + apart)
		case strings.ContainsRune("\\`*_{}[]>~$!=^", r), (i == 0 || i == number) && r < unicode.MaxASCII && unicode.In(r, unicode.P, unicode.S):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// mdCode is text as a code span, in which nothing is markup. It can stand in a cell
// of a table too: its pipes are written as \x7c, since what escapes them depends on
// who reads it.
func mdCode(s string) string {
	s = strings.ReplaceAll(clean(s), "|", `\x7c`)
	if strings.TrimSpace(s) == "" {
		return "(empty)"
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	pad := ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || s != strings.TrimSpace(s) {
		pad = " "
	}
	return ticks + pad + s + pad + ticks
}

// mdBlock is lines, which have to be clean, as a block of code.
func mdBlock(lines string) string {
	fence := strings.Repeat("`", max(3, longestRun(lines, '`')+1))
	return fence + "text\n" + strings.TrimRight(lines, "\n") + "\n" + fence + "\n"
}

// longestRun is how often r stands in s in a row at most.
func longestRun(s string, r rune) int {
	longest, here := 0, 0
	for _, c := range s {
		if c != r {
			here = 0
			continue
		}
		here++
		longest = max(longest, here)
	}
	return longest
}
