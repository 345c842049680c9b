package html

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pugmark.dev/conform/report"
)

func TestTextDoesNotAct(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 語":                 "plain é 語",
		"\x1b[31mred\x00\x7f":       `\x1b[31mred\x00\x7f`,
		"a\nb\tc\rd":                `a\nb\tc\rd`,
		"\u202eevil\u2066\ufeff":    `\u202eevil\u2066\ufeff`,
		"\xff\xed\xa0\x80":          `\xff\xed\xa0\x80`,
		"\U000e0041":                `\U000e0041`,
		"two\u00a0words\u2028lines": `two\u00a0words\u2028lines`,
	} {
		if got := line(in, 1000); got != want {
			t.Errorf("line(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := block("a\n\tb\x00\n", 100), "a\n    b\\x00"; got != want {
		t.Errorf("block: %q, want %q", got, want)
	}
}

func TestTextIsBoundedAndCounted(t *testing.T) {
	if got, want := line("0123456789abcdefghij", 9), "012345 … 11 bytes left out … hij"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// Nine bytes that take thirty-six to show, and characters that are not cut.
	if got, want := line(strings.Repeat("\x00", 9), 12), `\x00\x00 … 6 bytes left out … \x00`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := line("ééééé", 6), "éé … 4 bytes left out … é"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := opening("0123456789", 4), "0123 …"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNumbersReadWell(t *testing.T) {
	got := []string{count(1, "byte"), count(0, "byte"), count(9999, "byte"), count(12345678, "byte"),
		report.Duration(999), report.Duration(1250), report.Duration(61_000), moment(87_741), moment(12_345_678)}
	want := []string{"1 byte", "0 bytes", "9999 bytes", "12,345,678 bytes", "999 ms", "1.2 s", "1 min 01 s", "87.7 ms", "12.34 s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCommandsCanBePasted(t *testing.T) {
	got := shell([]string{"run", "--subject", "my sdk.yaml", "it's", "", "a*b"})
	if want := `run --subject 'my sdk.yaml' 'it'\''s' '' 'a*b'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
