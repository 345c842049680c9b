package judge

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
)

// direction says whose records a stream carries.
type direction int

const (
	outputs direction = iota // from a handler (section 5)
	inputs                   // from a runtime (section 4)
)

// knows reports whether the field is in the set of section 4 or 5, which section
// 17 closes for version 1.
func (d direction) knows(name string) bool {
	switch name {
	case "data", "content-type", "content-encoding", "schema-url", "name", "metadata":
		return true
	case "event", "url", "size":
		return d == inputs
	case "uri", "fork", "session":
		return d == outputs
	}
	return false
}

// field is one name and value of a record as it stands on the wire.
type field struct {
	name   string
	raw    []byte // the value's JSON text
	offset int    // of the value, in the stream
}

// record is one JSON object at the top level of a stream.
type record struct {
	number int // from 1
	offset int // of its opening brace
	text   []byte
	fields []field
	after  []byte // the white space that follows it
}

// get returns the last field of that name; of repeated names nothing is asserted
// (R18).
func (r *record) get(name string) (field, bool) {
	for i := len(r.fields) - 1; i >= 0; i-- {
		if r.fields[i].name == name {
			return r.fields[i], true
		}
	}
	return field{}, false
}

// isNoOp reports whether every recognised field is empty or absent (section 3).
func (r *record) isNoOp(d direction) bool {
	for _, f := range r.fields {
		if d.knows(f.name) && !isZero(f.raw) {
			return false
		}
	}
	return true
}

// str returns a string field; one that is absent, null or no string is empty.
func (r *record) str(name string) string {
	f, ok := r.get(name)
	if !ok || f.raw[0] != '"' {
		return ""
	}
	return unquote(f.raw)
}

// shown is how a field is quoted in findings: its string, or else its JSON text.
func (r *record) shown(name string) string {
	f, ok := r.get(name)
	switch {
	case !ok:
		return "absent"
	case f.raw[0] == '"':
		return quote(unquote(f.raw))
	}
	return clip(string(f.raw), 200)
}

// flag returns a boolean field.
func (r *record) flag(name string) bool {
	f, ok := r.get(name)
	return ok && string(f.raw) == "true"
}

// strings returns the metadata, and false when it is no object of strings. Absent
// and null are the empty object.
func (r *record) strings(name string) (map[string]string, bool) {
	f, ok := r.get(name)
	if !ok || string(f.raw) == "null" {
		return nil, true
	}
	if f.raw[0] != '{' {
		return nil, false
	}
	m := map[string]string{}
	for _, member := range members(f.raw, 0) {
		if member.raw[0] != '"' {
			return m, false
		}
		m[member.name] = unquote(member.raw)
	}
	return m, true
}

// body is a record's data field, decoded as far as it can be.
type body struct {
	present bool
	bytes   []byte
	faults  []dataFault
}

// data returns the body that the record carries inline. An empty field carries
// none.
func (r *record) data() body {
	f, ok := r.get("data")
	if !ok || string(f.raw) == "null" || string(f.raw) == `""` { // P3.2/missing-is-zero
		return body{}
	}
	if f.raw[0] != '"' {
		return body{present: true, faults: []dataFault{{rule: ruleAlphabet, what: "a value that is no string: " + clip(string(f.raw), 60)}}}
	}
	data, faults := decodeData(unquote(f.raw))
	return body{present: true, bytes: data, faults: faults}
}

// members returns the members of the JSON object text, which is valid; base is
// added to the offsets.
func members(text []byte, base int) (list []field) {
	i := 1
	for {
		for isSpace(text[i]) || text[i] == ',' {
			i++
		}
		if text[i] == '}' {
			return list
		}
		nameEnd, _ := stringEnd(text, i)
		name := unquote(text[i:nameEnd])
		for i = nameEnd; isSpace(text[i]) || text[i] == ':'; i++ {
		}
		end, _ := valueEnd(text, i)
		list = append(list, field{name: name, raw: text[i:end], offset: base + i})
		i = end
	}
}

// isZero reports whether JSON text is a zero value of section 3.2; null reads as
// one (R17).
func isZero(raw []byte) bool {
	switch raw[0] {
	case '"':
		return len(raw) == 2
	case '{':
		return len(bytes.TrimLeft(raw[1:len(raw)-1], " \t\r\n")) == 0
	case 'n', 'f':
		return true
	case 't', '[':
		return false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(string(raw)), "e")
	return strings.Trim(mantissa, "-0.") == ""
}

// number is the exact value of JSON number text; numbers are never compared as
// floating point (a size may need all 63 bits). Exponents past any sense are
// refused, so that a hostile 1e999999999 costs nothing.
func number(raw string) (*big.Rat, bool) {
	_, exponent, found := strings.Cut(strings.ToLower(raw), "e")
	if found {
		if n, err := strconv.Atoi(exponent); err != nil || n > 1000 || n < -1000 {
			return nil, false
		}
	}
	if len(raw) > 4096 || raw == "" || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return nil, false
	}
	return new(big.Rat).SetString(raw)
}

// isInt reports whether JSON number text is exactly n.
func isInt(raw string, n int64) bool {
	got, ok := number(raw)
	return ok && got.Cmp(new(big.Rat).SetInt64(n)) == 0
}
