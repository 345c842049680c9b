package fakeruntime

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"pugmark.dev/conform/protocol"
)

// Trace is the W3C trace context that an invocation carries (section 14). Its
// values are sent as they are; an empty one is not sent at all.
type Trace struct {
	Parent string
	State  string
}

// Variables returns what the subprocess transport tells a handler in its
// environment (sections 13 and 14): agent and session always, metadata only when
// there is some (R33), the trace context as far as it is there. A process in RPC
// mode learns these from its requests (R32) and is given none of them, unless a
// case says so with this function's help.
//
// Metadata is JSON in UTF-8 without needless escapes.
func Variables(id protocol.Identity, trace Trace) map[string]string {
	v := map[string]string{protocol.EnvAgent: id.Agent, protocol.EnvSession: id.Session}
	if len(id.Metadata) > 0 {
		v[protocol.EnvMetadata] = metadataJSON(id.Metadata)
	}
	if trace.Parent != "" {
		v[protocol.EnvTraceParent] = trace.Parent
	}
	if trace.State != "" {
		v[protocol.EnvTraceState] = trace.State
	}
	return v
}

// environment is base without what only an invocation may set, and then the
// variables of each set, later ones winning (F43).
func environment(base []string, sets ...map[string]string) (env []string, ours map[string]string) {
	ours = map[string]string{}
	for _, set := range sets {
		maps.Copy(ours, set)
	}
	for _, entry := range base {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := ours[name]; !replaced && !reserved(name) {
			env = append(env, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		env = append(env, name+"="+ours[name])
	}
	return env, ours
}

// reserved reports whether a variable belongs to an invocation. Letter case does
// not count, since some programs read their trace context from lower-case names.
func reserved(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "PUGMARK_") || name == protocol.EnvTraceParent || name == protocol.EnvTraceState
}

// query appends the three parameters of section 2.2 to what the URL has. A space
// is %20, which every decoder reads as one.
func query(raw string, id protocol.Identity) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	q := fmt.Sprintf("%s=%s&%s=%s&%s=%s",
		protocol.QueryAgent, escape(id.Agent), protocol.QuerySession, escape(id.Session),
		protocol.QuerySnapshot, strconv.FormatInt(id.Snapshot, 10))
	if raw == "" {
		return q
	}
	return raw + "&" + q
}

// header is the fields of the invocation request (sections 2.2 and 14), less
// those that the connection needs.
func header(id protocol.Identity, trace Trace) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	if len(id.Metadata) > 0 {
		h[protocol.HeaderMetadata] = []string{asciiJSON(metadataJSON(id.Metadata))}
	}
	if trace.Parent != "" {
		h["Traceparent"] = []string{trace.Parent}
	}
	if trace.State != "" {
		h["Tracestate"] = []string{trace.State}
	}
	return h
}

// metadataJSON is a JSON object of strings, keys in order.
func metadataJSON(m map[string]string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(m) // strings in a strings.Builder can't fail
	return strings.TrimSuffix(b.String(), "\n")
}

// asciiJSON is JSON text with escapes for all that is not ASCII, as a header
// needs it (R12, F21).
func asciiJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r >= 0x10000:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
