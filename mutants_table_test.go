package conform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/mutants"
	"pugmark.dev/conform/spec"
)

// mutantsTable names, requirement by requirement, what breaks it and what catches
// that. The catches are those that the tests of package mutants try.
func mutantsTable(t *testing.T) string {
	t.Helper()
	registry, err := spec.Load()
	require.NoError(t, err)
	cases, problems := casefile.Load(spec.Cases(), registry)
	require.Empty(t, problems)
	covers := map[string]map[string]bool{} // case, requirement
	for _, c := range cases {
		covers[c.ID] = map[string]bool{}
		for _, id := range c.Covers {
			covers[c.ID][id] = true
		}
	}
	caught := map[string][]string{} // mutant, cases
	failed := map[string]bool{}
	for _, f := range mutants.Known() {
		caught[f.Mutant] = append(caught[f.Mutant], f.Case)
		failed[f.Case] = true
	}
	wrong := map[string][]mutants.Mutant{}
	for _, m := range mutants.All() {
		wrong[m.Requirement] = append(wrong[m.Requirement], m)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d mutants, each caught by a check that cites what it breaks; %d of %d cases failed by one of them; "+
		"%d twins, of which no case accuses one; %d subjects that do nothing, which pass nothing.\n\n",
		len(mutants.All()), len(failed), len(cases), len(mutants.Twins()), len(mutants.Idlers()))
	b.WriteString("| requirement | level | cases | mutants | one of them | caught by |\n|---|---|---|---|---|---|\n")
	for _, row := range coverage.Matrix(registry, cases) {
		r := row.Requirement
		one, by := "", ""
		for _, m := range wrong[r.ID] {
			for _, id := range caught[m.ID] {
				if covers[id][r.ID] && one == "" {
					one, by = m.Sentence, "`"+id+"`"
				}
			}
		}
		if one == "" && len(wrong[r.ID]) > 0 {
			one = wrong[r.ID][0].Sentence
			if by = "a rule of every case"; len(caught[wrong[r.ID][0].ID]) > 0 {
				by = "a rule of every case, as in `" + caught[wrong[r.ID][0].ID][0] + "`"
			}
		}
		switch {
		case !r.IsObservable():
			one = "can't be observed from outside"
		case r.Level == spec.LevelMay:
			one = "a MAY: twins make use of it"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %s | %s |\n", r.ID, r.Level, len(row.Cases()), len(wrong[r.ID]), strings.ReplaceAll(one, "|", "\\|"), by)
	}
	return b.String()
}
