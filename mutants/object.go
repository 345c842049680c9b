package mutants

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/protocol"
)

// member is one name and value of a record.
type member struct {
	name  string
	value jsontext.Value
}

// object is a record whose members can be changed one by one: order, repeated
// names and the text of every value stay as they were.
type object []member

// parse takes a record apart.
func parse(raw []byte) (object, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	o := object{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		o = append(o, member{text, value.Clone()})
	}
	return o, nil
}

// bytes is the record as compact JSON.
func (o object) bytes() []byte {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(m.name)...), ':'), m.value...)
	}
	return append(out, '}')
}

// value returns the value of a name, or nil.
func (o object) value(name string) jsontext.Value {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// text returns the string of a name; without one, "".
func (o object) text(name string) string {
	v := o.value(name)
	if v.Kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(text)
}

// with returns the record with a member set: in its old place, or last.
func (o object) with(name string, value jsontext.Value) object {
	changed := slices.Clone(o)
	for i := range changed {
		if changed[i].name == name {
			changed[i].value = value
			return changed
		}
	}
	return append(changed, member{name, value})
}

// without returns the record without the members of a name.
func (o object) without(name string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.name == name })
}

// isAnswer reports whether the record is one by which a handler talks to the
// harness, rather than an Output that the case asked for.
func (o object) isAnswer() bool { return strings.HasPrefix(o.text("name"), "conform/") }

// isLifecycle reports whether an Input is a lifecycle event that has a name.
func (o object) isLifecycle() bool {
	switch o.text("event") {
	case protocol.EventStart, protocol.EventFork, protocol.EventWake:
		return true
	}
	return false
}

// isEntry reports whether an Input is a replayed entry: not the announcement, not
// a lifecycle event, not a record in which every field of section 4 is absent.
func (o object) isEntry() bool {
	return !o.isLifecycle() && o.text("event") != protocol.EventMemory && o.text("event") != protocol.EventProtocol && !o.isEmpty()
}

// isEmpty reports whether no field of section 4 or 5 has a value.
func (o object) isEmpty() bool {
	for _, m := range o {
		if isKnown(m.name) && !isZero(m.value) {
			return false
		}
	}
	return true
}

// isZero reports whether a value is the zero value of section 3.2.
func isZero(v jsontext.Value) bool {
	switch string(v) {
	case `""`, "0", "false", "null", "{}":
		return true
	}
	return false
}

// fields is the schemas of sections 4 and 5, with each field's zero value.
func inputFields() []member {
	return members("event", `""`, "url", `""`, "size", "0", "content-type", `""`, "content-encoding", `""`,
		"schema-url", `""`, "name", `""`, "metadata", "{}", "data", `""`)
}

func outputFields() []member {
	return members("uri", `""`, "data", `""`, "content-type", `""`, "content-encoding", `""`, "schema-url", `""`,
		"name", `""`, "metadata", "{}", "fork", "false", "session", `""`)
}

func members(pairs ...string) (list []member) {
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, member{pairs[i], jsontext.Value(pairs[i+1])})
	}
	return list
}

func isKnown(name string) bool {
	is := func(m member) bool { return m.name == name }
	return slices.ContainsFunc(inputFields(), is) || slices.ContainsFunc(outputFields(), is)
}

// quoted is a text as a JSON string.
func quoted(text string) jsontext.Value {
	v, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil {
		return jsontext.Value(`""`) // never: the text is UTF-8
	}
	return v
}
