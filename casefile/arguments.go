package casefile

import (
	"errors"

	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/fakehandler"
)

// ParseScript reads a file of a story that says what the scripted handler does: a
// list of operations for the next invocation, or a list of such lists, one for
// each invocation. The name is for errors, which are a [Problem] each.
func ParseScript(name string, data []byte) ([][]fakehandler.Op, error) {
	var found []Problem
	turns, _ := turnsOf(&document{file: name, found: &found}, newShapes(), data)
	return turns, joined(found)
}

// ParsePush reads a file of a story that says what is pushed. The name is for
// errors, which are a [Problem] each.
func ParsePush(name string, data []byte) (Push, error) { return parseFile[Push](name, data) }

// ParseStart reads a file of a story that holds a session's manifest. The name is
// for errors, which are a [Problem] each.
func ParseStart(name string, data []byte) (Start, error) { return parseFile[Start](name, data) }

// ParseAround reads a file of a story that says what surrounds a run. The name is
// for errors, which are a [Problem] each.
func ParseAround(name string, data []byte) (Around, error) { return parseFile[Around](name, data) }

func parseFile[T any](name string, data []byte) (T, error) {
	var found []Problem
	v, _ := fileOf[T](&document{file: name, found: &found}, newShapes(), data)
	return v, joined(found)
}

func joined(found []Problem) error {
	var errs []error
	for _, p := range sorted(found) {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

// fileOf reads a file that holds one T. The root is nil after a problem.
func fileOf[T any](doc *document, s *shapes, data []byte) (T, *yaml.Node) {
	var zero T
	root := doc.parse(data)
	if root == nil {
		return zero, nil
	}
	v, ok := decode[T](doc, s, root, walker{})
	if !ok {
		return zero, nil
	}
	return v, root
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
		root = listWith(root)
	}
	turns, ok := decode[[][]fakehandler.Op](doc, s, root, walker{})
	if !ok {
		return nil, nil
	}
	return turns, root
}

// listWith is a list with one item, at the item's place.
func listWith(item *yaml.Node) *yaml.Node {
	return &yaml.Node{
		Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{item}, Line: item.Line, Column: item.Column,
	}
}
