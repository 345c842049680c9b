package result

import (
	"fmt"
	"strconv"
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
// between. A text within the limit is returned as it is, and so is one that was
// clipped to the limit before: what is written, read and written again stays the
// same. Clipped to less, it counts what was left out both times.
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
	left := from - head
	for g, ok := nextGap(s, 0); ok; g, ok = nextGap(s, g.end) {
		if len(s)-(g.end-g.start) <= limit {
			return s
		}
		if g.start < from && g.end > head {
			head, from = min(head, g.start), max(from, g.end)
			left = from - head - (g.end - g.start) + g.left
			break
		}
	}
	return s[:head] + gapText(left) + s[from:]
}

// gapText is what stands for n bytes that were left out.
func gapText(n int) string { return fmt.Sprintf(" ... (%d bytes left out) ... ", n) }

// gap is where an earlier Clip left bytes out.
type gap struct{ start, end, left int }

// nextGap finds the first gap at or after the offset.
func nextGap(s string, offset int) (gap, bool) {
	const open, shut = " ... (", " bytes left out) ... "
	for {
		i := strings.Index(s[offset:], open)
		if i < 0 {
			return gap{}, false
		}
		start := offset + i
		offset = start + len(open)
		rest := s[offset:]
		digits := len(rest) - len(strings.TrimLeft(rest[:min(len(rest), 16)], "0123456789")) - max(len(rest)-16, 0)
		left, err := strconv.Atoi(rest[:digits])
		if err == nil && strings.HasPrefix(rest[digits:], shut) {
			return gap{start, offset + digits + len(shut), left}, true
		}
	}
}
