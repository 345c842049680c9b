package fakeruntime

import (
	"encoding/json"
	"fmt"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/script"
)

// InstructionsName is the name of the entry that tells a handler subject what to
// do, by the agreement with handler subjects.
const InstructionsName = "conform/instructions"

// How a body travels.
const (
	byURL  = "url"
	byData = "data"
	byBoth = "both"
)

// instructions turns a record of instructions into the entry that carries them.
func (c *composer) instructions(r Record) (Record, error) {
	if r.Body != nil || r.Data != nil || r.By != "" || r.Name != "" || r.ContentType != nil || r.ContentEncoding != nil || r.Times != 0 {
		return r, fmt.Errorf("instructions have their own name, content type and body, travel by url, and are written once")
	}
	text, err := json.Marshal(struct {
		Case string        `json:"case"`
		Do   []Instruction `json:"do"`
	}{c.told, r.Instructions})
	if err != nil {
		return r, fmt.Errorf("instructions: %w", err)
	}
	r.Name = InstructionsName
	r.Body = &script.Body{JSON: text}
	return r, nil
}

// checkRecord refuses combinations of which one part would be without effect.
func checkRecord(r Record) error {
	switch r.By {
	case "", byURL, byData, byBoth:
	default:
		return fmt.Errorf("by: a body travels by url, data or both, not %q", r.By)
	}
	if r.Body == nil {
		if r.By != "" {
			return fmt.Errorf("by: there is no body that could travel by %s", r.By)
		}
		if !isRight(r.Serve) {
			return fmt.Errorf("serve: there is no body to serve")
		}
	}
	return nil
}

// contentType is what an entry is: the record's field and the server's header.
func contentType(r Record) string {
	switch {
	case r.ContentType != nil:
		return *r.ContentType
	case r.Body != nil:
		return r.Body.DefaultType()
	}
	return ""
}

// fields lists a record's fields in the order of section 4. Empty fields are left
// out unless the script wants zeros, with one exception: a data text that the
// script gives is written even when it is empty.
func (c *composer) fields(r Record, e entry) (script.Fields, error) {
	b := builder{zeros: c.script.Zeros, taken: map[string]bool{}}
	for name := range r.Extra {
		b.taken[name] = true
	}
	for _, name := range r.Null {
		if b.taken[name] {
			return nil, fmt.Errorf("null: %s is in extra or null already", name)
		}
		b.taken[name] = true
	}
	b.text("event", r.Event, r.Event != "")
	b.text("url", c.url(r, e), r.URL != nil)
	if n := size(r, e); b.wanted("size", n == 0, r.Size != nil) {
		b.fields.Int("size", n)
	}
	b.text("content-type", contentType(r), r.ContentType != nil)
	b.text("content-encoding", contentEncoding(r), r.ContentEncoding != nil)
	b.text("schema-url", r.SchemaURL, r.SchemaURL != "")
	b.text("name", r.Name, r.Name != "")
	if b.wanted("metadata", len(r.Metadata) == 0, r.Metadata != nil) {
		b.fields.Strings("metadata", r.Metadata)
	}
	switch {
	case r.Data != nil:
		if b.wanted("data", false, true) {
			b.fields.String("data", *r.Data)
		}
	case r.By == byData || r.By == byBoth:
		if b.wanted("data", len(e.stored) == 0, true) {
			b.fields.Bytes("data", e.stored, !c.script.Unpadded)
		}
	default:
		b.text("data", "", false)
	}
	if b.err != nil {
		return nil, b.err
	}
	b.fields.JSON(r.Extra)
	if r.Filler > 0 {
		b.fields.String("x-filler", strings.Repeat("x", r.Filler))
	}
	b.fields.Null(r.Null)
	return b.fields, nil
}

// url is the url field: what the script says, else the memory root for an
// announcement, else the body's URL when the body travels that way.
func (c *composer) url(r Record, e entry) string {
	switch {
	case r.URL != nil:
		return *r.URL
	case r.Event == protocol.EventMemory:
		return c.at.Memory
	case r.Body == nil || r.By == byData:
		return ""
	}
	return c.at.Objects + e.path[1:]
}

func size(r Record, e entry) int64 {
	if r.Size != nil {
		return *r.Size
	}
	return int64(len(e.stored))
}

func contentEncoding(r Record) string {
	switch {
	case r.ContentEncoding != nil:
		return *r.ContentEncoding
	case r.Body != nil:
		return r.Body.Encoding
	}
	return ""
}

// builder collects the fields that section 4 knows.
type builder struct {
	zeros  bool
	taken  map[string]bool // fields that extra or null writes
	fields script.Fields
	err    error
}

// wanted reports whether a field is to be written. A field that extra or null
// writes is left to them. A value that the script sets besides would make a
// duplicate name, and is an error: what repeats a name is written as raw.
func (b *builder) wanted(name string, empty, set bool) bool {
	if b.taken[name] {
		if set && b.err == nil {
			b.err = fmt.Errorf("%s is set twice, once in extra or null; write the record as raw to repeat a name", name)
		}
		return false
	}
	return !empty || b.zeros
}

func (b *builder) text(name, value string, set bool) {
	if b.wanted(name, value == "", set) {
		b.fields.String(name, value)
	}
}
