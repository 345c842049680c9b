package casefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// document is one piece of YAML with its place in a file.
type document struct {
	file string
	// above is the number of lines of the file before the YAML begins.
	above int
	found *[]Problem
}

// place is a spot of a document that can be complained about.
type place struct {
	doc  *document
	node *yaml.Node
}

func (d *document) fault(line, column int, format string, args ...any) {
	*d.found = append(*d.found, Problem{
		File: d.file, Line: line + d.above, Column: max(column, 1), Message: fmt.Sprintf(format, args...),
	})
}

// clean reports whether no problem was found since the count was before.
func (d *document) clean(before int) bool { return len(*d.found) == before }

func (d *document) count() int { return len(*d.found) }

func (p place) fault(format string, args ...any) {
	p.doc.fault(p.node.Line, p.node.Column, format, args...)
}

// key is the value under a key of a mapping, or p itself when there is none.
func (p place) key(names ...string) place {
	for _, name := range names {
		v := lookup(p.node, name)
		if v == nil {
			return p
		}
		p.node = v
	}
	return p
}

// has reports whether the mapping has the key.
func (p place) has(name string) bool { return lookup(p.node, name) != nil }

// item is the i-th item of a list, or p itself when there is none.
func (p place) item(i int) place {
	if p.node.Kind == yaml.SequenceNode && i < len(p.node.Content) {
		p.node = p.node.Content[i]
	}
	return p
}

func lookup(n *yaml.Node, name string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// parse reads the only YAML document of data and returns its root with aliases
// and merge keys written out, or nil after a problem. A byte-order mark before
// it is passed over, as editors write it.
func (d *document) parse(data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !d.isText(data) {
		return nil
	}
	before := d.count()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		d.fault(1, 1, "the file is empty")
		return nil
	case err != nil:
		d.broken(err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		d.fault(second.Line, second.Column, "a second YAML document, which would never be looked at: one file, one case")
	case !errors.Is(err, io.EOF):
		d.broken(err)
	}
	if !d.clean(before) || len(first.Content) == 0 {
		return nil
	}
	e := expander{doc: d, open: map[*yaml.Node]bool{}, left: maxNodes}
	root := e.expand(first.Content[0])
	if !d.clean(before) {
		return nil
	}
	return root
}

// isText reports whether data is UTF-8 without NUL. yaml.v3 would read UTF-16 by
// its mark, and nothing else that looks at case files does.
func (d *document) isText(data []byte) bool {
	line, column := 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			d.fault(line, column, "not UTF-8: byte %#02x", data[0])
			return false
		case r == 0:
			d.fault(line, column, "a NUL byte")
			return false
		case r == '\n':
			line, column = line+1, 0
		}
		data, column = data[size:], column+1
	}
	return true
}

// broken records an error of the YAML library, which has its place in its text.
func (d *document) broken(err error) {
	var wrong *yaml.TypeError
	texts := []string{err.Error()}
	if errors.As(err, &wrong) {
		texts = wrong.Errors
	}
	for _, text := range texts {
		line, rest := libraryText(text)
		if isParserText(rest) {
			line++
		}
		d.fault(max(line, 1), 1, "%s", rest)
	}
}

// libraryText takes the line out of the text of an error of the YAML library; 0
// when it has none.
func libraryText(text string) (line int, rest string) {
	rest = strings.TrimPrefix(text, "yaml: ")
	number, after, found := strings.Cut(strings.TrimPrefix(rest, "line "), ": ")
	if line, err := strconv.Atoi(number); err == nil && found && strings.HasPrefix(rest, "line ") {
		return line, after
	}
	return 0, rest
}

// isParserText reports whether an error comes from the library's parser, which
// counts lines from 0; its scanner counts them from 1.
func isParserText(text string) bool {
	for _, start := range []string{
		"did not find expected ',' or", "did not find expected key", "did not find expected '-' indicator",
		"did not find expected node content", "did not find expected <", "found duplicate %", "found undefined tag handle",
	} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// maxNodes bounds what aliases can blow a file up to.
const maxNodes = 200_000

// expander writes aliases and merge keys out, so that nothing after it has to
// know them and no check hides behind one.
type expander struct {
	doc  *document
	open map[*yaml.Node]bool
	left int
}

func (e *expander) expand(n *yaml.Node) *yaml.Node {
	if e.left--; e.left < 0 {
		if e.left == -1 {
			e.doc.fault(n.Line, n.Column, "aliases make this file larger than %d values", maxNodes)
		}
		return n
	}
	if n.Kind == yaml.AliasNode {
		if e.open[n.Alias] {
			e.doc.fault(n.Line, n.Column, "the alias *%s stands inside what it stands for", n.Value)
			return n
		}
		return e.expand(n.Alias)
	}
	e.open[n] = true
	defer delete(e.open, n)
	out := *n
	out.Anchor, out.Alias, out.Content = "", nil, nil
	if n.Style&yaml.TaggedStyle != 0 {
		e.doc.fault(n.Line, n.Column, "the tag %s: cases use none", n.Tag)
	}
	if n.Kind != yaml.MappingNode {
		for _, item := range n.Content {
			out.Content = append(out.Content, e.expand(item))
		}
		return &out
	}
	var merge *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind == yaml.ScalarNode && key.Tag == "!!merge" && merge != nil:
			e.doc.fault(key.Line, key.Column, "a second merge key in one mapping: write `<<: [*a, *b]`")
		case key.Kind == yaml.ScalarNode && key.Tag == "!!merge":
			merge = e.expand(value)
		default:
			out.Content = append(out.Content, e.expand(key), e.expand(value))
		}
	}
	if merge != nil {
		e.merge(&out, merge)
	}
	return &out
}

// merge adds the keys of from that into lacks; of a list, earlier mappings win.
func (e *expander) merge(into, from *yaml.Node) {
	switch from.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(from.Content); i += 2 {
			if lookup(into, from.Content[i].Value) == nil {
				into.Content = append(into.Content, from.Content[i], from.Content[i+1])
			}
		}
	case yaml.SequenceNode:
		for _, item := range from.Content {
			if item.Kind != yaml.MappingNode {
				e.doc.fault(item.Line, item.Column, "a merge key takes mappings")
				continue
			}
			e.merge(into, item)
		}
	default:
		e.doc.fault(from.Line, from.Column, "a merge key takes a mapping")
	}
}
