package conform_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/subject"
	"pugmark.dev/conform/testscript"
)

var update = flag.Bool("update", false, "write the generated parts of the documents anew")

func TestTheGeneratedTablesAreFresh(t *testing.T) {
	const name = "CONFORMANCE.md"
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	want := string(text)
	for part, table := range map[string]string{"verbs": testscript.Usage(), "driver": subject.DriverOps(), "coverage": coverageTable(t), "mutants": mutantsTable(t)} {
		begin, end := fmt.Sprintf("<!-- generated: %s -->\n", part), "<!-- end -->"
		before, rest, ok := strings.Cut(want, begin)
		require.True(t, ok, "%s has no part %q", name, part)
		_, after, ok := strings.Cut(rest, end)
		require.True(t, ok, "the part %q of %s has no end", part, name)
		want = before + begin + table + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(want), 0o644))
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is stale; go test -update . writes it anew (-want +got):\n%s", name, diff)
	}
}

// coverageTable counts, section by section, the requirements that have a case.
func coverageTable(t *testing.T) string {
	t.Helper()
	registry, err := spec.Load()
	require.NoError(t, err)
	cases, problems := casefile.Load(spec.Cases(), registry)
	require.Empty(t, problems)
	type count struct{ mandatory, covered, other, otherCovered int }
	counts := map[string]*count{}
	var order []string
	total := &count{}
	for _, row := range coverage.Matrix(registry, cases) {
		document := row.Requirement.Document().Title()
		if counts[document] == nil {
			counts[document] = &count{}
			order = append(order, document)
		}
		for _, c := range []*count{counts[document], total} {
			has := len(row.Cases()) > 0 || !row.Requirement.IsObservable()
			switch {
			case row.Requirement.IsMandatory() && has:
				c.mandatory, c.covered = c.mandatory+1, c.covered+1
			case row.Requirement.IsMandatory():
				c.mandatory++
			case has:
				c.other, c.otherCovered = c.other+1, c.otherCovered+1
			default:
				c.other++
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d cases.\n\n| requirements of | MUST and DESC with a case | SHOULD and MAY with a case |\n|---|---|---|\n", len(cases))
	for _, document := range order {
		c := counts[document]
		fmt.Fprintf(&b, "| %s | %d of %d | %d of %d |\n", document, c.covered, c.mandatory, c.otherCovered, c.other)
	}
	fmt.Fprintf(&b, "| all | %d of %d | %d of %d |\n", total.covered, total.mandatory, total.otherCovered, total.other)
	return b.String()
}
