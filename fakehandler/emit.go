package fakehandler

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/script"
)

// fields is the record in the order of section 5's schema. Nothing is refused: a
// script may say wrong things.
func (e *Emit) fields(framing script.Framing) (script.Fields, error) {
	var data string
	contentType, contentEncoding := value(e.ContentType), value(e.ContentEncoding)
	if e.Body != nil {
		stored, err := e.Body.Stored()
		if err != nil {
			return nil, err
		}
		data = base64Text(stored, framing.Unpadded)
		if e.ContentType == nil && !e.elsewhere("content-type") {
			contentType = e.Body.DefaultType()
		}
		if e.ContentEncoding == nil && !e.elsewhere("content-encoding") {
			contentEncoding = e.Body.Encoding
		}
	}
	if e.Data != nil {
		data = *e.Data
	}
	w := fieldWriter{zeros: framing.Zeros, elsewhere: e.elsewhere}
	w.text("uri", e.URI, false)
	w.text("data", data, e.Data != nil)
	w.text("content-type", contentType, false)
	w.text("content-encoding", contentEncoding, false)
	w.text("schema-url", e.SchemaURL, false)
	w.text("name", e.Name, false)
	if len(e.Metadata) > 0 || w.wants("metadata") {
		w.fields.Strings("metadata", e.Metadata)
	}
	if e.Fork || w.wants("fork") {
		w.fields = append(w.fields, script.Field{Name: "fork", Value: script.JSON(strconv.FormatBool(e.Fork))})
	}
	w.text("session", e.Session, false)
	w.fields.JSON(e.Extra)
	w.fields.Null(e.Null)
	return w.fields, nil
}

// elsewhere reports whether the script writes the field in another way, so that it
// has no default.
func (e *Emit) elsewhere(name string) bool {
	_, extra := e.Extra[name]
	return extra || slices.Contains(e.Null, name)
}

// numbered returns the record's i-th copy, counted from 1.
func (e *Emit) numbered(i int) *Emit {
	one := *e
	one.Name = strings.ReplaceAll(e.Name, "{n}", strconv.Itoa(i))
	return &one
}

// emit is the pause signal as an Output.
func (p *Pause) emit() *Emit {
	contentType := protocol.TypePause
	e := &Emit{Body: &script.Body{Text: &p.Reason}, ContentType: &contentType}
	if p.Duration != "" {
		e.Metadata = map[string]string{protocol.MetadataDuration: p.Duration}
	}
	return e
}

// fieldWriter leaves empty fields out unless they are to be written out.
type fieldWriter struct {
	fields    script.Fields
	zeros     bool
	elsewhere func(name string) bool
}

func (w *fieldWriter) wants(name string) bool { return w.zeros && !w.elsewhere(name) }

func (w *fieldWriter) text(name, text string, always bool) {
	if text != "" || always || w.wants(name) {
		w.fields.String(name, text)
	}
}

// base64Text is data as a data field holds it.
func base64Text(data []byte, unpadded bool) string {
	if unpadded {
		return base64.RawStdEncoding.EncodeToString(data)
	}
	return base64.StdEncoding.EncodeToString(data)
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// separator is what follows a record, the last one or another.
func separator(framing script.Framing, last bool) string {
	text := framing.Between
	if last {
		text = framing.After
	}
	if text == nil {
		return "\n"
	}
	return *text
}

// renderOutput lays one record out.
func renderOutput(e *Emit, framing script.Framing) ([]byte, error) {
	fields, err := e.fields(framing)
	if err != nil {
		return nil, fmt.Errorf("an Output: %w", err)
	}
	return fields.Render(framing.Style), nil
}
