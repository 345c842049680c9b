package casefile

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/spec"
)

var update = flag.Bool("update", false, "write schema.json anew")

const schemaID = "https://pugmark.dev/conform/casefile/schema.json"

func TestSchemaIsFresh(t *testing.T) {
	published(t, "schema.json", generateSchema(t), Schema())
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
		t.Errorf("%s is stale, run go test ./casefile -update (-want +got):\n%s", file, diff)
	}
}

func TestEveryCaseFitsTheSchema(t *testing.T) {
	s := compiled(t, Schema(), schemaID)
	for name, fsys := range map[string]fs.FS{"spec/cases": spec.Cases(), "testdata/valid": os.DirFS("testdata/valid")} {
		checked := 0
		require.NoError(t, fs.WalkDir(fsys, ".", func(file string, _ fs.DirEntry, err error) error {
			require.NoError(t, err)
			if path.Ext(file) != ".yaml" {
				return nil
			}
			checked++
			data, err := fs.ReadFile(fsys, file)
			require.NoError(t, err)
			if err := s.Validate(jsonValue(t, data)); err != nil {
				t.Errorf("%s/%s: %v", name, file, err)
			}
			return nil
		}))
		require.NotZero(t, checked, "no case in %s", name)
	}
}

func TestSchemaRefusesWhatTheLoaderRefuses(t *testing.T) {
	s := compiled(t, Schema(), schemaID)
	for name, text := range map[string]string{
		"misspelt key":      `{why: A b c., covers: [P3/utf8], input: {records: [{}]}, expct: {exit: 0}}`,
		"no expect":         `{why: A b c., covers: [P3/utf8], input: {records: [{}]}}`,
		"typo deep inside":  `{why: A b c., covers: [P3/utf8], input: {records: [{boddy: {text: a}}]}, expect: {exit: 0}}`,
		"unknown word":      `{why: A b c., covers: [P3/utf8], input: {records: [{}]}, expect: {exit: 1}}`,
		"unknown feature":   `{why: A b c., covers: [P3/utf8], needs: [inspect], input: {records: [{}]}, expect: {exit: 0}}`,
		"empty list":        `{why: A b c., covers: [], expect: {run: success}}`,
		"null":              `{why: A b c., covers: [P3/utf8], expect: {run: null}}`,
		"key of a handler":  `{why: A b c., covers: [P3/utf8], expect: {silent: true}}`,
		"number as text":    `{why: A b c., covers: [P3/utf8], expect: {says: 5}}`,
		"records forgotten": `{why: A b c., covers: [P3/utf8], input: {chunk: 1}, expect: {exit: 0}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if s.Validate(jsonValue(t, []byte(text))) == nil {
				t.Error("the schema takes it")
			}
			kind := KindRuntime
			if strings.Contains(text, "input:") {
				kind = KindHandler
			}
			fsys := mapFS(map[string]string{kind + "/a/b.yaml": text})
			if _, problems := LoadFile(fsys, kind+"/a/b.yaml", registry(t)); len(problems) == 0 {
				t.Error("the loader takes it")
			}
		})
	}
}

// compiled compiles the schema with that ID.
func compiled(t *testing.T, schema []byte, id string) *validator.Schema {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	c := validator.NewCompiler()
	require.NoError(t, c.AddResource(id, doc))
	s, err := c.Compile(id)
	require.NoError(t, err)
	return s
}

// jsonValue reads YAML as what a JSON Schema is about.
func jsonValue(t *testing.T, data []byte) any {
	t.Helper()
	var text script.JSON
	root := (&document{found: new([]Problem)}).parse(data)
	require.NotNil(t, root)
	require.NoError(t, root.Decode(&text))
	v, err := validator.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return v
}

// generateSchema makes the schema from the types, their comments, and the lists
// of words.
func generateSchema(t *testing.T) []byte {
	t.Helper()
	r := &jsonschema.Reflector{
		Anonymous: true, FieldNameTag: "yaml",
		Mapper: leafSchema, Namer: typeName,
	}
	for _, dir := range []string{".", "../fakeruntime", "../fakehandler", "../script"} {
		require.NoError(t, r.AddGoComments("pugmark.dev/conform/casefile", dir))
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	const here = "pugmark.dev/conform/casefile."
	r.LookupComment = func(t reflect.Type, field string) string {
		switch {
		case t == reflect.TypeFor[head]() && field != "":
			return r.CommentMap[here+"Case."+field]
		case t == reflect.TypeFor[handlerDoc](), t == reflect.TypeFor[runtimeDoc]():
			return r.CommentMap[here+strings.TrimSuffix(typeName(t), "Case")+strings.TrimSuffix("."+field, ".")]
		}
		return ""
	}
	root := &jsonschema.Schema{
		Version: jsonschema.Version, ID: schemaID, Title: "pugmark-conform case",
		If:   &jsonschema.Schema{Required: []string{"input"}},
		Then: &jsonschema.Schema{Ref: "#/$defs/HandlerCase"},
		Else: &jsonschema.Schema{Ref: "#/$defs/RuntimeCase"},
	}
	root.Definitions = r.Reflect(handlerDoc{}).Definitions
	for name, def := range r.Reflect(runtimeDoc{}).Definitions {
		root.Definitions[name] = def
	}
	shapes := newShapes()
	for _, top := range []reflect.Type{reflect.TypeFor[handlerDoc](), reflect.TypeFor[runtimeDoc]()} {
		for _, typ := range reachable(shapes, top) {
			refine(t, shapes, typ, root.Definitions[typeName(typ)])
		}
		def := root.Definitions[typeName(top)]
		needs, _ := def.Properties.Get("needs")
		needs.Items.Enum = anys(Features(strings.ToLower(strings.TrimSuffix(typeName(top), "Case"))))
		oneOrMore(def, "expect")
	}
	oneOrMore(root.Definitions["Beside"], "expect")
	// A control's records may be absent, those of the others may not.
	for _, name := range []string{"HandlerCase", "Beside"} {
		def := root.Definitions[name]
		input, _ := def.Properties.Get("input")
		def.Properties.Set("input", &jsonschema.Schema{
			AllOf: []*jsonschema.Schema{{Ref: input.Ref}, {Required: []string{"records"}}}, Description: input.Description,
		})
	}
	return schemaText(t, root)
}

// oneOrMore lets a list of one be written as its only item.
func oneOrMore(def *jsonschema.Schema, key string) {
	list, _ := def.Properties.Get(key)
	def.Properties.Set(key, &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{{Ref: list.Items.Ref}, {Type: "array", Items: list.Items, MinItems: list.MinItems}}, Description: list.Description,
	})
}

func schemaText(t *testing.T, root *jsonschema.Schema) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(root))
	return b.Bytes()
}

// refine adds to a definition what the loader knows of the fields.
func refine(t *testing.T, s *shapes, typ reflect.Type, def *jsonschema.Schema) {
	t.Helper()
	require.NotNil(t, def, "no definition of %s", typ)
	def.Required = nil
	one := uint64(1)
	for _, f := range s.of(typ) {
		p, ok := def.Properties.Get(f.key)
		require.True(t, ok, "%s has no %s", typ, f.key)
		if f.required && typ != reflect.TypeFor[fakeruntime.Script]() {
			def.Required = append(def.Required, f.key)
		}
		if f.typ.Kind() == reflect.Slice && !isLeaf(f.typ) {
			p.MinItems = &one
		}
		switch {
		case f.words != nil && p.Items != nil:
			p.Items.Enum = anys(f.words)
		case f.words != nil:
			p.Enum = anys(f.words)
			if f.number {
				p.Type, p.Enum = "", append(p.Enum, 0)
			}
		case f.number:
			p.Type = ""
			p.AnyOf = []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}
		}
	}
}

func leafSchema(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[script.JSON]():
		return &jsonschema.Schema{Not: &jsonschema.Schema{Type: "null"}}
	case reflect.TypeFor[script.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)`}
	}
	return nil
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[handlerDoc]():
		return "HandlerCase"
	case reflect.TypeFor[runtimeDoc]():
		return "RuntimeCase"
	}
	return t.Name()
}

// reachable returns every struct that a document is made of, inlined ones apart.
func reachable(s *shapes, top reflect.Type) []reflect.Type {
	found := []reflect.Type{top}
	for i := 0; i < len(found); i++ {
		for _, f := range s.of(found[i]) {
			if inner := record(f.typ); inner != nil && !slices.Contains(found, inner) {
				found = append(found, inner)
			}
		}
	}
	return found
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// The walk, the schema and these two tests rest on the same list of structs.
func TestTypoInEveryStructIsRefused(t *testing.T) {
	s := newShapes()
	for _, top := range []reflect.Type{reflect.TypeFor[handlerDoc](), reflect.TypeFor[runtimeDoc]()} {
		for _, typ := range reachable(s, top) {
			t.Run(typeName(top)+"/"+typeName(typ), func(t *testing.T) {
				var found []Problem
				d := &document{file: "x", found: &found}
				w := walker{doc: d, shapes: s}
				w.value(d.parse([]byte("{no-such-key: 1}")), field{key: "x", typ: typ})
				if !slices.ContainsFunc(found, func(p Problem) bool { return strings.Contains(p.Message, "unknown key `no-such-key`") }) {
					t.Errorf("problems: %v", found)
				}
			})
		}
	}
}

func TestValidCasesHaveEveryKey(t *testing.T) {
	s := newShapes()
	for file, top := range map[string]reflect.Type{
		"handler": reflect.TypeFor[handlerDoc](), "runtime": reflect.TypeFor[runtimeDoc](),
	} {
		data, err := os.ReadFile("testdata/valid/" + file + "/framing/every-key.yaml")
		require.NoError(t, err)
		root := (&document{found: new([]Problem)}).parse(data)
		require.NotNil(t, root)
		given := map[string]bool{}
		collect(s, root, top, given)
		for _, typ := range reachable(s, top) {
			for _, f := range s.of(typ) {
				key := fmt.Sprintf("%s.%s", typeName(typ), f.key)
				if !given[key] && !isElsewhere(file, key) {
					t.Errorf("%s/framing/every-key.yaml has no %s", file, key)
				}
			}
		}
	}
}

// isElsewhere reports keys that make no sense in the one case that has nearly all.
func isElsewhere(kind, key string) bool {
	return slices.Contains([]string{
		"handler Trace.none", "handler Answer.truncate", "handler Answer.chunked", "handler Answer.missing", "handler Answer.held",
		"handler HandlerExpect.silent", "handler LoadedMatch.text", "handler LoadedMatch.base64", "handler LoadedMatch.error",
		"handler MemoryMatch.error", "handler EntryMatch.fork", "handler EntryMatch.target", "handler EntryMatch.source",
		"handler EntryMatch.control", "handler EntryMatch.inline", "handler EntryMatch.source-version", "handler ControlMatch.after", "handler ControlMatch.status", "handler ControlMatch.reason",
		"handler ControlMatch.start-at",
		"handler HandlerCase.beside", "handler Beside.identity", "handler Beside.input", "handler Beside.expect", // lifecycle/in-flight has them
	}, kind+" "+key) || kind == "runtime" && (strings.HasPrefix(key, "RuntimeCase.") || strings.HasPrefix(key, "EntryMatch.") ||
		strings.HasPrefix(key, "Body.") || strings.HasPrefix(key, "Framing.") || strings.HasPrefix(key, "Answer.") ||
		slices.Contains([]string{"Op.close", "Op.answer", "Op.signal", "Op.hang", "Emit.body", "Trace.none"}, key))
}

func collect(s *shapes, n *yaml.Node, t reflect.Type, given map[string]bool) {
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			collect(s, item, t, given)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			f, ok := s.find(t, n.Content[i].Value)
			if !ok { // a map of structs
				collect(s, n.Content[i+1], t, given)
				continue
			}
			given[fmt.Sprintf("%s.%s", typeName(t), f.key)] = true
			if inner := record(f.typ); inner != nil {
				collect(s, n.Content[i+1], inner, given)
			}
		}
	}
}
