package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/report/schema"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

var update = flag.Bool("update", false, "write the golden files and the schema anew")

// generate makes the schema from the types and comments of package result.
func generate(t *testing.T) []byte {
	t.Helper()
	r := jsonschema.Reflector{ExpandedStruct: true}
	// Comments are found by the package path of the types and the path of the
	// sources, both as seen from the module's root.
	t.Chdir("..")
	require.NoError(t, r.AddGoComments("pugmark.dev/conform", "./result", jsonschema.WithFullComment()))
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	s := r.Reflect(&result.Run{})
	s.ID = schema.ID
	s.Title = "A report of pugmark-conform"

	property := func(of *jsonschema.Schema, name string) *jsonschema.Schema {
		p, ok := of.Properties.Get(name)
		require.True(t, ok, "no property %s", name)
		return p
	}
	enum := func(p *jsonschema.Schema, values ...any) { p.Type, p.Ref, p.Enum = "string", "", values }
	property(s, "schema").Const = result.SchemaV1
	property(s, "complete").Const = true
	property(s, "started").Format = "date-time"
	property(s, "duration-ms").Minimum = json.Number("0")
	property(s, "totals").AdditionalProperties.Minimum = json.Number("0")
	enum(property(s, "verdict"), result.Conformant, result.AsExpected, result.NotConformant, result.Incomplete)

	check := s.Definitions["Check"]
	enum(property(check, "verdict"), result.Pass, result.Fail, result.Warn, result.NotRun)
	c := s.Definitions["Case"]
	property(c, "duration-ms").Minimum = json.Number("0")
	enum(property(c, "verdict"), result.Pass, result.Warn, result.Fail, result.Crash, result.Hang, result.NotApplicable,
		result.NotTestable, result.NotRun, result.HarnessError, result.KnownFailure, result.UnexpectedPass, result.Flaky)
	q := s.Definitions["Requirement"]
	enum(property(q, "level"), spec.LevelMust, spec.LevelDesc, spec.LevelShould, spec.LevelMay)
	enum(property(q, "side"), spec.SideRuntime.Letter(), spec.SideHandler.Letter(), spec.SideBoth.Letter())
	enum(property(q, "verdict"), result.HarnessError, result.Crash, result.Hang, result.Fail, result.Flaky,
		result.UnexpectedPass, result.KnownFailure, result.NotTestable, result.NotRun, result.Warn, result.Pass,
		result.NotApplicable, result.Untested)
	property(s.Definitions["Suite"], "cases").Pattern = "^(sha256:[0-9a-f]{64})?$"

	text, err := json.MarshalIndent(s, "", "  ")
	require.NoError(t, err)
	return append(text, '\n')
}

func TestThePublishedSchemaIsThatOfTheTypes(t *testing.T) {
	text := generate(t)
	if *update {
		require.NoError(t, os.WriteFile("report/schema/report-v1.json", text, 0o644))
		return
	}
	if diff := cmp.Diff(string(text), string(schema.V1())); diff != "" {
		t.Errorf("report/schema/report-v1.json is stale, run the test with -update (-want +got):\n%s", diff)
	}
}

func TestTheSchemaDescribesWhatItsReadersAsk(t *testing.T) {
	var s struct {
		Version string `json:"$schema"`
		Defs    map[string]struct {
			Required   []string                  `json:"required"`
			Properties map[string]map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(schema.V1(), &s))
	require.Equal(t, "https://json-schema.org/draft/2020-12/schema", s.Version)
	want := []string{"id", "requirement", "readings", "verdict", "where", "want", "got", "diff"}
	if diff := cmp.Diff(want, s.Defs["Check"].Required); diff != "" {
		t.Errorf("members that every check has (-want +got):\n%s", diff)
	}
	require.NotEmpty(t, s.Defs["Check"].Properties["where"]["description"], "comments of the types are the manual")
	require.False(t, bytes.Contains(schema.V1(), []byte("omitempty")))
}
