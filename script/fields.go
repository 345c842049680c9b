package script

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Field is one name and value of a record; Value is JSON text.
type Field struct {
	Name  string
	Value JSON
}

// Fields is a record in the order of its fields, before it is laid out.
type Fields []Field

// String appends a field with a string value.
func (f *Fields) String(name, value string) { *f = append(*f, Field{name, quote(value)}) }

// Int appends a field with a number.
func (f *Fields) Int(name string, value int64) {
	*f = append(*f, Field{name, JSON(fmt.Sprint(value))})
}

// Strings appends a field with an object of strings, keys sorted.
func (f *Fields) Strings(name string, value map[string]string) {
	keys := make([]string, 0, len(value))
	for k := range value {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(k))
		b.WriteByte(':')
		b.Write(quote(value[k]))
	}
	b.WriteByte('}')
	*f = append(*f, Field{name, b.Bytes()})
}

// Bytes appends a field with the base64 of data, in the standard alphabet.
func (f *Fields) Bytes(name string, data []byte, padded bool) {
	encoding := base64.StdEncoding
	if !padded {
		encoding = base64.RawStdEncoding
	}
	f.String(name, encoding.EncodeToString(data))
}

// JSON appends the fields of m as they are, names sorted.
func (f *Fields) JSON(m map[string]JSON) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		*f = append(*f, Field{name, m[name]})
	}
}

// Null appends fields with the value null.
func (f *Fields) Null(names []string) {
	for _, name := range names {
		*f = append(*f, Field{name, JSON("null")})
	}
}

// Has reports whether the record has a field of this name.
func (f Fields) Has(name string) bool {
	return slices.ContainsFunc(f, func(x Field) bool { return x.Name == name })
}

// Render lays the record out. The text has no white space around it.
func (f Fields) Render(style Style) []byte {
	fields := slices.Clone(f)
	if style == Reversed {
		slices.Reverse(fields)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, field := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(name(field.Name, style))
		b.WriteByte(':')
		b.Write(field.Value)
	}
	b.WriteByte('}')
	switch style {
	case Pretty:
		var out bytes.Buffer
		if json.Indent(&out, b.Bytes(), "", "  ") != nil {
			return b.Bytes() // a value that is no JSON was wanted as it is
		}
		return out.Bytes()
	case Tabs:
		return around(b.Bytes(), '\t')
	case Carriage:
		return around(b.Bytes(), '\r')
	case Escaped:
		return escape(b.Bytes())
	}
	return b.Bytes()
}

// name is a field name; the escaped style writes its first letter as an escape,
// which is the same name to every JSON reader.
func name(s string, style Style) []byte {
	if style == Escaped && s != "" {
		return fmt.Appendf(nil, `"\u%04x%s`, s[0], quote(s[1:])[1:])
	}
	return quote(s)
}

// around puts the white space c on the inner sides of every structural token.
func around(text []byte, c byte) []byte {
	var b bytes.Buffer
	inString, escaped := false, false
	for i, x := range text {
		switch {
		case inString:
			b.WriteByte(x)
			switch {
			case escaped:
				escaped = false
			case x == '\\':
				escaped = true
			case x == '"':
				inString = false
			}
		case strings.IndexByte("{}[],:", x) >= 0:
			if i > 0 {
				b.WriteByte(c)
			}
			b.WriteByte(x)
			if i < len(text)-1 {
				b.WriteByte(c)
			}
		default:
			inString = x == '"'
			b.WriteByte(x)
		}
	}
	return b.Bytes()
}
