package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"gopkg.in/yaml.v3"
)

// UnmarshalYAML turns a YAML value into JSON text. Aliases are followed; merge
// keys are refused, since JSON has no word for them.
func (j *JSON) UnmarshalYAML(node *yaml.Node) error {
	var b bytes.Buffer
	if err := appendNode(&b, node); err != nil {
		return err
	}
	*j = b.Bytes()
	return nil
}

// MarshalJSON returns the text.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == nil {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON keeps the text.
func (j *JSON) UnmarshalJSON(data []byte) error {
	*j = append(JSON(nil), data...)
	return nil
}

func appendNode(b *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.AliasNode:
		return appendNode(b, node.Alias)
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := appendNode(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return fmt.Errorf("line %d: a JSON object has plain keys only", key.Line)
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quote(key.Value))
			b.WriteByte(':')
			if err := appendNode(b, node.Content[i+1]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case yaml.ScalarNode:
		return appendScalar(b, node)
	default:
		return fmt.Errorf("line %d: no JSON value", node.Line)
	}
	return nil
}

func appendScalar(b *bytes.Buffer, node *yaml.Node) error {
	switch node.ShortTag() {
	case "!!null":
		b.WriteString("null")
	case "!!bool":
		var v bool
		if err := node.Decode(&v); err != nil {
			return err
		}
		fmt.Fprint(b, v)
	case "!!int", "!!float":
		// The digits as written, where JSON has the same number syntax.
		if json.Valid([]byte(node.Value)) {
			b.WriteString(node.Value)
			return nil
		}
		var v float64
		if err := node.Decode(&v); err != nil {
			return err
		}
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Errorf("line %d: JSON has no number %s", node.Line, node.Value)
		}
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b.Write(text)
	default: // strings, and dates, which are strings to JSON
		b.Write(quote(node.Value))
	}
	return nil
}

// quote is the JSON string of s with the fewest escapes; bytes that are no UTF-8
// stay as they are, so that a script can send them.
func quote(s string) []byte {
	var b bytes.Buffer
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.Bytes()
}

// escape turns every character of JSON text that is not ASCII into \u escapes.
func escape(text []byte) []byte {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}
