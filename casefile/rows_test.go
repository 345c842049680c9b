package casefile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryErrorHasARow reads the loader's own source for the messages of its
// errors, and wants a row of testdata/invalid, or of the known-failures files that are
// refused, for each: a message that no file is
// known to bring about may never be said, or be said at the wrong place.
func TestEveryErrorHasARow(t *testing.T) {
	said := corpus(t)
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	sites := 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || selector.Sel.Name != "fault" {
				return true
			}
			for _, argument := range call.Args {
				literal, ok := argument.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					continue
				}
				format, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				sites++
				if !said.MatchString(format) {
					t.Errorf("%s: no row for %q", set.Position(call.Pos()), format)
				}
				break
			}
			return true
		})
	}
	require.Greater(t, sites, 150, "the sites of errors")
}

// messages is what the rows of the corpus want to be said.
type messages []string

// MatchString reports whether one of the messages can be made from the format.
func (m messages) MatchString(format string) bool {
	pattern := regexp.QuoteMeta(format)
	pattern = regexp.MustCompile(`%#?0?2?[a-z]`).ReplaceAllString(pattern, `.*`)
	whole := regexp.MustCompile(`^(?s:` + pattern + `)$`)
	for _, text := range m {
		if whole.MatchString(text) {
			return true
		}
	}
	return false
}

func corpus(t *testing.T) (said messages) {
	t.Helper()
	fsys := os.DirFS("testdata/invalid")
	place := regexp.MustCompile(`^\d+:\d+: `)
	require.NoError(t, fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".want") {
			return err
		}
		for _, line := range wanted(t, fsys, name) {
			said = append(said, place.ReplaceAllString(line, ""))
		}
		return nil
	}))
	for _, c := range wrongKnownFailures() {
		_, problems := ParseKnownFailures("known.yaml", []byte(c.text), registry(t))
		for _, p := range problems {
			if strings.HasPrefix(p.String(), c.want) {
				said = append(said, p.Message)
			}
		}
	}
	return said
}
