package html

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"pugmark.dev/conform/report"
)

// line is s on one line and bounded to about limit bytes, with nothing in it that
// acts: control characters, what changes the direction or the place of other
// characters, and bytes that are no UTF-8 stand as Go would write them.
func line(s string, limit int) string { return inert(s, limit, false) }

// block is line for a text of several lines, whose line breaks stay.
func block(s string, limit int) string {
	return inert(strings.TrimRight(s, "\n"), limit, true)
}

// inert keeps a head and a tail of what it shows, two thirds and one third, and
// counts the bytes of s between them.
func inert(s string, limit int, breaks bool) string {
	head, n := take(s, limit, breaks)
	if n == len(s) {
		return head
	}
	head, n = take(s, limit*2/3, breaks)
	tail, m := takeLast(s[n:], limit-limit*2/3, breaks)
	return fmt.Sprintf("%s … %s left out … %s", head, count(len(s)-n-m, "byte"), tail)
}

// opening is the head of s on one line; three dots stand for the rest.
func opening(s string, limit int) string {
	text, n := take(s, limit, false)
	if n < len(s) {
		text += " …"
	}
	return text
}

// take shows the head of s in at most limit bytes, and says how many of s it took.
func take(s string, limit int, breaks bool) (shown string, n int) {
	var b strings.Builder
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		text := visible(s[n:n+size], r, breaks)
		if b.Len()+len(text) > limit {
			break
		}
		b.WriteString(text)
		n += size
	}
	return b.String(), n
}

// takeLast is take from the end.
func takeLast(s string, limit int, breaks bool) (shown string, n int) {
	var parts []string
	for used := 0; n < len(s); {
		r, size := utf8.DecodeLastRuneInString(s[:len(s)-n])
		text := visible(s[len(s)-n-size:len(s)-n], r, breaks)
		if used += len(text); used > limit {
			break
		}
		parts = append(parts, text)
		n += size
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
	}
	return b.String(), n
}

// visible is one character as it is shown.
func visible(s string, r rune, breaks bool) string {
	switch {
	case r == '\n' && breaks:
		return s
	case r == '\t' && breaks:
		return "    "
	}
	return report.Visible(s, r)
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// thousands is a number whose digits are grouped from ten thousand on.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; len(s) > 4 && i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// moment is a time since the beginning of a transcript, given in microseconds.
func moment(us int64) string {
	if us < 10_000_000 {
		return fmt.Sprintf("%d.%d ms", us/1000, us%1000/100)
	}
	return fmt.Sprintf("%d.%02d s", us/1_000_000, us%1_000_000/10_000)
}
