package casefile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/script"
)

func TestMergeKeysAndAliasesAreWrittenOut(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"own key wins, before and after": {
			`[&a {x: 1, y: 2}, {x: 3, <<: *a}, {<<: *a, y: 4}]`,
			`[{"x":1,"y":2},{"x":3,"y":2},{"y":4,"x":1}]`,
		},
		"of a list the earlier wins": {
			`[&a {x: 1}, &b {x: 2, y: 2}, {<<: [*a, *b]}]`,
			`[{"x":1},{"x":2,"y":2},{"x":1,"y":2}]`,
		},
		"merged into what is merged": {
			`[&a {x: 1}, &b {<<: *a, y: 2}, {<<: *b, z: 3}]`,
			`[{"x":1},{"y":2,"x":1},{"z":3,"y":2,"x":1}]`,
		},
		"alias of a scalar and of a list": {
			`[&a one, *a, &b [1], *b]`,
			`["one","one",[1],[1]]`,
		},
		"a quoted << is a key like any other": {
			`[{"<<": 1}]`,
			`[{"<<":1}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var found []Problem
			root := (&document{file: "x", found: &found}).parse([]byte(test.text))
			require.NotNil(t, root, "%v", found)
			var got script.JSON
			require.NoError(t, root.Decode(&got))
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Ten levels of ten aliases each would be ten thousand million values.
func TestAliasesCanNotBlowUpAFile(t *testing.T) {
	text := "- &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		a := string(rune('0' + i))
		text += "- &a" + string(rune('1'+i)) + " [*a" + a
		for range 9 {
			text += ", *a" + a
		}
		text += "]\n"
	}
	var found []Problem
	root := (&document{file: "x", found: &found}).parse([]byte(text))
	require.Nil(t, root)
	require.Len(t, found, 1)
	if diff := cmp.Diff("aliases make this file larger than 200000 values", found[0].Message); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNearestWord(t *testing.T) {
	known := []string{"expect", "input", "transports", "exit", "fed"}
	for word, want := range map[string]string{
		"expct": "expect", "exepct": "expect", "Expect": "expect", "inputs": "input", "transport": "transports",
		"feed": "fed", "xyz": "", "": "", "a": "",
	} {
		if got, _ := nearest(word, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
