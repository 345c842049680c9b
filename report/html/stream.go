package html

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// piece is a part of a stream: a JSON value, or bytes that are none.
type piece struct {
	from, to int
	// number counts the values from 1; it is 0 for what is none.
	number int
}

// cut takes a stream apart, for show: what is no JSON goes to the end of its line,
// and after it the cutting begins again. At most limit pieces are cut; rest is
// where the stream goes on.
func cut(data []byte, limit int) (all []piece, rest int) {
	at, number := 0, 0
	for at < len(data) && len(all) < limit {
		dec := jsontext.NewDecoder(bytes.NewBuffer(data[at:]), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		base := at
		for len(all) < limit {
			v, err := dec.ReadValue()
			if errors.Is(err, io.EOF) {
				return all, len(data)
			}
			if err != nil {
				from := at + leading(data[at:])
				to := len(data)
				if n := bytes.IndexByte(data[from:], '\n'); n >= 0 {
					to = from + n + 1
				}
				all = append(all, piece{from: from, to: to})
				at = to
				break
			}
			number++
			at = base + int(dec.InputOffset())
			all = append(all, piece{from: at - len(v), to: at, number: number})
		}
	}
	return all, at
}

// leading is how many bytes of JSON's white space data begins with.
func leading(data []byte) int {
	return len(data) - len(bytes.TrimLeft(data, " \t\r\n"))
}

// laidOut is a JSON value with a member a line, and the value as it is when it is
// none.
func laidOut(value []byte) string {
	v := jsontext.Value(slices.Clone(value))
	if err := v.Indent(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  ")); err != nil {
		return string(value)
	}
	return string(v)
}

// member is a value in a JSON object: where it stands in the text, and its string.
type member struct {
	offset int
	text   string
}

// members finds strings and other values of a JSON object by their paths, as in
// "name" or "metadata.duration". The first of a repeated name is kept.
func members(object []byte) map[string]member {
	found := map[string]member{}
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		kind := dec.PeekKind()
		at := int(dec.InputOffset())
		token, err := dec.ReadToken()
		if err != nil {
			return found
		}
		if depth := dec.StackDepth(); depth > 8 {
			return found
		}
		switch kind {
		case '}', ']':
			continue
		}
		// A name of an object is a token of its own; its value comes next.
		if opener, n := dec.StackIndex(dec.StackDepth()); opener == '{' && n%2 == 1 && kind != '{' && kind != '[' {
			continue
		}
		path := strings.ReplaceAll(strings.TrimPrefix(string(dec.StackPointer()), "/"), "/", ".")
		if _, ok := found[path]; path == "" || ok {
			continue
		}
		m := member{offset: at + len(object[at:]) - len(bytes.TrimLeft(object[at:], " \t\r\n:,"))}
		if kind == '"' {
			m.text = token.String()
		}
		found[path] = m
	}
}

// body is the bytes that a record carries in its data; nil when it has none or
// they are no base64.
func body(data string) []byte {
	data = strings.TrimRight(data, "=")
	decoded, err := base64.RawStdEncoding.DecodeString(data)
	if err != nil || len(decoded) == 0 {
		return nil
	}
	return decoded
}
