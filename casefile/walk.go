package casefile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/script"
)

// walker holds a document against the types that it is decoded into. It is the
// strict half of decoding: yaml.v3 can refuse unknown keys too, but tells no
// column, forgets to inside a type with an UnmarshalYAML of its own, and takes a
// null for a value that is not there.
type walker struct {
	doc    *document
	shapes *shapes
	// other is the document of the other kind of case, for hints.
	other reflect.Type
	stack []frame
}

// frame is a struct that the walk is inside of; under is the key that leads on.
type frame struct {
	typ   reflect.Type
	under string
}

func (w *walker) fault(n *yaml.Node, format string, args ...any) {
	w.doc.fault(n.Line, n.Column, format, args...)
}

// value holds a node against the type of a field.
func (w *walker) value(n *yaml.Node, f field) {
	t := f.typ
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		w.null(n, f)
		return
	}
	switch {
	case isLeaf(t):
		into := reflect.New(t)
		if err := n.Decode(into.Interface()); err != nil {
			_, text := libraryText(err.Error())
			w.fault(n, "`%s`: %s", f.key, text)
		}
	case t.Kind() == reflect.Pointer:
		f.typ = t.Elem()
		if f.typ.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			return // `outputs: []` says that there are none
		}
		w.value(n, f)
	case t.Kind() == reflect.Struct:
		w.mapping(n, t)
	case t.Kind() == reflect.Map:
		w.pairs(n, f)
	case t.Kind() == reflect.Slice:
		w.list(n, f)
	default:
		w.scalar(n, f)
	}
}

func (w *walker) null(n *yaml.Node, f field) {
	switch {
	case f.typ == reflect.TypeFor[script.JSON]() && f.key == "extra":
		w.fault(n, "a null here: name the field under `null`")
	case f.typ == reflect.TypeFor[script.JSON]():
		w.fault(n, "a null here: a body that is null is written `text: \"null\"`")
	default:
		w.fault(n, "`%s` has no value: leave it out, or quote the text", f.key)
	}
}

func (w *walker) mapping(n *yaml.Node, t reflect.Type) {
	if n.Kind != yaml.MappingNode {
		w.fault(n, "want a mapping%s, got %s", w.some(t), kindOf(n))
		return
	}
	w.stack = append(w.stack, frame{typ: t})
	defer func() { w.stack = w.stack[:len(w.stack)-1] }()
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f, ok := w.shapes.find(t, key.Value)
		line, twice := seen[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "":
			w.fault(key, "a key is a plain word")
		case twice:
			w.fault(key, "the key `%s` is given twice, first on line %d", key.Value, line+w.doc.above)
		case !ok:
			seen[key.Value] = key.Line
			w.fault(key, "unknown key `%s`%s", key.Value, w.hint(key.Value, t))
		case key.ShortTag() != "!!str": // yaml.v3 passes over such a key without a word
			seen[key.Value] = key.Line
			w.fault(key, "the key `%s` is text: quote it", key.Value)
		default:
			seen[key.Value] = key.Line
			w.stack[len(w.stack)-1].under = f.key
			w.value(value, f)
		}
	}
	for _, f := range w.shapes.of(t) {
		if _, given := seen[f.key]; f.required && !given && !w.isOptional(t, f.key) {
			w.fault(n, "the key `%s` is missing", f.key)
		}
	}
}

// isOptional reports whether a key that its type asks for may be absent here: a
// control's records are the main stream's unless it has its own.
func (w *walker) isOptional(t reflect.Type, key string) bool {
	return t == reflect.TypeFor[fakeruntime.Script]() && key == "records" &&
		slices.ContainsFunc(w.stack, func(f frame) bool { return f.typ == reflect.TypeFor[Control]() })
}

// some is a few keys of a struct, for who wrote something else in its place.
func (w *walker) some(t reflect.Type) string {
	keys := w.shapes.keys(t)
	if len(keys) > 3 {
		keys = append(keys[:3:3], "...")
	}
	return " (" + strings.Join(keys, ", ") + ")"
}

// hint says where an unknown key belongs.
func (w *walker) hint(key string, t reflect.Type) string {
	if path, ok := w.shapes.within(t, key, 2); ok {
		return fmt.Sprintf(": `%s` belongs under `%s`", key, path)
	}
	for i := len(w.stack) - 2; i >= 0; i-- {
		outer := w.stack[i]
		if _, ok := w.shapes.find(outer.typ, key); ok {
			level := "one level up"
			if i == 0 {
				level = "at the top level"
			} else if up := len(w.stack) - 1 - i; up > 1 {
				level = fmt.Sprintf("%d levels up", up)
			}
			return fmt.Sprintf(": `%s` belongs %s, beside `%s`", key, level, outer.under)
		}
	}
	if hint := meant(key, w.shapes.keys(t)); hint != "" {
		return hint
	}
	for i := len(w.stack) - 2; i >= 0; i-- {
		if path, ok := w.shapes.within(w.stack[i].typ, key, 2); ok {
			return fmt.Sprintf(": `%s` belongs under `%s`", key, path)
		}
	}
	if w.other != nil && len(w.stack) == 1 {
		if _, ok := w.shapes.find(w.other, key); ok {
			return ": it is a key of the other kind of case"
		}
	}
	return ", want one of " + quoted(w.shapes.keys(t))
}

func (w *walker) pairs(n *yaml.Node, f field) {
	if n.Kind != yaml.MappingNode {
		w.fault(n, "want a mapping for `%s`, got %s", f.key, kindOf(n))
		return
	}
	seen := map[string]int{}
	f.typ = f.typ.Elem()
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		line, twice := seen[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			w.fault(key, "a key of `%s` is text: quote it", f.key)
		case twice:
			w.fault(key, "the key `%s` is given twice, first on line %d", key.Value, line+w.doc.above)
		default:
			seen[key.Value] = key.Line
			w.value(value, f)
		}
	}
}

func (w *walker) list(n *yaml.Node, f field) {
	if n.Kind != yaml.SequenceNode {
		w.fault(n, "want a list for `%s`, got %s", f.key, kindOf(n))
		return
	}
	if len(n.Content) == 0 {
		w.fault(n, "the list `%s` is empty: leave it out", f.key)
	}
	f.typ = f.typ.Elem()
	for _, item := range n.Content {
		w.value(item, f)
	}
}

func (w *walker) scalar(n *yaml.Node, f field) {
	want := map[reflect.Kind]string{
		reflect.String: "text", reflect.Bool: "true or false", reflect.Int: "a whole number",
		reflect.Int64: "a whole number", reflect.Float64: "a number",
	}[f.typ.Kind()]
	tag := n.ShortTag()
	fits := n.Kind == yaml.ScalarNode
	switch f.typ.Kind() {
	case reflect.String:
		if fits && tag != "!!str" && !(f.number && tag == "!!int") {
			w.fault(n, "`%s` is text, and YAML reads %s as %s: quote it", f.key, n.Value, article(tag))
			return
		}
	case reflect.Bool:
		fits = fits && tag == "!!bool"
	case reflect.Float64:
		fits = fits && (tag == "!!int" || tag == "!!float")
	default:
		fits = fits && tag == "!!int"
	}
	if !fits {
		w.fault(n, "want %s for `%s`, got %s", want, f.key, kindOf(n))
		return
	}
	if err := n.Decode(reflect.New(f.typ).Interface()); err != nil {
		w.fault(n, "want %s for `%s`, got %s", want, f.key, n.Value)
		return
	}
	if f.words != nil && !slices.Contains(f.words, n.Value) {
		w.fault(n, "unknown `%s` %q%s", f.key, n.Value, orOneOf(n.Value, f.words))
	}
}

// orOneOf is the suggestion for an unknown word, or all the words there are.
func orOneOf(word string, known []string) string {
	if hint := meant(word, known); hint != "" {
		return hint
	}
	return ", want one of " + quoted(known)
}

func quoted(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

func article(tag string) string {
	switch tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	}
	return strings.TrimPrefix(tag, "!!")
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", n.Value)
}

// decode holds the root against T and decodes it. It reports false after a
// problem.
func decode[T any](d *document, s *shapes, root *yaml.Node, w walker) (T, bool) {
	var v T
	before := d.count()
	w.doc, w.shapes = d, s
	w.value(root, field{key: "the file", typ: reflect.TypeFor[T]()})
	if !d.clean(before) {
		return v, false
	}
	if err := root.Decode(&v); err != nil {
		d.broken(err)
		return v, false
	}
	return v, true
}
