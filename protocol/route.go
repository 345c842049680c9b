package protocol

import "strings"

// IsPause reports whether a content type makes an Output a pause signal. It is
// compared exactly (reading R50).
func IsPause(contentType string) bool { return contentType == TypePause }

// IsControl reports whether a content type makes an entry a control message, which
// no handler may emit (section 9, reading R8). It is compared exactly (reading R50).
func IsControl(contentType string) bool { return contentType == TypeControl }

// RouteKind is where an Output goes.
type RouteKind int

// The routes of section 5.3, in their order of precedence.
const (
	// RouteNone is a record with every field empty: it goes nowhere (section 3).
	RouteNone RouteKind = iota
	// RoutePause is a pause or sleep signal (section 10).
	RoutePause
	// RouteMemory is a write to a memory namespace (section 8.4).
	RouteMemory
	// RouteFork begins a child session (section 11).
	RouteFork
	// RouteSession is a write to another session (section 12).
	RouteSession
	// RouteLocal is an entry of the session's own log.
	RouteLocal
)

// String names the route in the protocol's words.
func (k RouteKind) String() string {
	switch k {
	case RouteNone:
		return "none"
	case RoutePause:
		return "pause"
	case RouteMemory:
		return "memory"
	case RouteFork:
		return "fork"
	case RouteSession:
		return "session"
	case RouteLocal:
		return "local"
	}
	return "unknown"
}

// Route is where an Output goes, and what the way there needs.
type Route struct {
	Kind RouteKind
	// Sleep says of a pause that it asks for a duration.
	Sleep bool
	// Duration is that duration as it was sent; see [ParseDuration] and reading R7.
	Duration string
	// Namespace and Object name what a memory write replaces. They are as sent:
	// whoever stores them refuses segments that are empty, "." or "..".
	Namespace, Object string
	// Session is the ID that a fork chose for the child, or empty for a fresh
	// one; of a cross-session write, the target. It is as sent: [ValidSessionID]
	// was not asked.
	Session string
}

// Route says where the Output goes when the session with the ID current emits it,
// by the precedence of section 5.3 (reading R9). A write to the own session is
// local (P12/self). A control message routes like any other content type: ask
// [IsControl] first.
func (out Output) Route(current string) Route {
	if out.IsZero() {
		return Route{Kind: RouteNone}
	}
	if IsPause(out.ContentType) {
		duration, sleep := out.Metadata[MetadataDuration]
		return Route{Kind: RoutePause, Sleep: sleep, Duration: duration}
	}
	if namespace, object, ok := SplitMemoryName(out.Name); ok {
		return Route{Kind: RouteMemory, Namespace: namespace, Object: object}
	}
	switch {
	case out.Fork:
		return Route{Kind: RouteFork, Session: out.Session}
	case out.Session != "" && out.Session != current:
		return Route{Kind: RouteSession, Session: out.Session}
	}
	return Route{Kind: RouteLocal}
}

// SplitMemoryName splits a name of the form memories/<namespace>/<object-name> at
// its last slash, since a namespace may have slashes and an object name has none
// (sections 8.2 and 8.4, reading R15). A name with one segment only, which has no
// slash after the prefix, is no memory write (section 5.3, reading R10). With the
// slash it is one, also if either part is empty: that is for whoever stores it to
// refuse.
func SplitMemoryName(name string) (namespace, object string, ok bool) {
	key, found := strings.CutPrefix(name, MemoryPrefix)
	at := strings.LastIndexByte(key, '/')
	if !found || at < 0 {
		return "", "", false
	}
	return key[:at], key[at+1:], true
}
