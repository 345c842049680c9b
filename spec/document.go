package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// document reads one YAML file of the registry by walking its nodes. Walking,
// not decoding into structs, because yaml.v3 tells the line of an unknown key
// only in the text of its error, and the column not at all.
type document struct {
	file string
	errs []error
}

// fault records that the file is wrong at the node.
func (d *document) fault(n *yaml.Node, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("%s:%d:%d: %w", d.file, n.Line, n.Column, fmt.Errorf(format, args...)))
}

// open parses the file and returns its only document's root, or nil after it
// recorded what is wrong.
func (d *document) open(fsys fs.FS) *yaml.Node {
	content, err := fs.ReadFile(fsys, d.file)
	if err != nil {
		d.errs = append(d.errs, fmt.Errorf("read %s: %w", d.file, err))
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		d.errs = append(d.errs, fmt.Errorf("%s:1:1: the file is empty", d.file))
		return nil
	case err != nil:
		d.errs = append(d.errs, d.syntaxError(err))
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		d.fault(&second, "a second YAML document: the file may hold one only")
		return nil
	case !errors.Is(err, io.EOF):
		d.errs = append(d.errs, d.syntaxError(err))
		return nil
	}
	return first.Content[0]
}

// syntaxError moves the line, which yaml.v3 gives in the text of its error
// only, behind the file name, where editors look for it.
func (d *document) syntaxError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if line, what, ok := strings.Cut(rest, ": "); ok {
			return fmt.Errorf("%s:%s: %s", d.file, line, what)
		}
	}
	return fmt.Errorf("%s: %s", d.file, text)
}

// fields says for each key that a mapping may have what to do with its value.
type fields map[string]func(*yaml.Node)

// mapping hands the value of each key to its field. Unknown and repeated keys
// are faults, required ones that are absent too.
func (d *document) mapping(n *yaml.Node, known fields, required ...string) {
	if n.Kind != yaml.MappingNode {
		d.fault(n, "want a mapping, got %s", kindOf(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		take, ok := known[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !ok:
			d.fault(key, "unknown key %q%s", key.Value, didYouMean(key.Value, known))
		case seen[key.Value]:
			d.fault(key, "key %q is given twice", key.Value)
		default:
			seen[key.Value] = true
			take(value)
		}
	}
	for _, key := range required {
		if !seen[key] {
			d.fault(n, "key %q is missing", key)
		}
	}
}

// sequence hands each item of a list to take.
func (d *document) sequence(n *yaml.Node, take func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		d.fault(n, "want a list, got %s", kindOf(n))
		return
	}
	if len(n.Content) == 0 {
		d.fault(n, "the list is empty")
	}
	for _, item := range n.Content {
		take(item)
	}
}

// text reads a string that is not empty. Numbers are refused, so that section
// "2.10" can't become 2.1 in any reader of the file.
func (d *document) text(into *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		switch {
		case n.Kind != yaml.ScalarNode:
			d.fault(n, "want a string, got %s", kindOf(n))
		case n.ShortTag() != "!!str":
			d.fault(n, "want a string, got %s: write it in quotes", n.Value)
		case n.Value == "":
			d.fault(n, "the text is empty: leave the key out")
		default:
			*into = n.Value
		}
	}
}

// sentence reads a text that begins like a sentence, ends like one, and stands
// in one paragraph.
func (d *document) sentence(into *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.text(into)(n)
		if *into != "" && !isSentence(*into) {
			d.fault(n, "not a sentence: want a capital or a quoted word first, a full stop last, and one paragraph")
		}
	}
}

func isSentence(text string) bool {
	if strings.ContainsAny(text, "\n\t") || strings.Contains(text, "  ") {
		return false
	}
	first, last := text[0], text[len(text)-1]
	begins := first >= 'A' && first <= 'Z' || first == '`'
	return begins && last == '.' && len(strings.Fields(text)) >= 4
}

func didYouMean(key string, known fields) string {
	near, ok := nearest(key, slices.Sorted(maps.Keys(known)))
	if !ok {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", near)
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which the registry does not use"
	default:
		return fmt.Sprintf("the scalar %q", n.Value)
	}
}
