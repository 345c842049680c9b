package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
)

// TestValidCasesEndAsTheySay plays cases that load: those below passing are right
// about the reference, those below failing are wrong about it on purpose. Each says
// in its comments what it ends in, and then of each check that does not pass its ID,
// where, and a part of what came: "# want: ID: WHERE: GOT". Cases that do not load
// are testdata/invalid of package casefile.
func TestValidCasesEndAsTheySay(t *testing.T) {
	const root = "testdata/outcomes"
	report, _ := played(t, "--cases", root, "--transport", "subprocess", "--seed", "7", "--evidence", filepath.Join(t.TempDir(), "evidence"))
	got := map[string]result.Case{}
	for _, c := range report.Cases {
		got[c.ID] = c
	}
	files := 0
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		var want []string
		for line := range strings.Lines(string(text)) {
			if says, ok := strings.CutPrefix(strings.TrimSpace(line), "# want: "); ok {
				want = append(want, says)
			}
		}
		require.NotEmpty(t, want, "%s does not say how it ends", name)
		c := got[strings.TrimSuffix(name, path.Ext(name))]
		found := []string{string(c.Verdict)}
		for _, k := range c.Checks {
			if k.Verdict != result.Pass {
				found = append(found, fmt.Sprintf("%s: %s: %s", k.ID, k.Where, k.Got))
			}
		}
		if len(want) != len(found) {
			t.Errorf("%s (-want +got):\n-%s\n+%s", name, strings.Join(want, "\n-"), strings.Join(found, "\n+"))
			return nil
		}
		for i := range want {
			if !strings.HasPrefix(found[i], want[i]) && !(i > 0 && matches(want[i], found[i])) {
				t.Errorf("%s\nwant: %s\ngot:  %s", name, want[i], found[i])
			}
		}
		return nil
	}))
	require.Len(t, got, files)
}

// matches reports whether a finding has the ID and the place that are wanted, and
// says what is wanted somewhere.
func matches(want, found string) bool {
	at := strings.LastIndex(want, ": ")
	rest, ok := strings.CutPrefix(found, want[:at+2])
	return ok && strings.Contains(rest, want[at+2:])
}
