package mutants

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"

	"pugmark.dev/conform/protocol"
)

const (
	typeText  = "text/plain"
	typeJSON  = "application/json"
	typeBytes = "application/octet-stream"
)

// typed changes Outputs of one content type.
func typed(contentType string, change func(*protocol.Output)) func(protocol.Output) protocol.Output {
	return func(out protocol.Output) protocol.Output {
		if out.ContentType == contentType {
			change(&out)
		}
		return out
	}
}

// as gives Outputs of one content type another.
func as(contentType, other string) func(protocol.Output) protocol.Output {
	return typed(contentType, func(out *protocol.Output) { out.ContentType = other })
}

// handlerValues write values in another way than the page of an SDK says.
func handlerValues() []Mutant {
	return []Mutant{
		emitting("writes-texts-as-bytes", "K2/text", "A text is written as application/octet-stream.", as(typeText, typeBytes)),
		emitting("adds-a-charset", "K2/text", "A text is written as text/plain with a parameter.", as(typeText, typeText+"; charset=utf-8")),
		emitting("leaves-empty-texts-untyped", "K2/text", "An empty text is written without a content type.",
			typed(typeText, func(out *protocol.Output) {
				if len(out.Data) == 0 {
					out.ContentType = ""
				}
			})),
		emitting("knows-one-type-of-text", "K2/text", "Whatever type is named, a text is written as text/plain.",
			func(out protocol.Output) protocol.Output {
				if strings.HasPrefix(out.ContentType, "text/") {
					out.ContentType = typeText
				}
				return out
			}),
		emitting("writes-json-as-text-json", "K2/json", "JSON is written as text/json.", as(typeJSON, "text/json")),
		emitting("writes-json-texts-bare", "K2/json", "A text that is written by the call for JSON is written as text.",
			typed(typeJSON, func(out *protocol.Output) {
				var text string
				if json.Unmarshal(out.Data, &text) == nil {
					out.Data, out.ContentType = []byte(text), typeText
				}
			})),
		emitting("prints-numbers", "K2/json", "Numbers and truth values are written as text.",
			typed(typeJSON, func(out *protocol.Output) {
				if !strings.ContainsAny(string(out.Data[:min(1, len(out.Data))]), `{["`) {
					out.ContentType = typeText
				}
			})),
		emitting("knows-dictionaries-only", "K2/json", "A list is written as text.",
			typed(typeJSON, func(out *protocol.Output) {
				if strings.HasPrefix(string(out.Data), "[") {
					out.ContentType = typeText
				}
			})),
		emitting("knows-one-type-of-json", "K2/json", "Whatever type is named, JSON is written as application/json.",
			func(out protocol.Output) protocol.Output {
				if strings.HasSuffix(out.ContentType, "+json") && out.ContentType != protocol.TypeControl {
					out.ContentType = typeJSON
				}
				return out
			}),
		emitting("writes-bytes-as-base64-text", "K2/bytes", "Bytes are written as a text, which is their base64.",
			typed(typeBytes, func(out *protocol.Output) {
				out.Data, out.ContentType = []byte(base64.StdEncoding.EncodeToString(out.Data)), typeText
			})),
		emitting("decodes-bytes", "K2/bytes", "Bytes that are no UTF-8 become U+FFFD when they are written.",
			typed(typeBytes, func(out *protocol.Output) {
				out.Data = []byte(strings.ToValidUTF8(string(out.Data), "\uFFFD"))
			})),
		emitting("sniffs-types", "K2/bytes", "The type of an image is guessed from its bytes, whatever type is named.",
			func(out protocol.Output) protocol.Output {
				if strings.HasPrefix(out.ContentType, "image/") {
					out.ContentType = http.DetectContentType(out.Data)
				}
				return out
			}),
		emitting("takes-names-for-paths", "K2/name", "Of a name only what follows its last slash is written.",
			named(func(name string) string { return path.Base(name) })),
		emitting("escapes-names", "K2/name", "Names are percent-encoded.", named(url.PathEscape)),
		emitting("names-what-has-no-name", "K2/name", "An entry without a name is given one.",
			func(out protocol.Output) protocol.Output {
				if out.Name == "" && out.ContentType != protocol.TypePause {
					out.Name = "output"
				}
				return out
			}),
		emitting("escapes-storage-uris", "P3/single-object", "A uri is written with everything percent-encoded that is not ASCII.",
			func(out protocol.Output) protocol.Output {
				if u, err := url.Parse(out.URI); err == nil && out.URI != "" {
					out.URI = u.String()
				}
				return out
			}),
		emitting("takes-types-from-the-store", "P3/single-object", "What is said of a stored object's type and encoding is not written.",
			func(out protocol.Output) protocol.Output {
				if out.URI != "" {
					out.ContentType, out.ContentEncoding = "", ""
				}
				return out
			}),
		emitting("keeps-stored-objects-here", "P3/single-object", "An Output with a uri loses the session that it is for.",
			func(out protocol.Output) protocol.Output {
				if out.URI != "" {
					out.Session = ""
				}
				return out
			}),
	}
}

// named changes the names of Outputs that have one, memory keys aside.
func named(change func(string) string) func(protocol.Output) protocol.Output {
	return func(out protocol.Output) protocol.Output {
		if out.Name != "" && !strings.HasPrefix(out.Name, protocol.MemoryPrefix) {
			out.Name = change(out.Name)
		}
		return out
	}
}
