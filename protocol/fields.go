package protocol

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// fieldSetter is a record that takes one field at a time.
type fieldSetter interface {
	// setField reads the value of the field of that exact name from r, or
	// returns false and leaves it unread.
	setField(name []byte, r *fieldReader) (known bool, fault *fieldFault)
}

// fieldFault is a value that its field can't hold.
type fieldFault struct {
	kind Kind
	at   int // where in the record, in bytes
	err  error
}

// fieldReader walks the fields of one record whose JSON is known to be right.
type fieldReader struct {
	json jsontext.Decoder
	buf  bytes.Buffer
}

// read sets the fields of to from the object raw.
func (r *fieldReader) read(raw []byte, to fieldSetter) *fieldFault {
	r.begin(raw)
	if _, err := r.json.ReadToken(); err != nil {
		return r.broken(err)
	}
	for r.json.PeekKind() == jsontext.KindString {
		quoted, err := r.json.ReadValue()
		if err != nil {
			return r.broken(err)
		}
		name, err := unquoteBytes(quoted)
		if err != nil {
			return r.broken(err)
		}
		known, fault := to.setField(name, r)
		if fault != nil {
			return fault
		}
		if known {
			continue
		}
		if err := r.json.SkipValue(); err != nil {
			return r.broken(err)
		}
	}
	if _, err := r.json.ReadToken(); err != nil {
		return r.broken(err)
	}
	return nil
}

// begin points r at raw, which it reads in place. Duplicate names were looked for
// when raw was framed, so they are not looked for again.
func (r *fieldReader) begin(raw []byte) {
	r.buf = *bytes.NewBuffer(raw)
	r.json.Reset(&r.buf, jsontext.AllowDuplicateNames(true))
}

// broken reports JSON that was right when it was framed and is not now.
func (r *fieldReader) broken(err error) *fieldFault {
	return &fieldFault{kind: KindSyntax, at: int(r.json.InputOffset()), err: err}
}

// value reads a value and where it begins. A null gives no bytes.
func (r *fieldReader) value(name []byte, want jsontext.Kind) (jsontext.Value, int, *fieldFault) {
	value, err := r.json.ReadValue()
	if err != nil {
		return nil, 0, r.broken(err)
	}
	at := int(r.json.InputOffset()) - len(value)
	switch value.Kind() {
	case want:
		return value, at, nil
	case jsontext.KindNull:
		return nil, at, nil
	}
	return nil, at, wrongType(name, at, "a "+kindName(want), kindName(value.Kind()))
}

func (r *fieldReader) text(name []byte, to *string) *fieldFault {
	value, at, fault := r.value(name, jsontext.KindString)
	if fault != nil || value == nil {
		return fault
	}
	var err error
	if *to, err = unquote(value); err != nil {
		return &fieldFault{kind: KindSyntax, at: at, err: err}
	}
	return nil
}

// integer takes an integer literal only: a fraction or an exponent would have to
// go through a float, and lose what a float can't hold.
func (r *fieldReader) integer(name []byte, to *int64) *fieldFault {
	value, at, fault := r.value(name, jsontext.KindNumber)
	if fault != nil || value == nil {
		return fault
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return wrongType(name, at, "an integer of 64 bits", "another number")
	}
	*to = n
	return nil
}

func (r *fieldReader) boolean(name []byte, to *bool) *fieldFault {
	value, err := r.json.ReadValue()
	if err != nil {
		return r.broken(err)
	}
	switch value.Kind() {
	case jsontext.KindTrue:
		*to = true
	case jsontext.KindFalse, jsontext.KindNull:
	default:
		return wrongType(name, int(r.json.InputOffset())-len(value), "a boolean", kindName(value.Kind()))
	}
	return nil
}

// binary takes base64, padded or not. The text is looked at after the escapes of
// JSON are undone: a solidus may be escaped, a line break can only be.
func (r *fieldReader) binary(name []byte, to *[]byte) *fieldFault {
	value, at, fault := r.value(name, jsontext.KindString)
	if fault != nil || value == nil {
		return fault
	}
	text, err := unquoteBytes(value)
	if err != nil {
		return &fieldFault{kind: KindSyntax, at: at, err: err}
	}
	data, bad, err := decodeBase64(text)
	if err != nil {
		if len(text) == len(value)-2 { // no escapes: the places correspond
			at += 1 + bad
		}
		return &fieldFault{kind: KindBadBase64, at: at, err: fmt.Errorf("field %q: %w", name, err)}
	}
	*to = data
	return nil
}

// stringMap takes an object of strings; one without members reads as none.
func (r *fieldReader) stringMap(name []byte, to *map[string]string) *fieldFault {
	if r.json.PeekKind() != jsontext.KindBeginObject {
		_, _, fault := r.value(name, jsontext.KindBeginObject)
		return fault
	}
	if _, err := r.json.ReadToken(); err != nil {
		return r.broken(err)
	}
	var members map[string]string
	for r.json.PeekKind() == jsontext.KindString {
		quoted, err := r.json.ReadValue()
		if err != nil {
			return r.broken(err)
		}
		key, err := unquote(quoted)
		if err != nil {
			return r.broken(err)
		}
		value, at, fault := r.value(name, jsontext.KindString)
		if fault != nil {
			return fault
		}
		if value == nil {
			return wrongType(name, at, "strings as values", "a null (R17)")
		}
		if members == nil {
			members = make(map[string]string)
		}
		if members[key], err = unquote(value); err != nil {
			return &fieldFault{kind: KindSyntax, at: at, err: err}
		}
	}
	if _, err := r.json.ReadToken(); err != nil {
		return r.broken(err)
	}
	*to = members
	return nil
}

// setField knows the fields of section 4.
func (in *Input) setField(name []byte, r *fieldReader) (bool, *fieldFault) {
	switch string(name) {
	case "event":
		return true, r.text(name, &in.Event)
	case "url":
		return true, r.text(name, &in.URL)
	case "size":
		return true, r.integer(name, &in.Size)
	case "content-type":
		return true, r.text(name, &in.ContentType)
	case "content-encoding":
		return true, r.text(name, &in.ContentEncoding)
	case "schema-url":
		return true, r.text(name, &in.SchemaURL)
	case "name":
		return true, r.text(name, &in.Name)
	case "metadata":
		return true, r.stringMap(name, &in.Metadata)
	case "data":
		return true, r.binary(name, &in.Data)
	}
	return false, nil
}

// setField knows the fields of section 5.
func (out *Output) setField(name []byte, r *fieldReader) (bool, *fieldFault) {
	switch string(name) {
	case "uri":
		return true, r.text(name, &out.URI)
	case "data":
		return true, r.binary(name, &out.Data)
	case "content-type":
		return true, r.text(name, &out.ContentType)
	case "content-encoding":
		return true, r.text(name, &out.ContentEncoding)
	case "schema-url":
		return true, r.text(name, &out.SchemaURL)
	case "name":
		return true, r.text(name, &out.Name)
	case "metadata":
		return true, r.stringMap(name, &out.Metadata)
	case "fork":
		return true, r.boolean(name, &out.Fork)
	case "session":
		return true, r.text(name, &out.Session)
	}
	return false, nil
}

func wrongType(name []byte, at int, want, got string) *fieldFault {
	return &fieldFault{kind: KindWrongType, at: at, err: fmt.Errorf("field %q wants %s, got %s", name, want, got)}
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "boolean"
	case jsontext.KindString:
		return "string"
	case jsontext.KindNumber:
		return "number"
	case jsontext.KindBeginObject:
		return "object of strings"
	case jsontext.KindBeginArray:
		return "array"
	}
	return "value"
}

// unquote gives the text of a JSON string.
func unquote(quoted []byte) (string, error) {
	text, err := unquoteBytes(quoted)
	return string(text), err
}

// unquoteBytes gives the text of a JSON string, within quoted itself if it has no
// escape, as most have none.
func unquoteBytes(quoted []byte) ([]byte, error) {
	if len(quoted) >= 2 && bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	return jsontext.AppendUnquote(nil, quoted)
}
