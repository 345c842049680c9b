package spec_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pugmark.dev/conform/spec"
)

func TestSectionsSortByNumberAndNotByText(t *testing.T) {
	got := []spec.Section{"11.1", "", "10", "2.2", "11", "3", "x", "2", "2.10", "2.1"}
	slices.SortFunc(got, spec.Section.Compare)
	want := []spec.Section{"", "x", "2", "2.1", "2.2", "2.10", "3", "10", "11", "11.1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
}

func TestASectionNumberIsWholeNumbersFromOne(t *testing.T) {
	for section, want := range map[spec.Section]bool{
		"1": true, "11.1": true, "2.10": true, "1.2.3": true,
		"": false, "0": false, "01": false, "1.": false, ".1": false, "1.0": false, "-1": false, "+1": false, "one": false,
	} {
		if got := section.IsValid(); got != want {
			t.Errorf("section %q valid: %v, want %v", section, got, want)
		}
	}
}

func TestTheTopOfASubsectionIsItsSection(t *testing.T) {
	for section, want := range map[spec.Section]spec.Section{"11.1": "11", "11": "11", "": ""} {
		if got := section.Top(); got != want {
			t.Errorf("top of %q: %q, want %q", section, got, want)
		}
	}
}
