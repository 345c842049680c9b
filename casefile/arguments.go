package casefile

import (
	"errors"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/fakehandler"
)

// ParseScript reads a file of a story that says what the scripted handler does: a
// list of operations for the next invocation, or a list of such lists, one for
// each invocation. The name is for errors.
func ParseScript(name string, data []byte) ([][]fakehandler.Op, error) {
	var found []Problem
	turns, _ := turnsOf(&document{file: name, found: &found}, newShapes(), data)
	return turns, joined(found)
}

// ParsePushes reads a file of a story that says what is pushed: one entry or a
// list of them. The name is for errors.
func ParsePushes(name string, data []byte) ([]Push, error) {
	var found []Problem
	pushes, _ := pushesOf(&document{file: name, found: &found}, newShapes(), data)
	return pushes, joined(found)
}

// ParseStart reads the fields of `start`: see [Fields].
func ParseStart(args []string) (Start, error) { return parseFields[Start]("start", args) }

// ParsePush reads the fields of `push`: see [Fields].
func ParsePush(args []string) (Push, error) { return parseFields[Push]("push", args) }

func parseFields[T any](verb string, args []string) (T, error) {
	var found []Problem
	var zero T
	doc := &document{file: verb, found: &found}
	if len(args) == 0 {
		return zero, nil
	}
	words := make([]word, len(args))
	for i, a := range args {
		words[i] = word{a, i + 1}
	}
	t := teller{doc: doc}
	root := t.pairsOf(words, func(w word) place { return place{doc, &yaml.Node{Line: 1, Column: w.column}} })
	if root == nil {
		return zero, joined(found)
	}
	v, _ := decode[T](doc, newShapes(), root, walker{})
	return v, joined(found)
}

func joined(found []Problem) error {
	var errs []error
	for _, p := range sorted(found) {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

// turnsOf reads a script file. The root is a list of lists, or nil after a problem.
func turnsOf(doc *document, s *shapes, data []byte) ([][]fakehandler.Op, *yaml.Node) {
	root := doc.parse(data)
	if root == nil {
		return nil, nil
	}
	if root.Kind != yaml.SequenceNode || len(root.Content) == 0 {
		doc.fault(root.Line, root.Column, "want a list of operations, or a list of such lists, one for each invocation")
		return nil, nil
	}
	if root.Content[0].Kind != yaml.SequenceNode {
		root = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{root}, Line: root.Line, Column: root.Column}
	}
	turns, ok := decode[[][]fakehandler.Op](doc, s, root, walker{})
	if !ok {
		return nil, nil
	}
	return turns, root
}

// pushesOf reads a file of entries to push. The root is a list.
func pushesOf(doc *document, s *shapes, data []byte) ([]Push, *yaml.Node) {
	root := doc.parse(data)
	if root == nil {
		return nil, nil
	}
	root = itself(root)
	pushes, ok := decode[[]Push](doc, s, root, walker{})
	if !ok {
		return nil, nil
	}
	return pushes, root
}

// itself is a list, or the only item of one.
func itself(root *yaml.Node) *yaml.Node {
	if root.Kind == yaml.SequenceNode {
		return root
	}
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{root}, Line: root.Line, Column: root.Column}
}

func isName(s string) bool { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(s) }

// pairsOf makes a mapping of key=value words, so that they are read like YAML.
// Nil after a problem.
func (t *teller) pairsOf(args []word, at func(word) place) *yaml.Node {
	first := at(args[0]).node
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: first.Line, Column: first.Column}
	for _, arg := range args {
		spot := at(arg)
		key, value, found := strings.Cut(arg.text, "=")
		if !found || key == "" {
			spot.fault("want key=value, got %q", arg.text)
			return nil
		}
		if key == "text" || key == "json" || key == "base64" {
			key = "body." + key
		}
		into := root
		outer, inner, nested := strings.Cut(key, ".")
		if nested {
			if into = lookup(root, outer); into == nil {
				into = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: spot.node.Line, Column: arg.column}
				root.Content = append(root.Content, scalar(outer, spot.node.Line, arg.column), into)
			}
			if into.Kind != yaml.MappingNode {
				spot.fault("`%s` is given twice", outer)
				return nil
			}
			key = inner
		}
		node := scalar(value, spot.node.Line, arg.column)
		if key == "times" && !nested {
			node.Tag, node.Style = "", 0
		}
		if outer == "body" && inner == "json" {
			if node = t.jsonOf(spot, value); node == nil {
				return nil
			}
		}
		into.Content = append(into.Content, scalar(key, spot.node.Line, arg.column), node)
	}
	return root
}

// jsonOf reads the value of json=...
func (t *teller) jsonOf(at place, value string) *yaml.Node {
	var scratch []Problem
	root := (&document{file: t.doc.file, found: &scratch}).parse([]byte(value))
	if root == nil {
		at.fault("the value of `json` is no YAML or JSON: %q", value)
		return nil
	}
	moved(root, at.node.Line, at.node.Column)
	return root
}

// moved gives a tree one place.
func moved(n *yaml.Node, line, column int) {
	n.Line, n.Column = line, column
	for _, inner := range n.Content {
		moved(inner, line, column)
	}
}
