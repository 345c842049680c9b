package subject

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// document is a subject file while it is read. It is decoded by hand, since
// yaml.v3 tells no columns, takes null for a value that is not there, and can't
// take an argument list given in two ways without losing its strictness.
type document struct {
	file  string
	found []Problem
	// nodes is where each value stands, by the keys that lead there, as
	// transports.http.url.
	nodes map[string]*yaml.Node
}

// fields is what the keys of a mapping do with their values.
type fields map[string]func(place string, n *yaml.Node)

func (d *document) fault(n *yaml.Node, format string, args ...any) {
	p := Problem{File: d.file, Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)}
	if n != nil {
		p.Line, p.Column = max(n.Line, 1), max(n.Column, 1)
	}
	d.found = append(d.found, p)
}

// parse returns the root of the only document in data, or nil after a problem.
// A byte-order mark is passed over, as some editors write it.
func (d *document) parse(data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		d.fault(nil, "not UTF-8 text")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		d.fault(nil, "the file is empty")
		return nil
	case err != nil:
		d.broken(err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		d.fault(&second, "a second YAML document, which would never be looked at: one file, one subject")
	case !errors.Is(err, io.EOF):
		d.broken(err)
	}
	if len(d.found) > 0 || len(first.Content) == 0 {
		return nil
	}
	return first.Content[0]
}

// broken takes over an error of the YAML library, whose line is in its text.
func (d *document) broken(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	at := &yaml.Node{}
	if number, rest, ok := strings.Cut(strings.TrimPrefix(text, "line "), ": "); ok && strings.HasPrefix(text, "line ") {
		if line, err := strconv.Atoi(number); err == nil {
			at.Line, text = line, rest
		}
	}
	// yaml.v3 counts the lines of these from 0, and those of its scanner from 1.
	for _, missing := range []string{"<document start>", "node content", "'-' indicator", "key", "',' or"} {
		if strings.HasPrefix(text, "did not find expected "+missing) {
			at.Line++
		}
	}
	d.fault(at, "no YAML: %s", text)
}

// mapping hands each value to its field. Keys that it does not know, and those
// that are given twice, are problems.
func (d *document) mapping(place string, n *yaml.Node, known fields) {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		d.fault(n, "%swant a mapping (%s), got %s", inPlace(place), strings.Join(slices.Sorted(maps.Keys(known)), ", "), what(n))
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), n.Content[i+1]
		field, ok := known[key.Value]
		first, twice := lines[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.fault(key, "%sa key is a plain word", inPlace(place))
		case key.ShortTag() == "!!merge":
			d.fault(key, "%smerge keys are not taken here: write the keys out", inPlace(place))
		case twice:
			d.fault(key, "%sthe key `%s` is given twice, first on line %d", inPlace(place), key.Value, first)
		case !ok:
			d.fault(key, "%sunknown key `%s`%s", inPlace(place), key.Value, orOneOf(key.Value, slices.Sorted(maps.Keys(known))))
		case isNull(resolve(value)):
			d.fault(value, "`%s` has no value: leave it out, or quote the text", join(place, key.Value))
		default:
			at := join(place, key.Value)
			d.nodes[at] = value
			field(at, value)
		}
		lines[key.Value] = key.Line
	}
}

// text is a scalar as it is written: 8080 and true are text where text is wanted.
func (d *document) text(place string, n *yaml.Node) string {
	n = resolve(n)
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.fault(n, "`%s`: want text, got %s", place, what(n))
		return ""
	}
	return n.Value
}

// list is a list of texts.
func (d *document) list(place string, n *yaml.Node) []string {
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		d.fault(n, "`%s`: want a list, got %s", place, what(n))
		return nil
	}
	items := make([]string, 0, len(n.Content))
	for _, item := range n.Content {
		items = append(items, d.text(place, item))
	}
	return items
}

// shellBytes is what asks for a shell, or for its quoting.
const shellBytes = "'\"\\`$|&;<>()*?~#"

// args is an argument list: a list of texts, or one text that is split at
// white space. A text that a shell would read differently is refused, since
// nobody could tell which reading was meant.
func (d *document) args(place string, n *yaml.Node) Args {
	n = resolve(n)
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		if at := strings.IndexAny(n.Value, shellBytes+"\n"); at >= 0 {
			d.fault(n, "`%s`: a command is never a shell line, and this one has %q: write a list, [program, argument, ...], with [sh, -c, ...] if it needs a shell", place, n.Value[at:at+1])
			return nil
		}
		words := strings.Fields(n.Value)
		if len(words) == 0 {
			d.fault(n, "`%s` names no program", place)
		}
		return words
	}
	words := d.list(place, n)
	if n.Kind == yaml.SequenceNode && (len(words) == 0 || strings.TrimSpace(words[0]) == "") {
		d.fault(n, "`%s` names no program", place)
	}
	return words
}

// item is where the i-th argument of a list stands.
func item(n *yaml.Node, i int) *yaml.Node {
	n = resolve(n)
	if n.Kind == yaml.SequenceNode && i < len(n.Content) {
		return n.Content[i]
	}
	return n
}

// resolve follows an alias. An alias never refers to another one, and the depth
// of a subject file is fixed, so that aliases can't go round.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// isEmpty reports whether a list or mapping has nothing in it.
func isEmpty(n *yaml.Node) bool {
	n = resolve(n)
	return n.Kind != yaml.ScalarNode && len(n.Content) == 0
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func what(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	}
	return strconv.Quote(n.Value)
}

func join(place, key string) string {
	if place == "" {
		return key
	}
	return place + "." + key
}

func inPlace(place string) string {
	if place == "" {
		return ""
	}
	return "`" + place + "`: "
}
