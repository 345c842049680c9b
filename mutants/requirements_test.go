package mutants

import (
	"testing"

	"pugmark.dev/conform/spec"
)

func TestEveryRequirementHasAMutant(t *testing.T) {
	o := options(t)
	broken := map[string]bool{}
	for _, m := range All() {
		broken[m.Requirement] = true
	}
	for _, r := range o.Registry.Requirements() {
		if r.Level != spec.LevelMay && r.IsObservable() && !broken[r.ID] {
			t.Errorf("no mutant breaks %s: %s", r.ID, r.Text)
		}
	}
}
