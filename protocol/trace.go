package protocol

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// The header fields of the trace context over HTTP (section 14).
const (
	HeaderTraceParent = "traceparent"
	HeaderTraceState  = "tracestate"
)

// FlagSampled is the flag of a trace parent whose caller records the trace.
const FlagSampled byte = 0x01

// TraceContext is the W3C trace context as it travels (section 14). An empty field
// does not travel.
type TraceContext struct {
	TraceParent string
	TraceState  string
}

// TraceContextFromEnviron reads the two variables of the subprocess transport, as
// they are, with a function such as os.Getenv.
func TraceContextFromEnviron(getenv func(string) string) TraceContext {
	return TraceContext{TraceParent: getenv(EnvTraceParent), TraceState: getenv(EnvTraceState)}
}

// TraceContextFromHeader reads the two fields of an HTTP request, as they are.
// Several tracestate lines are one list; several traceparent lines are joined the
// same way, which makes them invalid, as the W3C text wants it.
func TraceContextFromHeader(h http.Header) TraceContext {
	return TraceContext{
		TraceParent: strings.Join(h.Values(HeaderTraceParent), ","),
		TraceState:  strings.Join(h.Values(HeaderTraceState), ","),
	}
}

// Valid returns what of the context may be passed on: nothing without a valid
// trace parent, and no invalid trace state (reading R53).
func (c TraceContext) Valid() TraceContext {
	if _, err := ParseTraceParent(c.TraceParent); err != nil {
		return TraceContext{}
	}
	if !ValidTraceState(c.TraceState) {
		c.TraceState = ""
	}
	return c
}

// Environ returns the variables for a child's environment. Stale ones must be
// taken out first, as [CleanEnviron] does.
func (c TraceContext) Environ() []string {
	var env []string
	if c.TraceParent != "" {
		env = append(env, EnvTraceParent+"="+c.TraceParent)
	}
	if c.TraceState != "" {
		env = append(env, EnvTraceState+"="+c.TraceState)
	}
	return env
}

// SetHeader sets the two fields, and takes out those that do not travel.
func (c TraceContext) SetHeader(h http.Header) {
	for name, value := range map[string]string{HeaderTraceParent: c.TraceParent, HeaderTraceState: c.TraceState} {
		h.Del(name)
		if value != "" {
			h.Set(name, value)
		}
	}
}

// TraceParent is what a traceparent value says.
type TraceParent struct {
	// Version is 0 for the format of today; 0xff is invalid.
	Version byte
	// TraceID is not all zero. For an invocation it is the session ID (P14.1/session-trace-id).
	TraceID [16]byte
	// SpanID is the caller's span, not all zero.
	SpanID [8]byte
	// Flags has [FlagSampled]; the other bits of version 0 mean nothing.
	Flags byte
}

// String gives the value in the format of version 0, whatever the version.
func (p TraceParent) String() string { return FormatTraceParent(p.TraceID, p.SpanID, p.Flags) }

// FormatTraceParent gives a traceparent value of version 0. It is valid when
// neither ID is all zero.
func FormatTraceParent(traceID [16]byte, spanID [8]byte, flags byte) string {
	return fmt.Sprintf("00-%x-%x-%02x", traceID, spanID, flags)
}

// traceParentLength is the length of version 0 in bytes, and the least of any.
const traceParentLength = 55

// ParseTraceParent reads a traceparent value, strictly by W3C Trace Context:
// lower-case hex digits, no ID all zero, version ff refused, and nothing after the
// flags in version 0. A later version may go on after a further dash.
func ParseTraceParent(text string) (TraceParent, error) {
	var p TraceParent
	fail := func(why string) (TraceParent, error) {
		return TraceParent{}, fmt.Errorf("traceparent %.80q: %s", text, why)
	}
	if len(text) < traceParentLength {
		return fail(fmt.Sprintf("%d bytes long, want %d", len(text), traceParentLength))
	}
	if text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return fail("want dashes at bytes 2, 35 and 52")
	}
	version, flags := make([]byte, 1), make([]byte, 1)
	switch {
	case !decodeLowerHex(version, text[0:2]):
		return fail("version: want 2 lower-case hex digits")
	case version[0] == 0xff:
		return fail("version ff is invalid")
	case version[0] == 0 && len(text) > traceParentLength:
		return fail("text after the flags of version 00")
	case len(text) > traceParentLength && text[traceParentLength] != '-':
		return fail("text after the flags without a dash")
	case !decodeLowerHex(p.TraceID[:], text[3:35]):
		return fail("trace ID: want 32 lower-case hex digits")
	case p.TraceID == [16]byte{}:
		return fail("trace ID is all zero")
	case !decodeLowerHex(p.SpanID[:], text[36:52]):
		return fail("span ID: want 16 lower-case hex digits")
	case p.SpanID == [8]byte{}:
		return fail("span ID is all zero")
	case !decodeLowerHex(flags, text[53:55]):
		return fail("flags: want 2 lower-case hex digits")
	}
	p.Version, p.Flags = version[0], flags[0]
	return p, nil
}

// decodeLowerHex fills dst from exactly as many lower-case hex digits.
func decodeLowerHex(dst []byte, text string) bool {
	if len(text) != 2*len(dst) || !isLowerHex(text) {
		return false
	}
	_, err := hex.Decode(dst, []byte(text))
	return err == nil
}

// isLowerHex reports whether text has nothing but lower-case hex digits.
func isLowerHex(text string) bool {
	return strings.Trim(text, "0123456789abcdef") == ""
}

// ValidTraceState reports whether text is a tracestate list by W3C Trace Context:
// at most 32 members, each a key and a value in their alphabets and lengths, no key
// twice, spaces and tabs around commas, empty members allowed. Keys are taken as the
// second level of that text writes them, which takes all keys of the first.
func ValidTraceState(text string) bool {
	seen := make(map[string]bool)
	for member := range strings.SplitSeq(text, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue
		}
		key, value, found := strings.Cut(member, "=")
		if !found || !validTraceKey(key) || !validTraceValue(value) || seen[key] {
			return false
		}
		seen[key] = true
	}
	return len(seen) <= 32
}

func validTraceKey(key string) bool {
	if len(key) == 0 || len(key) > 256 || strings.Contains("_-*/@", key[:1]) {
		return false
	}
	return strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_-*/@") == ""
}

// validTraceValue takes printable ASCII but comma and equals sign; the space at its
// end that the grammar forbids was trimmed from the member.
func validTraceValue(value string) bool {
	for _, c := range []byte(value) {
		if c < 0x20 || c > 0x7e || c == '=' {
			return false
		}
	}
	return len(value) > 0 && len(value) <= 256
}
