package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean returns s as one line that does nothing to a terminal: control characters,
// what changes the direction or the place of other characters, and bytes that are
// no UTF-8 are written as Go would, \n, \x1b, \u202e. The same is done to the first
// character of what a CI server would take for a command to it when it stands in a
// job's output ([isCommand]).
func clean(s string) string {
	if strings.IndexFunc(s, isActive) < 0 && utf8.ValidString(s) && !strings.Contains(s, "::") && !strings.Contains(s, "##") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if isCommand(s, i) {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteString(Visible(s[i:i+n], r))
		}
		i += n
	}
	return b.String()
}

// Visible is the character r, whose bytes are s, as Go would write it if it acts on a
// terminal or a page, or if its byte is no UTF-8.
func Visible(s string, r rune) string {
	switch {
	case r == utf8.RuneError && len(s) == 1:
		return fmt.Sprintf(`\x%02x`, s[0])
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case !isActive(r):
		return s
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// isCommand reports whether a command to a CI server may begin at s[i]: GitHub's
// begin with two colons that only spaces stand before on a line, or with ##[
// anywhere on one, those of others with ##vso[ or ##teamcity[. A word can come to
// stand first by being wrapped.
func isCommand(s string, i int) bool {
	rest := s[i:]
	switch {
	case strings.HasPrefix(rest, "::"):
		return i == 0 || strings.IndexByte(" \t\r", s[i-1]) >= 0
	case strings.HasPrefix(rest, "##"):
		word := strings.TrimLeft(rest[2:min(len(rest), 2+longestWord)], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		return strings.HasPrefix(word, "[")
	}
	return false
}

// longestWord is how many letters may stand between ## and [.
const longestWord = 32

func isActive(r rune) bool { return !unicode.IsPrint(r) }

// cleanLines returns the lines of a block, each made clean; tabs, which such
// blocks are indented with, become spaces.
func cleanLines(s string) []string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(s, "\t", "    "), "\n"), "\n")
	for i, line := range lines {
		lines[i] = clean(strings.TrimRight(line, " "))
	}
	return lines
}

// columns is how many columns of a terminal the text takes, as far as that can be
// told without tables of wide characters.
func columns(s string) int {
	n := 0
	for _, r := range s {
		if !unicode.Is(unicode.Mn, r) {
			n++
		}
	}
	return n
}

// cutTo bounds a line to width columns; what is cut shows as three dots.
func cutTo(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	const dots = "..."
	n := 0
	for i := range s {
		if n == max(width-len(dots), 0) {
			return s[:i] + dots[:min(len(dots), max(width, 0))]
		}
		n++
	}
	return s
}

// wrap breaks a text at its spaces so that no line is wider than width, where its
// words allow it.
func wrap(words []string, width int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range words {
		n := columns(word)
		if used > 0 && used+1+n > width {
			lines = append(lines, line)
			line, used = "", 0
		}
		if used > 0 {
			line += " "
			used++
		}
		line += word
		used += n
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// pieces splits what a finding says into the parts that may stand on different
// lines: its words, with all that stands in quotes or brackets, which is bytes, in
// one piece.
func pieces(s string) []string {
	var all []string
	var quote rune
	depth, from := 0, 0
	escaped := false
	for i, r := range s {
		switch {
		case escaped:
			escaped = false
		case quote != 0 && r == '\\':
			escaped = quote == '"'
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '`':
			quote = r
		case r == '{' || r == '[':
			depth++
		case r == '}' || r == ']':
			depth = max(depth-1, 0)
		case r == ' ' && depth == 0:
			if from < i {
				all = append(all, s[from:i])
			}
			from = i + 1
		}
	}
	if from < len(s) {
		all = append(all, s[from:])
	}
	return all
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Duration shows milliseconds as people say them.
func Duration(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%d.%d s", ms/1000, ms%1000/100)
	}
	s := ms / 1000
	return fmt.Sprintf("%d min %02d s", s/60, s%60)
}
