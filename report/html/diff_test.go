package html

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWantAndGotAreComparedByName(t *testing.T) {
	got := fields(`body: 5 bytes, "hel, lo", name: "a", metadata: {"x": 1, "y": 2}`, `body: 5 bytes, "hel, la", name: "a", session: absent`)
	want := []field{
		{"body", []segment{{Text: `5 bytes, "hel, l`}, {"o", true}, {Text: `"`}}, []segment{{Text: `5 bytes, "hel, l`}, {"a", true}, {Text: `"`}}, true},
		{"name", []segment{{Text: `"a"`}}, []segment{{Text: `"a"`}}, false},
		{"metadata", []segment{{Text: `{"x": 1, "y": 2}`}}, nil, true},
		{"session", nil, []segment{{Text: "absent"}}, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, plain := range []string{"no Output at all", "", "the invocation succeeds: exit status 0", "one of: (1) body: an error"} {
		if got := fields(plain, `body: "x"`); got != nil {
			t.Errorf("%q is taken for a list by name: %v", plain, got)
		}
	}
}

func TestLinesOfADiffAreComparedWithTheOneInTheirPlace(t *testing.T) {
	got := diffLines("body:\n- 00000000  68 65\n+ 00000000  68 66\n  same\n", 1000, -1)
	want := []diffLine{
		{"", []segment{{Text: "body:"}}},
		{"-", []segment{{Text: " 00000000  68 6"}, {"5", true}}},
		{"+", []segment{{Text: " 00000000  68 6"}, {"6", true}}},
		{"", []segment{{Text: "  same"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheByteIsMarkedInTheDumpOfAFinding(t *testing.T) {
	const text = "  00000010  00 00 00 00 00 00 00 22 23 00 00 00 00 00 00 00  .......\"#......."
	got := markedDump(text, 0x18)
	want := []segment{{Text: text[:36]}, {"23", true}, {Text: text[38:69]}, {"#", true}, {Text: text[70:]}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, mark := range []int{-1, 0x0f, 0x20} {
		if got := markedDump(text, mark); len(got) != 1 {
			t.Errorf("byte %d is marked in a line that does not have it: %v", mark, got)
		}
	}
}

func TestCharactersAreNotCutByAMark(t *testing.T) {
	a, b := compared("abcdé.", "abcdè.")
	want := []segment{{Text: "abcd"}, {"é", true}, {Text: "."}}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b[1].Text != "è" {
		t.Errorf("the other side marks %q, want è", b[1].Text)
	}
}

func TestADiffThatSaysNoMoreThanTheFieldsIsKnown(t *testing.T) {
	all := fields(`name: "a", metadata: {"x": "1"}`, `name: "b", metadata: {"x": "2"}`)
	for diff, want := range map[string]bool{
		"- name: \"a\"\n+ name: \"b\"\n":                      true,
		"- name: \"a\"\n+ name: \"b\"\n- metadata.x: \"1\"\n": false,
		"  name: \"a\"\n":                                     false,
		"body: first difference at byte 0\n- 00000000  37\n":  false,
		"": false,
	} {
		if got := repeats(diff, all); got != want {
			t.Errorf("%q repeats the fields: %t, want %t", diff, got, want)
		}
	}
	if repeats("- name: 1\n", nil) {
		t.Error("without fields a diff repeats nothing")
	}
}
