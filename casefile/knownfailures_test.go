package casefile

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"
)

const knownSchemaID = "https://pugmark.dev/conform/casefile/known-failures.schema.json"

const everyKnownKey = `# by the owner
known-failures:
  - case: handler/inline/data-alone
    transport: rpc
    verdict: fail
    requirements: [P7.1/prefer-data]
    where: ["conform/observed, entry 1, body"]
    reason: Bodies are read from the url only.
    issue: https://example.com/issues/1
    expires: 2027-01-31
  - case: handler/binary/*
    verdict: not-testable
    matches: 4
    reason: As above.
  - case: handler/pauses/sleep-one-millisecond
    verdict: fail
    checks: [outputs]
    reason: Hundredths of a second are all there is.
    expires: "2027-01-31"
`

func TestKnownFailuresAreRead(t *testing.T) {
	got, problems := ParseKnownFailures("known.yaml", []byte(everyKnownKey), registry(t))
	require.Empty(t, problems)
	want := []KnownFailure{
		{Case: "handler/inline/data-alone", Transport: "rpc", Verdict: "fail", Requirements: []string{"P7.1/prefer-data"}, Where: []string{"conform/observed, entry 1, body"},
			Reason: "Bodies are read from the url only.", Issue: "https://example.com/issues/1", Expires: "2027-01-31", Line: 3},
		{Case: "handler/binary/*", Verdict: "not-testable", Matches: 4, Reason: "As above.", Line: 11},
		{Case: "handler/pauses/sleep-one-millisecond", Verdict: "fail", Checks: []string{"outputs"},
			Reason: "Hundredths of a second are all there is.", Expires: "2027-01-31", Line: 15},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAKnownFailuresFileMayHaveNoEntryLeft(t *testing.T) {
	got, problems := ParseKnownFailures("known.yaml", []byte("known-failures: []\n"), registry(t))
	require.Empty(t, problems)
	require.Empty(t, got)
}

// wrongKnownFailures is files that are refused, each with what it is refused for.
func wrongKnownFailures() map[string]struct{ text, want string } {
	const good = "known-failures:\n  - case: handler/a/b\n    verdict: fail\n    requirements: [P3/utf8]\n    reason: It is known.\n"
	return map[string]struct{ text, want string }{
		"empty":                   {"", "known.yaml:1:1: the file is empty"},
		"another key":             {"known-failure: []\n", "known.yaml:1:1: unknown key `known-failure`, did you mean `known-failures`?"},
		"misspelt key":            {strings.Replace(good, "reason:", "reasn:", 1), "known.yaml:5:5: unknown key `reasn`, did you mean `reason`?"},
		"no reason":               {strings.Replace(good, "    reason: It is known.\n", "", 1), "known.yaml:2:5: the key `reason` is missing"},
		"empty reason":            {strings.Replace(good, "It is known.", "' '", 1), "known.yaml:5:13: `reason` is empty: say why this is known, and not mended"},
		"a placeholder":           {strings.Replace(good, "It is known.", "TODO", 1), `known.yaml:5:13: the reason is still to be written: say in the place of "TODO" why this is known, and not mended`},
		"a placeholder with more": {strings.Replace(good, "It is known.", "'todo: ask'", 1), "known.yaml:5:13: the reason is still to be written"},
		"misspelt verdict":        {strings.Replace(good, "verdict: fail", "verdict: fails", 1), "known.yaml:3:14: unknown `verdict` \"fails\", did you mean `fail`?"},
		"a pass can't be excused": {strings.Replace(good, "verdict: fail", "verdict: conformant", 1), "known.yaml:3:14: unknown `verdict`"},
		"unknown requirement":     {strings.Replace(good, "P3/utf8", "P3/utf9", 1), "known.yaml:4:20: unknown requirement P3/utf9, did you mean `P3/utf8`?"},
		"twice the same one":      {strings.Replace(good, "[P3/utf8]", "[P3/utf8, P3/utf8]", 1), "known.yaml:4:29: P3/utf8 is there twice"},
		"nothing excused":         {strings.Replace(good, "    requirements: [P3/utf8]\n", "", 1), "known.yaml:2:5: the entry does not say what it excuses"},
		"two ways":                {good + "    checks: [exit]\n", "known.yaml:6:13: `checks` and `requirements` say the same in two ways: keep one"},
		"a glob without a number": {strings.Replace(good, "a/b", "a/*", 1), "known.yaml:2:11: a glob says how many results it may match: add `matches`"},
		"no results":              {good + "    matches: 0\n", "known.yaml:6:14: `matches` is how many results the entry may match: 1 or more"},
		"a bad glob":              {strings.Replace(good, "a/b", "a/[b", 1), "known.yaml:2:11: `case` is the ID of a case, or a glob on IDs"},
		"no URL":                  {good + "    issue: '17'\n", "known.yaml:6:12: `issue` is a URL, as https://example.com/issues/1"},
		"no day":                  {good + "    expires: 2027-02-30\n", "known.yaml:6:14: `expires`: want a day, as 2006-01-02, got \"2027-02-30\""},
		"unknown transport":       {good + "    transport: rcp\n", "known.yaml:6:16: unknown `transport` \"rcp\", did you mean `rpc`?"},
		"the same entry twice":    {good + strings.TrimPrefix(good, "known-failures:\n"), "known.yaml:6:5: this entry is there twice, first on line 2: remove one"},
		"a second document":       {good + "---\nknown-failures: []\n", "known.yaml:6:1: a second YAML document"},
		"a list":                  {"- case: x\n", "known.yaml:1:1: want a mapping"},
		"twice the same check":    {strings.Replace(good, "requirements: [P3/utf8]", "checks: [exit, exit]", 1), "known.yaml:4:20: \"exit\" is there twice, or empty"},
		"an unknown requirement":  {strings.Replace(good, "P3/utf8", "Q9/nothing-like-it", 1), "known.yaml:4:20: unknown requirement Q9/nothing-like-it; `pugmark-conform list` shows what there is"},
	}
}

func TestProblemsOfKnownFailuresHaveTheirPlace(t *testing.T) {
	for name, c := range wrongKnownFailures() {
		t.Run(name, func(t *testing.T) {
			entries, problems := ParseKnownFailures("known.yaml", []byte(c.text), registry(t))
			if entries != nil {
				t.Errorf("entries of a file that is wrong: %v", entries)
			}
			// A key that is misspelt is missing too.
			require.LessOrEqual(t, len(problems), 2, "%v", problems)
			if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.HasPrefix(p.String(), c.want) }) {
				t.Errorf("got  %v\nwant %s", problems, c.want)
			}
		})
	}
}

func TestTheSchemaOfKnownFailuresIsFresh(t *testing.T) {
	r := &jsonschema.Reflector{Anonymous: true, FieldNameTag: "yaml", ExpandedStruct: true}
	require.NoError(t, r.AddGoComments("pugmark.dev/conform/casefile", "."))
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	root := r.Reflect(&knownFailuresDoc{})
	root.Version, root.ID, root.Title = jsonschema.Version, knownSchemaID, "pugmark-conform known failures"
	entry := root.Definitions["KnownFailure"]
	set := func(name string, change func(*jsonschema.Schema)) {
		p, ok := entry.Properties.Get(name)
		require.True(t, ok, name)
		change(p)
	}
	one := uint64(1)
	for slot, words := range words() {
		if slot.owner == reflect.TypeFor[KnownFailure]() {
			set(slot.key, func(p *jsonschema.Schema) { p.Enum = anys(words) })
		}
	}
	set("requirements", func(p *jsonschema.Schema) { p.MinItems, p.UniqueItems = &one, true })
	set("checks", func(p *jsonschema.Schema) { p.MinItems, p.UniqueItems = &one, true })
	set("where", func(p *jsonschema.Schema) { p.MinItems, p.UniqueItems = &one, true })
	set("matches", func(p *jsonschema.Schema) { p.Minimum = json.Number("1") })
	set("reason", func(p *jsonschema.Schema) {
		p.Pattern, p.Not = `\S`, &jsonschema.Schema{Pattern: `^\s*[Tt][Oo][Dd][Oo]`}
	})
	set("issue", func(p *jsonschema.Schema) { p.Pattern = `^https?://.` })
	set("expires", func(p *jsonschema.Schema) {
		*p = jsonschema.Schema{Type: "string", Pattern: `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`, Description: p.Description}
	})
	delete(root.Definitions, "Date")
	entry.Not = &jsonschema.Schema{Required: []string{"requirements", "checks"}}
	fails := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	fails.Properties.Set("verdict", &jsonschema.Schema{Const: "fail"})
	entry.If, entry.Then = fails, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Required: []string{"requirements"}}, {Required: []string{"checks"}}}}
	published(t, "known-failures.schema.json", schemaText(t, root), KnownFailuresSchema())
}

func TestTheSchemaOfKnownFailuresFitsTheLoader(t *testing.T) {
	s := compiled(t, KnownFailuresSchema(), knownSchemaID)
	require.NoError(t, s.Validate(jsonValue(t, []byte(everyKnownKey))))
	for name, text := range map[string]string{
		"unknown key":       `{known-failures: [{case: a/b, verdict: crash, reason: Known., why: x}]}`,
		"unknown verdict":   `{known-failures: [{case: a/b, verdict: pass, reason: Known.}]}`,
		"nothing excused":   `{known-failures: [{case: a/b, verdict: fail, reason: Known.}]}`,
		"two ways":          `{known-failures: [{case: a/b, verdict: fail, reason: Known., requirements: [P3/utf8], checks: [x]}]}`,
		"no place":          `{known-failures: [{case: a/b, verdict: crash, reason: Known., where: []}]}`,
		"a place twice":     `{known-failures: [{case: a/b, verdict: crash, reason: Known., where: [x, x]}]}`,
		"no reason":         `{known-failures: [{case: a/b, verdict: crash}]}`,
		"a placeholder":     `{known-failures: [{case: a/b, verdict: crash, reason: TODO}]}`,
		"no results":        `{known-failures: [{case: a/b, verdict: crash, reason: Known., matches: 0}]}`,
		"no day":            `{known-failures: [{case: a/b, verdict: crash, reason: Known., expires: tomorrow}]}`,
		"unknown transport": `{known-failures: [{case: a/b, verdict: crash, reason: Known., transport: rcp}]}`,
	} {
		if s.Validate(jsonValue(t, []byte(text))) == nil {
			t.Errorf("%s: the schema takes it", name)
		}
		if _, problems := ParseKnownFailures("x", []byte(text), registry(t)); len(problems) == 0 {
			t.Errorf("%s: the loader takes it", name)
		}
	}
}
