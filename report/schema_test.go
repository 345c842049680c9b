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

// reflected is the schema of a type, with the comments of the packages that its types
// are of.
func reflected(t *testing.T, of any, id, title string) *jsonschema.Schema {
	t.Helper()
	r := jsonschema.Reflector{ExpandedStruct: true}
	// Comments are found by the package path of the types and the path of the
	// sources, both as seen from the module's root.
	t.Chdir("..")
	for _, folder := range []string{"./result", "./report"} {
		require.NoError(t, r.AddGoComments("pugmark.dev/conform", folder, jsonschema.WithFullComment()))
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	s := r.Reflect(of)
	s.ID, s.Title = jsonschema.ID(id), title
	return s
}

func property(t *testing.T, of *jsonschema.Schema, name string) *jsonschema.Schema {
	t.Helper()
	p, ok := of.Properties.Get(name)
	require.True(t, ok, "no property %s", name)
	return p
}

func enum[T any](p *jsonschema.Schema, values ...T) {
	p.Type, p.Ref, p.Enum = "string", "", nil
	for _, v := range values {
		p.Enum = append(p.Enum, v)
	}
}

func ofRequirement() []result.Verdict {
	return []result.Verdict{
		result.HarnessError, result.Crash, result.Hang, result.Fail, result.Flaky, result.UnexpectedPass, result.KnownFailure,
		result.NotTestable, result.NotRun, result.Warn, result.Pass, result.NotApplicable, result.Untested,
	}
}

func ofRun() []result.Verdict {
	return []result.Verdict{result.Conformant, result.AsExpected, result.NotConformant, result.Incomplete}
}

// reportSchema is the schema of a report from the types and comments of package
// result.
func reportSchema(t *testing.T) *jsonschema.Schema {
	s := reflected(t, &result.Run{}, schema.ID, "A report of pugmark-conform")
	property(t, s, "schema").Const = result.SchemaV1
	property(t, s, "complete").Const = true
	property(t, s, "started").Format = "date-time"
	property(t, s, "duration-ms").Minimum = json.Number("0")
	property(t, s, "totals").AdditionalProperties.Minimum = json.Number("0")
	enum(property(t, s, "verdict"), ofRun()...)

	check := s.Definitions["Check"]
	enum(property(t, check, "verdict"), result.Pass, result.Fail, result.Warn, result.NotRun)
	c := s.Definitions["Case"]
	property(t, c, "duration-ms").Minimum = json.Number("0")
	enum(property(t, c, "verdict"), result.Pass, result.Warn, result.Fail, result.Crash, result.Hang, result.NotApplicable,
		result.NotTestable, result.NotRun, result.HarnessError, result.KnownFailure, result.UnexpectedPass, result.Flaky)
	q := s.Definitions["Requirement"]
	enum(property(t, q, "level"), spec.LevelMust, spec.LevelDesc, spec.LevelShould, spec.LevelMay)
	enum(property(t, q, "side"), spec.SideRuntime.Letter(), spec.SideHandler.Letter(), spec.SideBoth.Letter())
	enum(property(t, q, "verdict"), ofRequirement()...)
	property(t, s.Definitions["Suite"], "cases").Pattern = "^(sha256:[0-9a-f]{64})?$"
	return s
}

// diffSchema is that of a diff, from the types and comments of this package.
func diffSchema(t *testing.T) *jsonschema.Schema {
	s := reflected(t, &Diff{}, schema.DiffID, "What changed from one report of pugmark-conform to another")
	property(t, s, "schema").Const = DiffV1
	property(t, s, "common").Minimum = json.Number("0")
	enum(property(t, s.Definitions["Compared"], "verdict"), ofRun()...)
	change := s.Definitions["Change"]
	enum(property(t, change, "kind"), Kinds()...)
	for _, name := range []string{"before", "after"} {
		enum(property(t, change, name), append(ofRequirement(), "")...)
	}
	return s
}

func TestThePublishedSchemasAreThoseOfTheTypes(t *testing.T) {
	for name, s := range map[string]struct {
		make      func(*testing.T) *jsonschema.Schema
		published []byte
	}{"report-v1.json": {reportSchema, schema.V1()}, "diff-v1.json": {diffSchema, schema.DiffV1()}} {
		t.Run(name, func(t *testing.T) {
			text, err := json.MarshalIndent(s.make(t), "", "  ")
			require.NoError(t, err)
			text = append(text, '\n')
			if *update {
				require.NoError(t, os.WriteFile("report/schema/"+name, text, 0o644))
				return
			}
			if diff := cmp.Diff(string(text), string(s.published)); diff != "" {
				t.Errorf("report/schema/%s is stale, run the test with -update (-want +got):\n%s", name, diff)
			}
		})
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
