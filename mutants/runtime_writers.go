package mutants

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/protocol"
)

// feeding makes a runtime that writes its Inputs in a layout.
func feeding(id, requirement, sentence string, l layout) Mutant {
	return Mutant{ID: "runtime/" + id, Requirement: requirement, Sentence: sentence, Runtime: wired(writesInputs{layout: l})}
}

// runtimeWriters write Inputs that section 3 forbids or advises against.
func runtimeWriters() []Mutant {
	return []Mutant{
		feeding("begins-with-a-byte-order-mark", "P3/no-bom",
			"The stream of Inputs begins with a byte-order mark.",
			layout{before: byteOrderMark, between: "\n", after: "\n"}),
		feeding("logs-on-the-stream", "P3/no-foreign-content",
			"The stream of Inputs begins with the line of a log.",
			layout{before: "INFO starting the handler\n", between: "\n", after: "\n"}),
		feeding("writes-an-array", "P3/single-object",
			"The Inputs stand in one array.",
			layout{before: "[", between: ",\n", after: "]\n"}),
		feeding("loses-the-closing-brace", "P3/single-object",
			"The last Input lacks its closing brace.",
			lined(func(_ int, raw []byte) []byte {
				if o, err := parse(raw); err == nil && o.isLifecycle() {
					return bytes.TrimSuffix(raw, []byte("}"))
				}
				return raw
			})),
		feeding("splits-records", "P3/never-split",
			"An Input with an inline body is two JSON objects, of which the second holds the body.",
			lined(split)),
		feeding("writes-latin-1", "P3/utf8",
			"Inputs are encoded in Latin-1.", lined(latin1)),
		feeding("leaves-records-unended", "P3/trailing-lf",
			"Nothing stands after a record.", layout{}),
		feeding("writes-empty-fields", "P3.2/omit-empty",
			"Every field of the schema is written, empty ones too.", lined(editing(zeros(inputFields())))),
		feeding("writes-nulls", "P3.2/omit-empty",
			"Fields without a value are written as null.", lined(editing(nulls(inputFields())))),
		feeding("writes-unknown-fields", "P17/closed-fields",
			"Inputs carry a field that version 1 does not have.", lined(editing(further))),
		feeding("tags-entries-as-replayed", "P17/closed-events",
			"Replayed entries have the event replay.", lined(editing(func(o object) object {
				if o.isEntry() {
					return o.with("event", jsontext.Value(`"replay"`))
				}
				return o
			}))),
		feeding("uses-the-url-safe-alphabet", "P3.1/standard-alphabet",
			"Inline bodies are written in the URL-safe alphabet of base64.", lined(editing(urlSafe))),
		feeding("breaks-base64-into-lines", "P3.1/no-line-breaks",
			"The base64 of inline bodies has line breaks.", lined(editing(func(o object) object {
				return dataAs(o, func(text string) string { return text[:len(text)/2] + "\n" + text[len(text)/2:] })
			}))),
		{
			ID: "runtime/drops-what-is-not-ascii", Requirement: "P3/utf8",
			Sentence: "Characters of names that are not ASCII are lost.",
			Runtime: taken(func(out protocol.Output) protocol.Output {
				var kept []byte
				for _, b := range []byte(out.Name) {
					if b < 0x80 {
						kept = append(kept, b)
					}
				}
				out.Name = string(kept)
				return out
			}),
		},
	}
}
