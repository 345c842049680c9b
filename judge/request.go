package judge

import (
	"bytes"
	"fmt"
	"mime"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// checkRequest compares the POST that carried an invocation (section 2.2).
func checkRequest(want casefile.RequestMatch, m *moment, v *feed) outcome {
	var e *transcript.Event
	for i := range v.t.Events {
		if x := &v.t.Events[i]; x.Kind == transcript.Request && x.Stream == transcript.Post && x.HTTP != nil {
			e = x
			break
		}
	}
	if e == nil {
		return unseen("the request of the invocation", "none in the evidence")
	}
	var c comparison
	if want.Method != "" {
		c.add("method", want.Method, e.HTTP.Method, want.Method == e.HTTP.Method)
	}
	path, query, _ := strings.Cut(e.HTTP.Target, "?")
	if want.Path != "" {
		c.add("path", want.Path, path, want.Path == path)
	}
	values, err := url.ParseQuery(query)
	for _, name := range sortedKeys(want.Query) {
		wanted, got := m.expand(want.Query[name]), values[name]
		equal := err == nil && (len(got) == 1 && got[0] == wanted || len(got) == 0 && wanted == "")
		c.add("query "+name, quote(wanted), orAbsent(strings.Join(got, ", ")), equal)
	}
	for _, name := range sortedKeys(want.Headers) {
		wanted, got := m.expand(want.Headers[name]), header(e.HTTP.Header, name)
		equal := wanted == got && (wanted != "" || !hasHeader(e.HTTP.Header, name))
		if strings.EqualFold(name, "Content-Type") && wanted != "" {
			kind, _, err := mime.ParseMediaType(got)
			equal = err == nil && kind == wanted
		}
		if got == "" && hasHeader(e.HTTP.Header, name) {
			got = "there, and empty"
		}
		c.add(name, orAbsent(wanted), orAbsent(got), equal)
	}
	if want.Length {
		compareLength(&c, v, header(e.HTTP.Header, "Content-Length"))
	}
	if want.Loopback {
		network, address, _ := strings.Cut(e.Text, " ")
		at, err := netip.ParseAddrPort(address)
		c.add("socket", "TCP on the IPv4 loopback", orAbsent(e.Text), network == "tcp" && err == nil && at.Addr().Is4() && at.Addr().IsLoopback())
	}
	if len(c.differs()) > 0 {
		return failed(c.finding("the request of the invocation"))
	}
	return passed()
}

// hasHeader reports whether the field is there, empty or not.
func hasHeader(h map[string][]string, name string) bool {
	for key := range h {
		if strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

// compareLength compares the announced length of the request with what came.
func compareLength(c *comparison, v *feed, got string) {
	raw, left := v.t.Inputs()
	n := int64(len(raw)) + left
	switch {
	case !v.complete && left == 0:
		c.add("Content-Length", "the length of a body that was read to its end", "a body that was not", false)
	case left == 0 && n > 0 && !bytes.HasSuffix(bytes.TrimRight(raw, " \t\r\n"), []byte("}")):
		// A server reads no further than the length says, so a short one looks right.
		c.add("Content-Length", "the length of whole records", orAbsent(got)+", at which a record is cut off", false)
	default:
		c.add("Content-Length", strconv.FormatInt(n, 10), orAbsent(got), got == strconv.FormatInt(n, 10))
	}
}

// checkSlept wants the invocation to have begun when the sleep was over (P10/sleep).
func checkSlept(session string, m *moment, v *feed) outcome {
	log, o := look[result.Log](m.logs, "log", session)
	if o != nil {
		return *o
	}
	text := ""
	for _, e := range log.Entries {
		if !isControl(e) {
			continue
		}
		if c := controlOf(e); c != nil && c.StartAt != "" {
			text = c.StartAt
		}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	began := v.t.Started
	f := finding{where: "the last invocation", want: "it begins at " + text + " or later", got: fmt.Sprintf("it began at %s", began.UTC().Format(time.RFC3339Nano))}
	switch {
	case err != nil:
		return failed(finding{where: "log of " + session, want: "a control message with a start-at", got: orAbsent(text)})
	case began.Add(clockSlack).Before(at):
		return failed(f)
	}
	return passed()
}

// controlOf is a control message, from its body where that is shown, since that is what
// section 9 speaks of, else from the entry's own field; nil when it is none.
func controlOf(e result.Entry) *result.Control {
	if len(e.Body) == 0 || e.ContentType != protocol.TypeControl {
		return e.Control
	}
	return readControl(e.Body)
}
