package result

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible returns s with each byte that is no UTF-8 written as four characters,
// \xff for the byte FF. JSON can't carry such bytes, and to replace them by
// U+FFFD, as JSON libraries do, would hide what a subject wrote: several bytes
// become the same, and one that really wrote U+FFFD is accused. What is UTF-8
// stays as it is, a literal \xff too, so the two forms can look alike: bytes that
// must come back exactly belong in [transcript.Event.Data].
func Visible(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[0])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// Clip bounds s to about limit bytes: two thirds of them from its head and one
// third from its tail, cut between characters, with the number of bytes left out
// between. A text within the limit is returned as it is.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := limit * 2 / 3
	for n := 1; n < utf8.UTFMax && head > 0 && !utf8.RuneStart(s[head]); n++ {
		head--
	}
	from := len(s) - (limit - limit*2/3)
	for n := 1; n < utf8.UTFMax && from < len(s) && !utf8.RuneStart(s[from]); n++ {
		from++
	}
	return fmt.Sprintf("%s ... (%d bytes left out) ... %s", s[:head], from-head, s[from:])
}
