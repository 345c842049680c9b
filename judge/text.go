package judge

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"pugmark.dev/conform/result"
)

// maxText is how many bytes of want, got and diff a finding keeps, each.
const maxText = 4 << 10

// clip bounds text to n bytes: head and tail stay, cut at characters, and the
// middle is replaced by its length.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = 40
	if n <= 2*mark {
		return strings.ToValidUTF8(s[:n], "") + fmt.Sprintf("... (%d bytes)", len(s))
	}
	head, tail := (n-mark)*2/3, (n-mark)/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	from := len(s) - tail
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return fmt.Sprintf("%s ...(%d bytes)... %s", s[:head], from-head, s[from:])
}

// quote shows a string so that every byte of it can be told.
func quote(s string) string { return strconv.Quote(clip(s, 400)) }

// quoteBytes shows the first bytes of what came over a wire.
func quoteBytes(b []byte) string {
	const most = 80
	if len(b) <= most {
		return strconv.Quote(string(b))
	}
	return fmt.Sprintf("%s... (%d bytes)", strconv.Quote(string(b[:most])), len(b))
}

// stderrTells is the line of the diagnostics that says why the handler ended as it
// did, else their last one, to stand behind what became of it. All of them are in the
// evidence. Of a flood it is looked for at the end only.
func (v *invocation) stderrTells() string {
	text := v.stderr
	switch {
	case len(v.stderrEnd) > 0:
		text = v.stderrEnd
	case v.missing > 0:
		return "; what stderr ends with is not recorded"
	}
	const most = 256 << 10
	switch line, isReason := result.DiagnosticSummary(string(text[max(0, len(text)-most):])); {
	case line == "":
		return ""
	case isReason:
		return result.StderrSays + quote(line)
	default:
		return "; stderr ends with " + quote(line)
	}
}

// differ is the byte diff of two bodies: the first difference with what stands
// around it on both sides, in hex and as text. Empty when they are equal.
func differ(want, got []byte) (at int, diff string) {
	if bytes.Equal(want, got) {
		return 0, ""
	}
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	from := max(at-8, 0) &^ 7
	line := func(sign string, b []byte) string {
		if from >= len(b) {
			return fmt.Sprintf("%s %08x  (ends at byte %d)\n", sign, from, len(b))
		}
		part := b[from:min(from+24, len(b))]
		end := ""
		if from+24 >= len(b) {
			end = fmt.Sprintf("  (ends at byte %d)", len(b))
		}
		return fmt.Sprintf("%s %08x  % x  %s%s\n", sign, from, part, printable(part), end)
	}
	return at, fmt.Sprintf("first difference at byte %d\n%s%s", at, line("-", want), line("+", got))
}

// printable is the text column of a hex dump.
func printable(b []byte) string {
	out := make([]byte, len(b))
	for i, c := range b {
		if c < 0x20 || c > 0x7e {
			c = '.'
		}
		out[i] = c
	}
	return string(out)
}

// hexAround shows the bytes of a stream around an offset, in hex and as text.
func hexAround(raw []byte, offset int) string {
	from := max(offset-16, 0) &^ 7
	to := min(offset+32, len(raw))
	var b strings.Builder
	for ; from < to; from += 16 {
		part := raw[from:min(from+16, to)]
		fmt.Fprintf(&b, "  %08x  %-47s  %s\n", from, fmt.Sprintf("% x", part), printable(part))
	}
	return b.String()
}
