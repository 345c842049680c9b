package mutants

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// handlerWriters write Outputs that section 3 forbids or advises against.
func handlerWriters() []Mutant {
	writing := func(id, requirement, sentence string, l layout) Mutant {
		return Mutant{
			ID: "handler/" + id, Requirement: requirement, Sentence: sentence,
			Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Output: writes(l)} },
		}
	}
	return []Mutant{
		writing("begins-with-a-byte-order-mark", "P3/no-bom",
			"Every stream of Outputs begins with a byte-order mark.",
			layout{before: byteOrderMark, between: "\n", after: "\n"}),
		writing("marks-what-users-write", "P3/no-bom",
			"A byte-order mark stands before each Output that user code writes.",
			lined(own(func(_ int, raw []byte) []byte { return append([]byte(byteOrderMark), raw...) }))),
		writing("greets-on-the-stream", "P3/no-foreign-content",
			"Every stream of Outputs begins with the line of a greeting.",
			layout{before: "handler v1 ready\n", between: "\n", after: "\n"}),
		writing("comments-what-users-write", "P3/no-foreign-content",
			"A comment stands before each Output that user code writes.",
			lined(own(func(_ int, raw []byte) []byte { return append([]byte("// written by user code\n"), raw...) }))),
		writing("puts-records-in-arrays", "P3/single-object",
			"Each Output that user code writes stands in an array of its own.",
			lined(own(func(_ int, raw []byte) []byte { return append(append([]byte{'['}, raw...), ']') }))),
		writing("loses-the-closing-brace", "P3/single-object",
			"Outputs that user code writes lack their closing brace.",
			lined(own(func(_ int, raw []byte) []byte { return bytes.TrimSuffix(raw, []byte("}")) }))),
		writing("splits-records", "P3/never-split",
			"An Output that user code writes is two JSON objects, of which the second holds the body.",
			lined(own(split))),
		writing("writes-latin-1", "P3/utf8",
			"Outputs that user code writes are encoded in Latin-1.",
			lined(own(latin1))),
		writing("uses-the-url-safe-alphabet", "P3.1/standard-alphabet",
			"Bodies are written in the URL-safe alphabet of base64.",
			lined(own(editing(urlSafe)))),
		writing("breaks-base64-into-lines", "P3.1/no-line-breaks",
			"Base64 has a line break after every 76 characters.",
			lined(own(editing(func(o object) object { return dataAs(o, inLines) })))),
		writing("leaves-records-unended", "P3/trailing-lf",
			"Nothing stands after a record.",
			layout{}),
		writing("writes-empty-fields", "P3.2/omit-empty",
			"Every field of the schema is written, empty ones too.",
			lined(editing(zeros(outputFields())))),
		writing("writes-unknown-fields", "P17/closed-fields",
			"Outputs carry a field that version 1 does not have.",
			lined(editing(further))),
		writing("has-a-pause-type-of-its-own", "P17/closed-content-types",
			"A pause has the content type text/x-pause.",
			lined(editing(func(o object) object {
				if o.text("content-type") != protocol.TypePause {
					return o
				}
				return o.with("content-type", quoted("text/x-pause"))
			}))),
		{
			ID: "handler/stamps-what-users-write", Requirement: "P1/deterministic",
			Sentence: "Each Output that user code writes carries a number that no other has.",
			Handler: func() fakehandler.Agreement {
				serial := serials()
				return fakehandler.Agreement{Output: writes(lined(own(editing(func(o object) object {
					if o.value("metadata") != nil {
						return o
					}
					return o.with("metadata", []byte(fmt.Sprintf(`{"serial":"%s"}`, serial())))
				}))))}
			},
		},
		{
			ID: "handler/logs-on-the-stream", Requirement: "P3/no-foreign-content",
			Sentence: "Diagnostics go where the Outputs go.",
			Handler:  logsOnTheStream,
		},
		{
			ID: "handler/logs-nowhere", Requirement: "P2.1/stderr-logs",
			Sentence: "Diagnostics are thrown away.",
			Handler:  func() fakehandler.Agreement { return fakehandler.Agreement{Diagnostics: io.Discard} },
		},
	}
}

const byteOrderMark = "\uFEFF"

// split writes the body as a record of its own.
func split(_ int, raw []byte) []byte {
	o, err := parse(raw)
	if err != nil || o.value("data") == nil {
		return raw
	}
	body := object{{"data", o.value("data")}}
	return append(append(o.without("data").bytes(), '\n'), body.bytes()...)
}

// latin1 encodes characters up to U+00FF in one byte, and others as question marks.
func latin1(_ int, raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for _, r := range string(raw) {
		if r > 0xff {
			r = '?'
		}
		out = append(out, byte(r))
	}
	return out
}

// dataAs rewrites the base64 of a record's body.
func dataAs(o object, rewrite func(string) string) object {
	if o.value("data") == nil {
		return o
	}
	return o.with("data", quoted(rewrite(o.text("data"))))
}

func urlSafe(o object) object {
	return dataAs(o, func(text string) string { return strings.NewReplacer("+", "-", "/", "_").Replace(text) })
}

func inLines(text string) string {
	var b strings.Builder
	for len(text) > 76 {
		b.WriteString(text[:76] + "\n")
		text = text[76:]
	}
	return b.String() + text
}

// serials gives numbers that differ between invocations, in one process and in
// several.
func serials() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("%x-%d", randomBytes(8), n.Add(1)) }
}

// logsOnTheStream keeps diagnostics until the next Output, before which they go.
func logsOnTheStream() fakehandler.Agreement {
	held := &heldLog{}
	return fakehandler.Agreement{
		Diagnostics: held,
		Output: writes(lined(own(func(_ int, raw []byte) []byte {
			return append(held.take(), raw...)
		}))),
	}
}

// heldLog is diagnostics that were not passed on yet.
type heldLog struct {
	mu   sync.Mutex
	text []byte
}

func (h *heldLog) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p...)
	return len(p), nil
}

func (h *heldLog) take() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := h.text
	h.text = nil
	return text
}
