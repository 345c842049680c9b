package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pugmark.dev/conform/spec"
)

func TestMustAndDescAreMandatory(t *testing.T) {
	for level, want := range map[spec.Level]bool{
		spec.LevelMust: true, spec.LevelDesc: true, spec.LevelShould: false, spec.LevelMay: false, "": false,
	} {
		if got := (spec.Requirement{Level: level}).IsMandatory(); got != want {
			t.Errorf("level %q: mandatory %v, want %v", level, got, want)
		}
	}
}

func TestBothSidesAreBoundByBoth(t *testing.T) {
	for _, c := range []struct {
		side, kind spec.Side
		want       bool
	}{
		{spec.SideBoth, spec.SideRuntime, true},
		{spec.SideBoth, spec.SideHandler, true},
		{spec.SideRuntime, spec.SideRuntime, true},
		{spec.SideRuntime, spec.SideHandler, false},
		{spec.SideHandler, spec.SideRuntime, false},
		{spec.SideHandler, spec.SideHandler, true},
		{spec.SideHandler, spec.SideBoth, false},
	} {
		if got := c.side.Binds(c.kind); got != c.want {
			t.Errorf("%s binds %s: %v, want %v", c.side, c.kind, got, c.want)
		}
	}
}

func TestARequirementNamesItsDocumentAndWord(t *testing.T) {
	type facts struct {
		Document    spec.Document
		Word, Claim string
		Sections    []spec.Section
	}
	for _, c := range []struct {
		requirement spec.Requirement
		want        facts
	}{
		{
			spec.Requirement{ID: "P3/no-bom", Section: "3", Level: spec.LevelMust, LevelWord: "MUST NOT"},
			facts{spec.DocumentProtocol, "MUST NOT", "", []spec.Section{"3"}},
		},
		{
			spec.Requirement{ID: "S1/one-copy", Section: "5.3", Also: []spec.Section{"8.4"}, Level: spec.LevelDesc},
			facts{spec.DocumentStorage, "DESC", "", []spec.Section{"5.3", "8.4"}},
		},
		{
			spec.Requirement{ID: "K2/text", Section: "5.1", Level: spec.LevelDesc},
			facts{spec.DocumentSDKPage, "DESC", "sdk-page", []spec.Section{"5.1"}},
		},
		{spec.Requirement{}, facts{"", "", "", []spec.Section{""}}},
	} {
		r := c.requirement
		got := facts{r.Document(), r.Word(), r.Claim(), r.Sections()}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", r.ID, diff)
		}
	}
}
