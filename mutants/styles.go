package mutants

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file lay a record out in another way, which is as legal.

// indented lays a record out over several lines.
func indented(_ int, raw []byte) []byte {
	v := jsontext.Value(slices.Clone(raw))
	if err := v.Indent(); err != nil {
		return raw
	}
	return v
}

// surrounded puts white space on both sides of every token.
func surrounded(space string) func(int, []byte) []byte {
	return func(_ int, raw []byte) []byte {
		out := []byte{}
		var at scanner
		for _, b := range raw {
			inside := at.inString
			at.next(b)
			switch {
			case !inside && !at.inString && strings.IndexByte("{}[]:,", b) >= 0:
				out = append(append(append(out, space...), b), space...)
			default:
				out = append(out, b)
			}
		}
		return []byte(strings.Trim(string(out), space))
	}
}

// escaped writes everything that is not ASCII as \u escapes, and the first letter
// of each field's name too.
func escaped(_ int, raw []byte) []byte {
	o, err := parse(raw)
	if err != nil {
		return raw
	}
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		name := string(quoted(m.name)[1:])
		if c := name[0]; c < utf8.RuneSelf && c != '\\' && c != '"' {
			name = fmt.Sprintf(`\u%04x%s`, c, name[1:])
		}
		out = append(append(append(out, '"'), ascii(name)...), ':')
		out = append(out, ascii(string(m.value))...)
	}
	return append(out, '}')
}

func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// reversed puts the fields in the opposite order.
func reversed(o object) object {
	o = slices.Clone(o)
	slices.Reverse(o)
	return o
}

// unpadded takes the padding off base64.
func unpadded(o object) object {
	if o.value("data") == nil {
		return o
	}
	return o.with("data", quoted(strings.TrimRight(o.text("data"), "=")))
}

// zeros writes every field out that is absent.
func zeros(fields []member) func(object) object {
	return func(o object) object {
		for _, f := range fields {
			if o.value(f.name) == nil {
				o = o.with(f.name, f.value)
			}
		}
		return o
	}
}

// nulls writes every field out that is absent, as a null (reading R17).
func nulls(fields []member) func(object) object {
	return func(o object) object {
		for _, f := range fields {
			if o.value(f.name) == nil {
				o = o.with(f.name, jsontext.Value("null"))
			}
		}
		return o
	}
}

// further adds a field that version 1 does not have.
func further(o object) object {
	return o.with("x-future", jsontext.Value(`{"name":"not-this","deep":[1,{"data":"QQ=="}]}`))
}
