package subject

import (
	"bytes"
	stdjson "encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write driver.schema.json anew")

const driverSchemaID = "https://pugmark.dev/conform/subject/driver.schema.json"

func TestThePublishedSchemaIsThatOfTheTypes(t *testing.T) {
	published(t, "driver.schema.json", generatedSchema(t), DriverSchema())
}

// published holds the schema in a file against the one that was made of the types,
// or writes it anew.
func published(t *testing.T, file string, want, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, want, 0o666))
		return
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is stale, run go test ./subject -update (-want +got):\n%s", file, diff)
	}
}

func schemaText(t *testing.T, root *jsonschema.Schema) []byte {
	t.Helper()
	var b bytes.Buffer
	e := stdjson.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(root))
	return b.Bytes()
}

// generatedSchema makes the schema from the types of the agreement.
func generatedSchema(t *testing.T) []byte {
	t.Helper()
	root := &jsonschema.Schema{
		Version: jsonschema.Version, ID: driverSchemaID, Title: "pugmark-conform driver",
		Description: "What goes between the harness and a driver: a request a line on its stdin, an answer a line on its stdout. Unknown fields are ignored on both sides.",
		AnyOf:       refs("Request", "Answer"), Definitions: jsonschema.Definitions{},
	}
	var requests, oks []string
	for _, op := range driverOps() {
		request, ok := op.name+"-request", op.name+"-ok"
		root.Definitions[request] = reflected(t, root, op.request)
		property(t, root.Definitions[request], "op").Const = op.name
		root.Definitions[request].Description = "It " + op.does + "."
		root.Definitions[ok] = reflected(t, root, op.ok)
		requests, oks = append(requests, request), append(oks, ok)
	}
	root.Definitions["Request"] = &jsonschema.Schema{OneOf: refs(requests...)}

	failure := reflected(t, root, reflect.TypeFor[driverError]())
	property(t, failure, "kind").Enum = []any{FailedInvocation, BadRequest, Internal}
	root.Definitions["error"] = failure
	answer := reflected(t, root, reflect.TypeFor[driverAnswer]())
	meaning := property(t, answer, "error").Description
	answer.Properties.Set("error", &jsonschema.Schema{Ref: "#/$defs/error", Description: meaning})
	meaning = property(t, answer, "ok").Description
	answer.Properties.Set("ok", &jsonschema.Schema{AnyOf: refs(oks...), Description: meaning})
	property(t, answer, "unsupported").Const = true
	for _, one := range []string{"ok", "error", "unsupported"} {
		answer.OneOf = append(answer.OneOf, &jsonschema.Schema{Required: []string{one}})
	}
	root.Definitions["Answer"] = answer
	delete(root.Definitions, "driverError")

	const session = "^[0-9a-f]{32}$"
	defs := root.Definitions
	property(t, defs["start-ok"], "session").Pattern = session
	property(t, defs["start-request"], "session").Pattern = session
	property(t, defs["run-ok"], "state").Enum = []any{"ran", "idle", "paused"}
	property(t, defs["dumpSnapshot"], "type").Enum = []any{"normal", "provisional", "queueing"}
	property(t, defs["dumpControl"], "start-at").Format = "date-time"
	for _, entry := range []string{"dumpEntry", "logEntry"} {
		property(t, defs[entry], "digest").Pattern = "^sha256:[0-9a-f]{64}$"
	}
	for name, zero := range map[string]string{"push-ok": "version", "run-ok": "version", "inspect-ok": "version", "dumpEntry": "size", "logEntry": "size"} {
		property(t, defs[name], zero).Minimum = "0"
	}
	for _, one := range []string{"command", "rpc"} {
		few := uint64(1)
		property(t, defs["run-request"], one).MinItems = &few
		property(t, defs["HandlerSpec"], one).MinItems = &few
	}
	for _, one := range []string{"command", "rpc", "url"} {
		defs["HandlerSpec"].OneOf = append(defs["HandlerSpec"].OneOf, &jsonschema.Schema{Required: []string{one}})
	}
	return schemaText(t, root)
}

// reflected is the schema of a type; those of the types within go to root.
func reflected(t *testing.T, root *jsonschema.Schema, typ reflect.Type) *jsonschema.Schema {
	t.Helper()
	r := &jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true, ExpandedStruct: true,
		LookupComment: func(typ reflect.Type, field string) string {
			if field == "" {
				return "" // of a type
			}
			f, _ := typ.FieldByName(field)
			return f.Tag.Get("means")
		},
	}
	s := r.ReflectFromType(typ)
	for name, def := range s.Definitions {
		if name != typ.Name() {
			root.Definitions[name] = def
		}
	}
	s.Definitions, s.Version, s.ID = nil, "", ""
	return s
}

func property(t *testing.T, of *jsonschema.Schema, name string) *jsonschema.Schema {
	t.Helper()
	require.NotNil(t, of, "the definition that has %s", name)
	p, ok := of.Properties.Get(name)
	require.True(t, ok, "no property %s", name)
	return p
}

func refs(names ...string) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	for _, name := range names {
		list = append(list, &jsonschema.Schema{Ref: "#/$defs/" + name})
	}
	return list
}

// schemaOf compiles a part of the published schema.
func schemaOf(t *testing.T, part string) *validator.Schema {
	t.Helper()
	return compiled(t, DriverSchema(), driverSchemaID, "#/$defs/"+part)
}

// compiled compiles the part of a schema with that ID.
func compiled(t *testing.T, schema []byte, id, part string) *validator.Schema {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	c := validator.NewCompiler()
	require.NoError(t, c.AddResource(id, doc))
	s, err := c.Compile(id + part)
	require.NoError(t, err)
	return s
}

func fits(t *testing.T, part, text string) error {
	t.Helper()
	value, err := validator.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	return schemaOf(t, part).Validate(value)
}

func TestTheSchemaTellsGoodLinesFromBad(t *testing.T) {
	const id, zeros = "0123456789abcdef0123456789abcdef", "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for _, test := range []struct {
		part, text string
		good       bool
	}{
		{"Request", `{"id":1,"op":"start","store":"/s"}`, true},
		{"Request", `{"id":1,"op":"start","store":"/s","more":{}}`, true},
		{"Request", `{"id":1,"op":"start","store":"/s","session":"x"}`, false},
		{"Request", `{"id":1,"op":"stop","store":"/s"}`, false},
		{"Request", `{"id":1,"op":"start"}`, false},
		{"Request", `{"id":2,"op":"push","store":"/s","session":"` + id + `","body":"AA==","metadata":{"a":"b"}}`, true},
		{"Request", `{"id":2,"op":"push","store":"/s","session":"` + id + `"}`, false},
		{"Request", `{"id":2,"op":"push","store":"/s","session":"` + id + `","body":"","metadata":{"a":1}}`, false},
		{"Request", `{"id":3,"op":"run","store":"/s","session":"` + id + `","once":true,"command":["a"],"handlers":{"n":{"rpc":["b"]}}}`, true},
		{"Request", `{"id":3,"op":"run","store":"/s","session":"` + id + `","once":true,"command":[]}`, false},
		{"Request", `{"id":3,"op":"run","store":"/s","session":"` + id + `","once":true,"handlers":{"n":{"rpc":["b"],"url":"u"}}}`, false},
		{"Request", `{"id":4,"op":"quit"}`, true},
		{"Answer", `{"id":1,"ok":{"session":"` + id + `"}}`, true},
		{"Answer", `{"id":1,"ok":{}}`, true},
		{"Answer", `{"id":1,"unsupported":true}`, true},
		{"Answer", `{"id":1,"error":{"message":"m","kind":"request"}}`, true},
		{"Answer", `{"id":1,"error":{"message":"m","kind":"other"}}`, false},
		{"Answer", `{"id":1,"error":{"message":"m"}}`, false},
		{"Answer", `{"id":1}`, false},
		{"Answer", `{"ok":{}}`, false},
		{"Answer", `{"id":"1","ok":{}}`, false},
		{"Answer", `{"id":1,"ok":{},"unsupported":true}`, false},
		{"start-ok", `{"session":"` + id + `"}`, true},
		{"start-ok", `{"session":"` + strings.ToUpper(id) + `"}`, false},
		{"start-ok", `{}`, false},
		{"run-ok", `{"version":3,"state":"idle"}`, true},
		{"run-ok", `{"state":"done"}`, false},
		{"run-ok", `{"version":-1}`, false},
		{"log-ok", `{"entries":[]}`, true},
		{"log-ok", `{}`, false},
		{"log-ok", `{"entries":[{"session":"` + id + `","version":1,"sequence":1,"digest":"` + zeros + `","size":1,"body":"YQ=="}]}`, true},
		{"log-ok", `{"entries":[{"session":"` + id + `","version":1,"sequence":1,"digest":"` + zeros + `","size":1}]}`, false},
		{"log-ok", `{"entries":[{"session":"` + id + `","version":1,"sequence":1,"digest":"md5:0","size":1,"body":""}]}`, false},
		{"inspect-ok", `{"session":"` + id + `","version":1,"snapshots":[{"version":1,"type":"normal","entries":[{"sequence":1,"digest":"` + zeros + `","size":1,"control":{"status":"stopped"}}]}]}`, true},
		{"inspect-ok", `{"session":"` + id + `","version":1,"snapshots":[{"version":1,"type":"odd","entries":[]}]}`, false},
		{"inspect-ok", `{"session":"` + id + `","snapshots":[]}`, false},
	} {
		err := fits(t, test.part, test.text)
		if good := err == nil; good != test.good {
			t.Errorf("%s: %s: fits is %v, want %v (%v)", test.part, test.text, good, test.good, err)
		}
	}
}

func TestEveryFieldOfTheAgreementSaysWhatItMeans(t *testing.T) {
	types := []reflect.Type{
		reflect.TypeFor[driverAnswer](), reflect.TypeFor[driverError](), reflect.TypeFor[logEntry](), reflect.TypeFor[dumpVersion](),
		reflect.TypeFor[dumpSnapshot](), reflect.TypeFor[dumpControl](),
	}
	for _, op := range driverOps() {
		types = append(types, op.request, op.ok)
	}
	for _, typ := range types {
		for _, f := range fieldsOf(typ, nil) {
			if f.means == "" || f.name == "" {
				t.Errorf("%s.%s says nothing", typ, f.name)
			}
		}
	}
}

func TestTheTablesHaveEveryOperation(t *testing.T) {
	table := DriverOps()
	for _, line := range []string{
		"| `start` | `session`?, `agent`?, `handler`?, `metadata`?, `namespaces`? | `session` | creates a session; one that exists is returned as it is |",
		"| `push` | `session`, `body`, `name`?, `content-type`?, `content-encoding`?, `schema-url`?, `metadata`? | `version`? | appends an entry from outside; a session that does not exist is an error of kind `request` |",
		"| `run` | `session`, `once`, `command`?, `rpc`?, `url`?, `handlers`?, `traceparent`?, `tracestate`? | `version`?, `state`? |",
		"| `log` | `session` | `entries` | reads the log |",
		"| `inspect` | `session` | `session`, `agent`?, `handler`?, `metadata`?, `parent`?, `version`, `snapshots` | reads the session dump |",
		"| `quit` |  |  | ends the driver,",
		"| every | `id` | integer |",
		"| `push` | `body` | base64 | the body as it is to be stored, in standard base64 |",
		"| `run` | `handlers`? | object of objects |",
		"| `ok` of `log` | `entries` | list of objects |",
	} {
		if !strings.Contains(table, "\n"+line) {
			t.Errorf("there is no line %q in\n%s", line, table)
		}
	}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 5 {
			t.Errorf("a row that is broken: %s", line)
		}
	}
}
