package casefile

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/spec"
)

func registry(t testing.TB) *spec.Spec {
	t.Helper()
	s, err := spec.Load()
	require.NoError(t, err)
	return s
}

func TestValidCasesLoad(t *testing.T) {
	cases, problems := Load(os.DirFS("testdata/valid"), registry(t))
	for _, p := range problems {
		t.Error(p)
	}
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]string{
		"handler/framing/byte-order-mark",
		"handler/framing/every-key",
		"handler/framing/merged-base",
		"handler/framing/no-whitespace",
		"handler/lifecycle/silent-with-control",
		"runtime/forks/child-after-next-run",
		"runtime/framing/every-key",
		"runtime/memory/every-verb",
	}, ids); diff != "" {
		t.Errorf("IDs (-want +got):\n%s", diff)
	}
}

// Each invalid case says in its comments what is wrong with it and where:
// "# want: LINE:COLUMN: message". A file that can't say so has a .want beside it.
func TestInvalidCasesAreRefusedWithAllTheirProblems(t *testing.T) {
	fsys := os.DirFS("testdata/invalid")
	s := registry(t)
	files := 0
	require.NoError(t, fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.IsDir() || path.Ext(name) == ".want" {
			return nil
		}
		files++
		t.Run(name, func(t *testing.T) {
			c, problems := LoadFile(fsys, name, s)
			if c != nil {
				t.Error("the case was loaded")
			}
			var got []string
			for _, p := range problems {
				if p.File != name {
					t.Errorf("file %q in a problem of %q", p.File, name)
				}
				got = append(got, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message))
			}
			if diff := cmp.Diff(wanted(t, fsys, name), got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
		return nil
	}))
	require.Greater(t, files, 50)
}

func wanted(t *testing.T, fsys fs.FS, name string) []string {
	t.Helper()
	if data, err := fs.ReadFile(fsys, name+".want"); err == nil {
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	data, err := fs.ReadFile(fsys, name)
	require.NoError(t, err)
	var want []string
	for scan := bufio.NewScanner(bytes.NewReader(data)); scan.Scan(); {
		if text, ok := strings.CutPrefix(scan.Text(), "# want: "); ok {
			want = append(want, text)
		}
	}
	require.NotEmpty(t, want, "%s does not say what is wrong with it", name)
	return want
}
