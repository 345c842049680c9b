package conform_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const module = "pugmark.dev/conform/"

// layers is the import graph of the tree: each package imports only what stands
// behind it here, the standard library and the named modules aside. Tests may
// import more.
const layers = `
protocol             :
spec                 :
transcript           :
process              :
process/programtest  :
script               : protocol
storage              :
storage/membucket    : storage
storage/dirbucket    : storage
storage/s3bucket     : storage
storage/s3bucket/s3test : process
storage/buckettest   : storage
fakehandler          : protocol script transcript
fakeruntime          : protocol script transcript process
reference            : protocol storage
casefile             : protocol spec script fakehandler fakeruntime
result               : protocol spec transcript
subject              : spec process
judge                : protocol spec script transcript casefile result
coverage             : spec casefile result
report               : spec result coverage
report/schema        :
report/html          : spec transcript result coverage report
report/html/browsertest :
stage                : protocol script transcript process storage storage/membucket storage/dirbucket fakehandler fakeruntime reference casefile result subject
testscript           : casefile result fakehandler stage
runner               : protocol spec transcript process casefile result judge coverage subject stage testscript
mutants              : protocol spec script transcript process storage storage/membucket storage/dirbucket fakehandler fakeruntime reference casefile result subject stage runner coverage
subjects             :
gate                 :
cmd/pugmark-ref      : protocol storage storage/membucket storage/dirbucket storage/s3bucket reference
cmd/pugmark-conform  : *
bench                : protocol storage storage/dirbucket reference
`

// modules is which packages may import a module that is more than a helper.
var modules = map[string][]string{
	"github.com/rogpeppe/go-internal/testscript": {"testscript"},
	"github.com/spf13/cobra":                     {"cmd/pugmark-conform", "cmd/pugmark-ref"},
	"go.opentelemetry.io/otel/trace":             {"reference", "cmd/pugmark-ref"},
	"go.opentelemetry.io/otel/sdk/trace":         {"cmd/pugmark-ref"},
	"github.com/chromedp/chromedp":               {"report/html/browsertest"},
}

func TestImportsFollowTheLayers(t *testing.T) {
	allowed := parseLayers(t)
	for pkg, imports := range importsOf(t) {
		want, ok := allowed[pkg]
		if !ok {
			t.Errorf("package %s does not stand in the layers", pkg)
			continue
		}
		for _, imported := range imports {
			if rest, ours := strings.CutPrefix(imported, module); ours {
				if !slices.Contains(want, rest) && !slices.Contains(want, "*") {
					t.Errorf("%s imports %s, which its layer does not allow", pkg, rest)
				}
			}
			if users, restricted := modules[imported]; restricted && !slices.Contains(users, pkg) {
				t.Errorf("%s imports %s, which is for %s", pkg, imported, strings.Join(users, " and "))
			}
		}
	}
}

func TestEveryLayerIsAPackage(t *testing.T) {
	want := slices.Sorted(maps.Keys(parseLayers(t)))
	got := slices.Sorted(maps.Keys(importsOf(t)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layers and packages (-layers +tree):\n%s", diff)
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	for pkg := range importsOf(t) {
		name := "doc.go"
		if strings.HasPrefix(pkg, "cmd/") {
			name = "main.go"
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(filepath.FromSlash(pkg), name), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Errorf("%s: %v", pkg, err)
			continue
		}
		if file.Doc.Text() == "" {
			t.Errorf("%s/%s says nothing about its package", pkg, name)
		}
	}
}

func TestLayersHaveNoCycle(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(layers)) {
		name, imports, _ := strings.Cut(line, ":")
		for _, imported := range strings.Fields(imports) {
			if imported != "*" && !seen[imported] {
				t.Errorf("%s stands before %s, which it may import", strings.TrimSpace(name), imported)
			}
		}
		seen[strings.TrimSpace(name)] = true
	}
}

func parseLayers(t *testing.T) map[string][]string {
	t.Helper()
	allowed := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(layers)) {
		name, imports, ok := strings.Cut(line, ":")
		require.True(t, ok, "no colon in %q", line)
		allowed[strings.TrimSpace(name)] = strings.Fields(imports)
	}
	return allowed
}

// importsOf reads the tree itself: what a tool says of it could be cached.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() && (name != "." && strings.HasPrefix(path.Base(name), ".") || path.Base(name) == "testdata") {
			return fs.SkipDir
		}
		pkg := path.Dir(name)
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || pkg == "." {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports[pkg] = append(imports[pkg], imported)
		}
		if imports[pkg] == nil {
			imports[pkg] = []string{}
		}
		return nil
	})
	require.NoError(t, err)
	return imports
}
