package judge

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

// lines is a diff with these lines.
func lines(all ...string) string { return strings.Join(append(all, ""), "\n") }

func TestFieldsAreShownUnderEachOtherUnlessWantAndGotSayAsMuch(t *testing.T) {
	name := pair{name: "name", want: `"a"`, got: `"b"`}
	object := pair{name: "metadata", members: memberDiff("metadata",
		map[string]string{"a": "1", "gone": "x", "same": "s"}, map[string]string{"a": "2", "new one": "y\n", "same": "s"})}
	members := []string{`- metadata.a: "1"`, `+ metadata.a: "2"`, `- metadata.gone: "x"`, `+ metadata."new one": "y\n"`}
	for what, tc := range map[string]struct {
		fields []pair
		want   string
	}{
		"one field of one line": {[]pair{name}, ""},
		"an object of one member": {[]pair{{name: "metadata", want: `{"a": "1"}`, got: `{"a": "2"}`,
			members: memberDiff("metadata", map[string]string{"a": "1"}, map[string]string{"a": "2"})}}, ""},
		"two fields": {[]pair{name, {name: "event", want: `""`, got: `"start"`}},
			lines(`- name: "a"`, `+ name: "b"`, `- event: ""`, `+ event: "start"`)},
		"an object":             {[]pair{object}, lines(members...)},
		"a field and an object": {[]pair{name, object}, lines(append([]string{`- name: "a"`, `+ name: "b"`}, members...)...)},
	} {
		if diff := gocmp.Diff(tc.want, fieldDiff(tc.fields)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestListsAreShownWithTheEqualItemsAroundADifference(t *testing.T) {
	long := strings.Split("a b c d e f g h i j k", " ")
	for what, tc := range map[string]struct {
		want, got []string
		diff      string
	}{
		"one item each":       {[]string{"a"}, []string{"b"}, ""},
		"a missing one":       {[]string{"a", "b", "c"}, []string{"a", "c"}, lines("  a", "- b", "  c")},
		"a surplus one":       {[]string{"a"}, []string{"a", "a\nb"}, lines("  a", `+ a\nb`)},
		"another order":       {[]string{"a", "b"}, []string{"b", "a"}, lines("- a", "  b", "+ a")},
		"nothing came":        {[]string{"a", "b"}, nil, lines("- a", "- b")},
		"equal ones far away": {long, append(append([]string{}, long[:5]...), long[6:]...), lines("  ... 2 equal", "  c", "  d", "  e", "- f", "  g", "  h", "  i", "  ... 2 equal")},
	} {
		if diff := gocmp.Diff(tc.diff, listDiff(tc.want, tc.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestADiffIsBounded(t *testing.T) {
	var want, got []string
	for i := range 3000 {
		want, got = append(want, fmt.Sprint("w", i)), append(got, fmt.Sprint("g", i))
	}
	text := listDiff(append(want, strings.Repeat("x", 9000)), got)
	if len(text) > maxText {
		t.Errorf("the diff has %d bytes, over %d", len(text), maxText)
	}
	if !strings.HasPrefix(text, "- w0\n- w1\n") || !strings.HasSuffix(text, " more lines\n") {
		t.Errorf("the diff is %.40q to %q", text, text[max(len(text)-40, 0):])
	}
	if long := listDiff([]string{strings.Repeat("x", 9000), "a"}, nil); len(long) > 2*diffLine {
		t.Errorf("a line of 9000 bytes is shown with %d", len(long))
	}
}

func TestSnapshotsAreShownAsFarAsTheCaseSaysSomething(t *testing.T) {
	none := []casefile.EntryMatch{}
	want := []casefile.SnapshotMatch{{}, {Type: "pushed"}, {Type: "external", Entries: &none}, {}}
	got := []result.Snapshot{{Type: "external", Entries: make([]result.Entry, 2)}, {Type: "queueing"}, {Type: "external", Entries: make([]result.Entry, 1)}}
	const diff = "  external, 2 entries\n  queueing, 0 entries\n- external, 0 entries\n- any type, any entries\n+ external, 1 entry\n"
	if d := gocmp.Diff(diff, snapshotDiff(want, got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestStderrIsToldByTheLineThatSaysWhy(t *testing.T) {
	const served = "127.0.0.1 - - [30/Nov/2026 01:58:21] \"POST / HTTP/1.1\" 500 59\n"
	for text, want := range map[string]string{
		"": "",
		"Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'name'\n" + served: `; stderr says "KeyError: 'name'"`,
		"starting\nno instructions\n" + served:                                                     `; stderr ends with "no instructions"`,
		served:                                                                                     "",
		"Error: " + strings.Repeat("x", 2000):                                                      `; stderr says ` + quote("Error: "+strings.Repeat("x", 2000)),
	} {
		if diff := gocmp.Diff(want, (&invocation{stderr: []byte(text)}).stderrTells()); diff != "" {
			t.Errorf("%.60q (-want +got):\n%s", text, diff)
		}
	}
}
