package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pugmark.dev/conform/spec"
)

func TestReadingsR1ToR57AreThereInOrder(t *testing.T) {
	s := load(t)
	var want, got []string
	for n := 1; n <= 57; n++ {
		want = append(want, fmt.Sprintf("R%d", n))
	}
	for _, r := range s.Readings() {
		got = append(got, r.ID)
		if found, ok := s.Reading(r.ID); !ok || found.ID != r.ID {
			t.Errorf("Reading(%q) = %q, %v", r.ID, found.ID, ok)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
	if _, ok := s.Reading("R58"); ok {
		t.Error("there is a reading R58, which nobody wrote")
	}
}

func TestEveryReadingBearsOnARequirement(t *testing.T) {
	s := load(t)
	for _, r := range s.Readings() {
		if len(s.CitedBy(r.ID)) == 0 {
			t.Errorf("no requirement cites %s", r.ID)
		}
	}
}

// The readings that the texts of the protocol make unavoidable, by the
// requirement whose text they settle. Written by hand from the readings.
func TestRequirementsCiteTheReadingsThatSettleThem(t *testing.T) {
	s := load(t)
	for id, want := range map[string][]string{
		"P2.2/status-200":          {"R19", "R25"},
		"P2.2/metadata-header":     {"R12", "R20", "R33"},
		"P3/refuses-garbage":       {"R16", "R18"},
		"P4.2/lifecycle-begins":    {"R27", "R28", "R55"},
		"P4.3/push-after-stop":     {"R44"},
		"P4.3/push-latest":         {"R5", "R43"},
		"P6/none":                  {"R1", "R6"},
		"P7/content-encoding":      {"R30", "R56"},
		"P7/non-2xx-error":         {"R29"},
		"P11.2/parent-visible":     {"R40"},
		"P14/fetch-context":        {"R35"},
		"P15/named":                {"R51"},
		"P17/closed-fields":        {"R37"},
		"P17/protocol-event":       {"R36"},
		"S3/failed-leaves-nothing": {"R54"},
		"P16/failure":              {"R25"},
		"P3/any-whitespace":        nil,
		"K1/read-all":              nil,
	} {
		r, ok := s.Requirement(id)
		if !ok {
			t.Errorf("no requirement %s", id)
			continue
		}
		if diff := cmp.Diff(want, r.Readings); diff != "" {
			t.Errorf("%s cites (-want +got):\n%s", id, diff)
		}
	}
}

func TestEveryTextIsASentenceOfItsOwn(t *testing.T) {
	s := load(t)
	seen := map[string]string{}
	sentence := func(id, what, text string) {
		t.Helper()
		switch {
		case !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?"):
			t.Errorf("%s: %s does not end as a sentence: %q", id, what, text)
		case strings.ToUpper(text[:1]) != text[:1]:
			t.Errorf("%s: %s does not begin as a sentence: %q", id, what, text)
		case len(strings.Fields(text)) < 4:
			t.Errorf("%s: %s is too short to judge by: %q", id, what, text)
		}
		// Notes and exceptions may repeat: two requirements can share a source.
		if other, twice := seen[text]; twice && what != "accepts" && what != "note" {
			t.Errorf("%s: %s says the same as %s", id, what, other)
		}
		seen[text] = id
	}
	for _, r := range s.Requirements() {
		sentence(r.ID, "text", r.Text)
		if r.Note != "" {
			sentence(r.ID, "note", r.Note)
		}
	}
	for _, r := range s.Readings() {
		sentence(r.ID, "question", r.Question)
		sentence(r.ID, "reading", r.Reading)
		if r.Accepts != "" {
			sentence(r.ID, "accepts", r.Accepts)
		}
	}
}

func TestEverySectionNamedExists(t *testing.T) {
	s := load(t)
	exists := func(id string, sections []spec.Section) {
		t.Helper()
		if len(sections) == 0 {
			t.Errorf("%s names no section", id)
		}
		for i, section := range sections {
			if _, ok := s.Heading(section); !ok {
				t.Errorf("%s names section %q, which the protocol does not have", id, section)
			}
			if slices.Contains(sections[:i], section) {
				t.Errorf("%s names section %s twice", id, section)
			}
		}
	}
	for _, r := range s.Requirements() {
		exists(r.ID, r.Sections())
	}
	for _, r := range s.Readings() {
		exists(r.ID, r.Sections())
	}
}

func TestHeadingsAreTheProtocolsSections(t *testing.T) {
	want := strings.Fields("1 2 2.1 2.2 3 3.1 3.2 4 4.1 4.2 4.3 5 5.1 5.2 5.3 6 7 7.1 8 8.1 8.2 8.3 8.4 " +
		"9 10 11 11.1 11.2 12 13 14 14.1 15 16 17")
	var got []string
	for _, h := range load(t).Headings() {
		got = append(got, string(h.Section))
		if h.Title == "" {
			t.Errorf("section %s has no title", h.Section)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}

func TestProtocolRequirementsFollowTheTableOfContents(t *testing.T) {
	var last spec.Section = "1"
	for _, r := range load(t).Requirements() {
		if r.Document() != spec.DocumentProtocol {
			continue
		}
		if r.Section.Compare(last) < 0 {
			t.Errorf("%s stands behind section %s", r.ID, last)
		}
		last = r.Section
	}
}

func TestStorageAndSDKPageRequirementsAreDescriptions(t *testing.T) {
	for _, r := range load(t).Requirements() {
		side, claim := spec.SideRuntime, ""
		switch r.Document() {
		case spec.DocumentProtocol:
			continue
		case spec.DocumentStorage:
		case spec.DocumentSDKPage:
			side, claim = spec.SideHandler, "sdk-page"
		}
		if r.Level != spec.LevelDesc || r.Side != side || r.Claim() != claim {
			t.Errorf("%s: level %s, side %s, claim %q; want DESC, %s, %q", r.ID, r.Level, r.Side, r.Claim(), side, claim)
		}
	}
}

// The sentences of the protocol that forbid; all other MUSTs and SHOULDs
// demand.
func TestTheForbiddingRequirementsKeepTheProtocolsWord(t *testing.T) {
	want := []string{
		"P2.2/no-chunked MUST NOT",
		"P3/never-split MUST NOT",
		"P3/no-bom MUST NOT",
		"P3/no-foreign-content MUST NOT",
		"P3.1/standard-alphabet MUST NOT",
		"P3.1/no-line-breaks MUST NOT",
		"P7/no-retention MUST NOT",
		"P8.2/object-name MUST NOT",
		"P9/runtime-only MUST NOT",
		"P10/single-pause SHOULD NOT",
		"P16/no-blocking MUST NOT",
	}
	var got []string
	for _, r := range load(t).Requirements() {
		if r.Word() != string(r.Level) {
			got = append(got, r.ID+" "+r.Word())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("words other than the level (-want +got):\n%s", diff)
	}
}

// A requirement without a case needs a reason that was reviewed. List it here.
func TestTheUnobservableRequirementsAreTheReviewedOnes(t *testing.T) {
	want := []string{"K7/version"}
	var got []string
	for _, r := range load(t).Requirements() {
		if !r.IsObservable() {
			got = append(got, r.ID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unobservable (-want +got):\n%s", diff)
	}
}

func TestListsHandedOutAreTheCallersOwn(t *testing.T) {
	s := load(t)
	s.Requirements()[0].ID = "changed"
	s.Readings()[0].ID = "changed"
	s.Headings()[0].Title = "changed"
	if s.Requirements()[0].ID != "P1/replay-tolerant" || s.Readings()[0].ID != "R1" || s.Headings()[0].Title != "Overview" {
		t.Error("changing a list that was handed out changed the spec")
	}
}
