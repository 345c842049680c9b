package fakeruntime

import (
	"slices"

	"pugmark.dev/conform/script"
)

// Script is one invocation as a case describes it: what goes down the handler's
// input stream, byte for byte, and what the two servers answer.
type Script struct {
	script.Framing `yaml:",inline"`
	// Records is the stream, in order.
	Records []Record `yaml:"records"`
	// Hold keeps the input open after the last record until the handler has
	// ended, but no longer than this; then it is closed. On rpc and http the
	// request body always ends with its last record.
	Hold script.Duration `yaml:"hold,omitempty"`
	// Memory is the memory objects, by key (<namespace>/<object-name>).
	Memory map[string]Object `yaml:"memory,omitempty"`
	// MemoryRoot is the path of the memory server's root; /memories/ when empty.
	MemoryRoot string `yaml:"memory-root,omitempty"`
}

// HoldsAnswer reports whether an answer of a server is held back.
func (s Script) HoldsAnswer() bool {
	for _, o := range s.Memory {
		if o.Serve.Held {
			return true
		}
	}
	return slices.ContainsFunc(s.Records, func(r Record) bool { return r.Serve.Held })
}

// Record is one Input. A record without Raw is rendered by the stream's framing
// from the fields that are set here.
type Record struct {
	Event string `yaml:"event,omitempty"`
	Name  string `yaml:"name,omitempty"`
	// ContentType is text/plain for a text body, application/json for a JSON body
	// and application/octet-stream for others, when absent and there is a body.
	ContentType *string `yaml:"content-type,omitempty"`
	// ContentEncoding is the record's field; the body's encoding when absent, no
	// field when empty.
	ContentEncoding *string           `yaml:"content-encoding,omitempty"`
	SchemaURL       string            `yaml:"schema-url,omitempty"`
	Metadata        map[string]string `yaml:"metadata,omitempty"`
	// Size is the record's field; the stored length of the body when absent.
	Size *int64 `yaml:"size,omitempty"`
	// Body is what the entry holds; without it the record has neither url nor data.
	Body *script.Body `yaml:"body,omitempty"`
	// By says how the body travels: url (the default), data, or both.
	By string `yaml:"by,omitempty"`
	// Data is the raw text of the data field, in place of the body's base64; the
	// record then has a data field whatever By says.
	Data *string `yaml:"data,omitempty"`
	// URL is the url field, in place of the right one.
	URL *string `yaml:"url,omitempty"`
	// Serve is what the object server answers for this entry's URL.
	Serve script.Answer `yaml:"serve,omitempty"`
	// Instructions makes the record the entry conform/instructions with these
	// operations, always by url and without encoding.
	Instructions []Instruction `yaml:"instructions,omitempty"`
	// Extra is further fields, of any JSON type, after the others.
	Extra map[string]script.JSON `yaml:"extra,omitempty"`
	// Filler adds an unknown field x-filler of this many bytes, for long records.
	Filler int `yaml:"filler,omitempty"`
	// Null names fields that are written with the value null.
	Null []string `yaml:"null,omitempty"`
	// Raw is bytes in place of a record.
	Raw *string `yaml:"raw,omitempty"`
	// Times writes the record this many times; {n} in its name is the count from 1.
	Times int `yaml:"times,omitempty"`
	// Late is waited before the record is written, while the stream stays open.
	Late script.Duration `yaml:"late,omitempty"`
}

// Object is one memory object and how it is served.
type Object struct {
	Body        script.Body   `yaml:"body"`
	ContentType string        `yaml:"content-type,omitempty"`
	Serve       script.Answer `yaml:"serve,omitempty"`
}

// Instruction is one operation of the agreement with a handler subject; the JSON
// form is what the handler reads.
type Instruction struct {
	// Op is observe, write, write-remote, pause, sleep, load, memory, log or fail.
	Op     string      `yaml:"op" json:"op"`
	Text   *string     `yaml:"text,omitempty" json:"text,omitempty"`
	JSON   script.JSON `yaml:"json,omitempty" json:"json,omitempty"`
	Base64 *string     `yaml:"base64,omitempty" json:"base64,omitempty"`
	// Helper asks for the SDK's helper for this kind of value, where it has one beside
	// its general call.
	Helper          bool              `yaml:"helper,omitempty" json:"helper,omitempty"`
	Name            string            `yaml:"name,omitempty" json:"name,omitempty"`
	ContentType     string            `yaml:"content-type,omitempty" json:"content-type,omitempty"`
	ContentEncoding string            `yaml:"content-encoding,omitempty" json:"content-encoding,omitempty"`
	SchemaURL       string            `yaml:"schema-url,omitempty" json:"schema-url,omitempty"`
	Metadata        map[string]string `yaml:"metadata,omitempty" json:"metadata,omitempty"`
	Session         string            `yaml:"session,omitempty" json:"session,omitempty"`
	Fork            bool              `yaml:"fork,omitempty" json:"fork,omitempty"`
	URI             string            `yaml:"uri,omitempty" json:"uri,omitempty"`
	Reason          string            `yaml:"reason,omitempty" json:"reason,omitempty"`
	Seconds         *float64          `yaml:"seconds,omitempty" json:"seconds,omitempty"`
	// As is text, json or bytes, for load.
	As  string `yaml:"as,omitempty" json:"as,omitempty"`
	Key string `yaml:"key,omitempty" json:"key,omitempty"`
}
