package spec_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/spec"
)

const (
	goodSections = `sections:
  - {number: "1", title: One}
  - {number: "3", title: Three}
  - {number: "3.1", title: Three one}
`
	goodReadings = `readings:
  - id: R1
    section: "3"
    question: Is it so?
    reading: It is so indeed.
`
	goodRequirements = `requirements:
  - id: P3/one
    section: "3"
    also: ["1"]
    level: MUST
    level-word: MUST NOT
    side: both
    text: A peer does one thing.
    readings: [R1]
    note: This is a note.
    unobservable: Nobody can ever see it.
`
)

// registry is a small registry with one of its files replaced.
func registry(file, content string) fstest.MapFS {
	fsys := fstest.MapFS{
		"sections.yaml":       {Data: []byte(goodSections)},
		"readings.yaml":       {Data: []byte(goodReadings)},
		"requirements/p.yaml": {Data: []byte(goodRequirements)},
	}
	if file != "" {
		fsys[file] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

func TestEveryKeyEndsUpInItsField(t *testing.T) {
	s, err := spec.LoadFS(registry("requirements/k.yaml", `requirements:
  - id: K1/page
    section: "3.1"
    page: Some heading
    level: DESC
    side: handler
    text: The SDK keeps its word.
`))
	require.NoError(t, err)
	wantRequirements := []spec.Requirement{
		{
			ID: "P3/one", Section: "3", Also: []spec.Section{"1"}, Level: spec.LevelMust, LevelWord: "MUST NOT",
			Side: spec.SideBoth, Text: "A peer does one thing.", Readings: []string{"R1"}, Note: "This is a note.",
			Unobservable: "Nobody can ever see it.",
		},
		{
			ID: "K1/page", Section: "3.1", Page: "Some heading", Level: spec.LevelDesc, Side: spec.SideHandler,
			Text: "The SDK keeps its word.",
		},
	}
	if diff := cmp.Diff(wantRequirements, s.Requirements()); diff != "" {
		t.Errorf("requirements, those of the SDK page last (-want +got):\n%s", diff)
	}
	wantReadings := []spec.Reading{{ID: "R1", Section: "3", Question: "Is it so?", Reading: "It is so indeed."}}
	if diff := cmp.Diff(wantReadings, s.Readings()); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
	wantHeadings := []spec.Heading{{Section: "1", Title: "One"}, {Section: "3", Title: "Three"}, {Section: "3.1", Title: "Three one"}}
	if diff := cmp.Diff(wantHeadings, s.Headings()); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}
}

// Each row puts one fault into a good registry. The want is the whole error,
// so that a row fails too when a fault is reported twice.
func TestFaultsAreRefusedWithTheirPlace(t *testing.T) {
	requirement := func(old, new string) string { return replaced(t, goodRequirements, old, new) }
	reading := func(old, new string) string { return replaced(t, goodReadings, old, new) }
	for _, c := range []struct{ name, file, content, want string }{
		{
			"unknown key", "requirements/p.yaml", requirement("side: both", "side: both\n    sede: both"),
			`requirements/p.yaml:8:5: unknown key "sede", did you mean "side"?`,
		},
		{
			"unknown key with no neighbour", "requirements/p.yaml", requirement("side: both", "side: both\n    xyzzyplugh: both"),
			`requirements/p.yaml:8:5: unknown key "xyzzyplugh"`,
		},
		{
			"unknown key at the root", "readings.yaml", goodReadings + "extra: 1\n",
			`readings.yaml:6:1: unknown key "extra"`,
		},
		{
			"unknown key of a reading", "readings.yaml", reading("question:", "qestion:"),
			"readings.yaml:4:5: unknown key \"qestion\", did you mean \"question\"?\n" +
				"readings.yaml:2:5: key \"question\" is missing",
		},
		{
			"key given twice", "requirements/p.yaml", requirement("side: both", "side: both\n    side: both"),
			`requirements/p.yaml:8:5: key "side" is given twice`,
		},
		{
			"key missing", "requirements/p.yaml", requirement("    level: MUST\n    level-word: MUST NOT\n", ""),
			`requirements/p.yaml:2:5: key "level" is missing`,
		},
		{
			"second document", "requirements/p.yaml", goodRequirements + "---\nrequirements: []\n",
			`requirements/p.yaml:12:1: a second YAML document: the file may hold one only`,
		},
		{
			"empty file", "readings.yaml", "",
			"readings.yaml:1:1: the file is empty\nrequirements/p.yaml:9:16: there is no reading \"R1\"",
		},
		{
			"no YAML", "requirements/p.yaml", goodRequirements + "  - id: @one\n",
			`requirements/p.yaml:12: found character that cannot start any token`,
		},
		{
			"not a list", "requirements/p.yaml", "requirements: {}\n",
			`requirements/p.yaml:1:15: want a list, got a mapping`,
		},
		{
			"empty list", "requirements/p.yaml", "requirements: []\n",
			`requirements/p.yaml:1:15: the list is empty`,
		},
		{
			"not a mapping", "requirements/p.yaml", "requirements: [P3/one]\n",
			`requirements/p.yaml:1:16: want a mapping, got the scalar "P3/one"`,
		},
		{
			"alias", "requirements/p.yaml", requirement("text: A peer does one thing.", "text: &a A peer does one thing.\n    page: *a"),
			`requirements/p.yaml:9:11: want a string, got an alias, which the registry does not use`,
		},
		{
			"section as a number", "requirements/p.yaml", requirement(`section: "3"`, `section: 3`),
			`requirements/p.yaml:3:14: want a string, got 3: write it in quotes`,
		},
		{
			"empty text", "requirements/p.yaml", requirement("text: A peer does one thing.", `text: ""`),
			`requirements/p.yaml:8:11: the text is empty: leave the key out`,
		},
		{
			"unknown section", "requirements/p.yaml", requirement(`also: ["1"]`, `also: ["2"]`),
			`requirements/p.yaml:4:12: the protocol has no section "2"`,
		},
		{
			"section of the ID and section differ", "requirements/p.yaml", requirement(`section: "3"`, `section: "3.1"`),
			`requirements/p.yaml:2:5: requirement P3/one: its section is 3, not 3.1`,
		},
		{
			"malformed ID", "requirements/p.yaml", requirement("P3/one", "P3/One"),
			`requirements/p.yaml:2:5: requirement "P3/One": want an ID like P3/any-whitespace`,
		},
		{
			"unknown document", "requirements/p.yaml", requirement("P3/one", "X3/one"),
			`requirements/p.yaml:2:5: requirement "X3/one": want an ID like P3/any-whitespace`,
		},
		{
			"unknown level", "requirements/p.yaml", requirement("level: MUST\n", "level: Must\n"),
			`requirements/p.yaml:2:5: requirement P3/one: unknown level "Must", want one of [MUST DESC SHOULD MAY]`,
		},
		{
			"word of another level", "requirements/p.yaml", requirement("MUST NOT", "SHOULD NOT"),
			`requirements/p.yaml:2:5: requirement P3/one: "SHOULD NOT" does not count as MUST`,
		},
		{
			"unknown side", "requirements/p.yaml", requirement("side: both", "side: B"),
			`requirements/p.yaml:2:5: requirement P3/one: unknown side "B", want one of [runtime handler both]`,
		},
		{
			"page heading of a requirement that has none", "requirements/p.yaml", requirement("side: both", "side: both\n    page: Heading"),
			`requirements/p.yaml:2:5: requirement P3/one: a page heading stands on every K requirement and on no other`,
		},
		{
			"no sentence", "requirements/p.yaml", requirement("A peer does one thing.", "A peer does one thing"),
			`requirements/p.yaml:8:11: not a sentence: want a capital or a quoted word first, a full stop last, and one paragraph`,
		},
		{
			"unknown reading", "requirements/p.yaml", requirement("[R1]", "[R1, R2]"),
			`requirements/p.yaml:9:20: there is no reading "R2"`,
		},
		{
			"reading cited twice", "requirements/p.yaml", requirement("[R1]", "[R1, R1]"),
			`requirements/p.yaml:9:20: reading R1 is cited twice`,
		},
		{
			"requirement given twice in two files", "requirements/q.yaml", goodRequirements,
			`requirements/q.yaml:2:5: requirement P3/one is given twice, first at requirements/p.yaml:2`,
		},
		{
			"reading given twice", "readings.yaml", goodReadings + strings.TrimPrefix(goodReadings, "readings:\n"),
			`readings.yaml:6:5: reading R1 is given twice or out of order: it follows R1`,
		},
		{
			"malformed reading ID", "readings.yaml", reading("R1", "R01"),
			"readings.yaml:2:5: reading \"R01\": want an ID of R and a number\n" +
				"requirements/p.yaml:9:16: there is no reading \"R1\"",
		},
		{
			"question that asks nothing", "readings.yaml", reading("Is it so?", "It is so."),
			`readings.yaml:2:5: reading R1: the question ends without a question mark`,
		},
		{
			"sections out of order", "sections.yaml", goodSections + "  - {number: \"2\", title: Two}\n",
			`sections.yaml:5:5: section 2 does not follow section 3.1`,
		},
		{
			"no section number", "sections.yaml", goodSections + "  - {number: \"4.x\", title: Four}\n",
			`sections.yaml:5:5: section "4.x" is no section number`,
		},
		{
			"file of another kind", "requirements/old.yml", goodRequirements,
			`requirements/old.yml: only .yaml files may lie here`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := spec.LoadFS(registry(c.file, c.content))
			require.Error(t, err)
			require.Nil(t, s)
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMissingFileIsAnErrorThatNamesIt(t *testing.T) {
	for _, file := range []string{"sections.yaml", "readings.yaml", "requirements/p.yaml"} {
		fsys := registry("", "")
		delete(fsys, file)
		_, err := spec.LoadFS(fsys)
		name, _, _ := strings.Cut(file, "/")
		require.ErrorContains(t, err, name)
	}
}

// replaced fails the test when there is nothing to replace, so that no row
// tests the good registry by mistake.
func replaced(t *testing.T, text, old, new string) string {
	t.Helper()
	require.Contains(t, text, old)
	return strings.Replace(text, old, new, 1)
}
