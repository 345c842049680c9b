package subject

import (
	"bytes"
	stdjson "encoding/json"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const fileSchemaID = "https://pugmark.dev/conform/subject/subject.schema.json"

func TestTheSchemaOfSubjectFilesIsThatOfTheTypes(t *testing.T) {
	published(t, "subject.schema.json", generatedFileSchema(t), Schema())
}

// generatedFileSchema makes the schema from the type File, its comments, and the
// lists of words.
func generatedFileSchema(t *testing.T) []byte {
	t.Helper()
	r := &jsonschema.Reflector{
		Anonymous: true, FieldNameTag: "yaml", ExpandedStruct: true,
		Mapper: func(typ reflect.Type) *jsonschema.Schema {
			if typ == reflect.TypeFor[Args]() {
				return &jsonschema.Schema{Ref: "#/$defs/Args"}
			}
			return nil
		},
	}
	require.NoError(t, r.AddGoComments("pugmark.dev/conform/subject", "."))
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	root := r.Reflect(&File{})
	root.Version, root.ID, root.Title = jsonschema.Version, fileSchemaID, "pugmark-conform subject"
	one := uint64(1)
	root.Definitions["Args"] = &jsonschema.Schema{
		Description: r.CommentMap["pugmark.dev/conform/subject.Args"],
		OneOf: []*jsonschema.Schema{
			// A scalar that is no text in YAML is one here.
			{Type: "string", Pattern: `^[^'"\\` + "`" + `$|&;<>()*?~#\n]*[^'"\\` + "`" + `$|&;<>()*?~#\s][^'"\\` + "`" + `$|&;<>()*?~#\n]*$`},
			{Type: "array", MinItems: &one, Items: scalar()},
		},
	}
	property(t, root, "name").Pattern = `^[^/\\]+$`
	property(t, root, "kind").Enum = []any{KindHandler, KindRuntime}
	property(t, root, "setup").MinItems = &one
	property(t, root, "features").Items = &jsonschema.Schema{Type: "string"}
	property(t, root, "features").UniqueItems = true
	property(t, root, "known-failures").Pattern = `\S`
	property(t, root, "mask").Items = &jsonschema.Schema{Type: "string", Pattern: `^[^= \t\n]+$`}
	property(t, root, "mask").UniqueItems = true
	commands := property(t, root, "commands")
	commands.AdditionalProperties = jsonschema.FalseSchema
	commands.MinProperties = &one
	commands.Properties = jsonschema.NewProperties()
	for _, op := range CommandNames() {
		commands.Properties.Set(op, &jsonschema.Schema{Ref: "#/$defs/Args"})
	}
	transports := root.Definitions["Transports"]
	transports.MinProperties = &one

	claims := func(kind string) *jsonschema.Schema {
		s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
		s.Properties.Set("features", &jsonschema.Schema{Items: &jsonschema.Schema{Enum: anys(Features(kind))}})
		for _, other := range map[string][]string{KindHandler: {"commands", "driver"}, KindRuntime: {"transports"}}[kind] {
			s.Properties.Set(other, jsonschema.FalseSchema)
		}
		return s
	}
	handler, runtime := claims(KindHandler), claims(KindRuntime)
	handler.Required = []string{"transports"}
	runtime.OneOf = []*jsonschema.Schema{{Required: []string{"commands"}}, {Required: []string{"driver"}}}
	is := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	is.Properties.Set("kind", &jsonschema.Schema{Const: KindHandler})
	root.If, root.Then, root.Else = is, handler, runtime

	return schemaText(t, root)
}

// scalar is text as YAML may write it: 8080 and true are text where text is wanted.
func scalar() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
}

func anys(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}

// fitsFileSchema validates YAML text.
func fitsFileSchema(t *testing.T, text []byte) error {
	t.Helper()
	var v any
	require.NoError(t, yaml.Unmarshal(text, &v), "%s", text)
	data, err := stdjson.Marshal(v)
	require.NoError(t, err)
	value, err := validator.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	return compiled(t, Schema(), fileSchemaID, "").Validate(value)
}

// subjectFiles is every subject file of the tree that is meant to load.
func subjectFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, dir := range []string{"../subjects", "testdata", "../cmd/pugmark-conform/testdata/subjects"} {
		require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".yaml" {
				return err
			}
			data, err := fs.ReadFile(os.DirFS(dir), name)
			files[dir+"/"+name] = data
			return err
		}))
	}
	require.Greater(t, len(files), 12)
	return files
}

func TestEverySubjectFileFitsTheSchema(t *testing.T) {
	for name, text := range subjectFiles(t) {
		if _, err := Parse(name, text); err != nil {
			t.Errorf("the loader refuses it: %v", err)
		}
		if err := fitsFileSchema(t, text); err != nil {
			t.Errorf("%s: the schema refuses it: %v", name, err)
		}
	}
}

// A key that nobody knows is put into every mapping of every file in turn.
func TestUnknownKeysAreRefusedByLoaderAndSchema(t *testing.T) {
	tried := 0
	for name, text := range subjectFiles(t) {
		for i := 0; ; i++ {
			var doc yaml.Node
			require.NoError(t, yaml.Unmarshal(text, &doc))
			maps := mappings(&doc)
			if i == len(maps) {
				break
			}
			maps[i].Content = append(maps[i].Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "surprise"}, &yaml.Node{Kind: yaml.ScalarNode, Value: "x"})
			wrong, err := yaml.Marshal(&doc)
			require.NoError(t, err)
			tried++
			if _, err := Parse(name, wrong); err == nil || !strings.Contains(err.Error(), "unknown key `surprise`") {
				t.Errorf("%s: mapping %d: the loader says %v", name, i+1, err)
			}
			if fitsFileSchema(t, wrong) == nil {
				t.Errorf("%s: mapping %d: the schema takes the key", name, i+1)
			}
		}
	}
	require.Greater(t, tried, 20)
}

func mappings(n *yaml.Node) (list []*yaml.Node) {
	if n.Kind == yaml.MappingNode {
		list = append(list, n)
	}
	for _, c := range n.Content {
		list = append(list, mappings(c)...)
	}
	return list
}

func TestTheSchemaRefusesWhatTheLoaderRefuses(t *testing.T) {
	const handler, runtime = "name: a\nkind: handler\n", "name: a\nkind: runtime\n"
	for name, text := range map[string]string{
		"no name":                 "kind: handler\ntransports: {subprocess: {command: x}}\n",
		"no kind":                 "name: a\ntransports: {subprocess: {command: x}}\n",
		"another kind":            "name: a\nkind: handlers\ntransports: {subprocess: {command: x}}\n",
		"name with a slash":       "name: a/b\nkind: handler\ntransports: {subprocess: {command: x}}\n",
		"no transport":            handler + "transports: {}\n",
		"no transports":           handler,
		"transport of none":       handler + "transports: {subprocess: {}}\n",
		"http without a URL":      handler + "transports: {http: {command: x}}\n",
		"driver of a handler":     handler + "transports: {subprocess: {command: x}}\ndriver: x\n",
		"transports of a runtime": runtime + "driver: x\ntransports: {subprocess: {command: x}}\n",
		"neither":                 runtime,
		"both":                    runtime + "driver: x\ncommands: {start: [x]}\n",
		"empty commands":          runtime + "commands: {}\n",
		"unknown command":         runtime + "commands: {strat: [x]}\n",
		"unknown feature":         runtime + "driver: x\nfeatures: [fork]\n",
		"feature twice":           runtime + "driver: x\nfeatures: [log, log]\n",
		"shell line":              runtime + "driver: a | b\n",
		"quoted shell line":       runtime + "driver: a 'b c'\n",
		"empty command":           runtime + "driver: []\n",
		"blank command":           runtime + "driver: '  '\n",
		"empty setup":             runtime + "driver: x\nsetup: []\n",
		"setup is text":           runtime + "driver: x\nsetup: make\n",
		"null":                    runtime + "driver: x\nversion: null\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("s.yaml", []byte(text)); err == nil {
				t.Error("the loader takes it")
			}
			if fitsFileSchema(t, []byte(text)) == nil {
				t.Error("the schema takes it")
			}
		})
	}
}

func TestTheSchemaTakesWhatTheLoaderTakes(t *testing.T) {
	for _, text := range []string{
		"name: a\nkind: runtime\ndriver: [x, 8080, true, 'a b | c']\nversion: x --version\nknown-failures: k\n",
		"name: a\nkind: handler\nsetup: [make all, [sh, -c, 'a; b']]\nfeatures: []\ntransports:\n  rpc: {command: x}\n  http: {url: 'http://a:{port}/', command: [x, '{port}']}\n",
	} {
		_, err := Parse("s.yaml", []byte(text))
		require.NoError(t, err)
		require.NoError(t, fitsFileSchema(t, []byte(text)))
	}
}
