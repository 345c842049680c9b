package fakeruntime

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"pugmark.dev/conform/script"
)

// object is a body as a server of section 7 gives it when nothing is wrong.
type object struct {
	body     []byte
	kind     string
	encoding string
}

// reply is one prepared answer: the object, changed as the script wants.
type reply struct {
	status  int
	header  http.Header
	body    []byte
	send    int  // how much of body is sent before the connection is closed
	cut     bool // the connection is closed after send bytes
	chunked bool
	delay   time.Duration
	held    bool
}

// isRight reports whether an answer of a script changes nothing.
func isRight(a script.Answer) bool { return reflect.DeepEqual(a, script.Answer{}) }

// memoryReply prepares the answer for a memory object.
func memoryReply(key string, m Object) (reply, error) {
	segments := strings.Split(key, "/")
	if len(segments) < 2 {
		return reply{}, fmt.Errorf("a key is <namespace>/<object-name>")
	}
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return reply{}, fmt.Errorf("no URL can carry a key with the segment %q", s)
		}
	}
	stored, err := m.Body.Stored()
	if err != nil {
		return reply{}, fmt.Errorf("body: %w", err)
	}
	kind := m.ContentType
	if kind == "" {
		kind = m.Body.DefaultType()
	}
	answer, err := newReply(object{body: stored, kind: kind, encoding: m.Body.Encoding}, m.Serve)
	if err != nil {
		return reply{}, fmt.Errorf("serve: %w", err)
	}
	return answer, nil
}

// newReply prepares the answer to a request for o. The right one is 200 with
// Content-Type, Content-Encoding when there is one, and the Content-Length of
// the bytes on the wire (P7/success-response, F26).
func newReply(o object, a script.Answer) (reply, error) {
	if a.Missing {
		if other := (script.Answer{Missing: true, Delay: a.Delay}); !reflect.DeepEqual(a, other) {
			return reply{}, fmt.Errorf("missing goes with delay alone")
		}
		r := notFound()
		r.delay = time.Duration(a.Delay)
		return r, nil
	}
	if a.Body != nil {
		stored, err := a.Body.Stored()
		if err != nil {
			return reply{}, fmt.Errorf("body: %w", err)
		}
		o.body, o.encoding = stored, a.Body.Encoding
	}
	r := reply{status: http.StatusOK, header: http.Header{}, body: o.body, chunked: a.Chunked, delay: time.Duration(a.Delay), held: a.Held}
	if a.Status != 0 {
		if a.Status < 200 || a.Status > 599 {
			return reply{}, fmt.Errorf("status: %d is no final answer", a.Status)
		}
		r.status = a.Status
	}
	if o.kind == "" {
		o.kind = "application/octet-stream" // section 7 demands a type
	}
	r.header.Set("Content-Type", o.kind)
	if o.encoding != "" {
		r.header.Set("Content-Encoding", o.encoding)
	}
	switch {
	case !r.bodied():
		r.body = nil // HTTP has no body with these
	case r.chunked:
		r.header.Set("Transfer-Encoding", "chunked")
	default:
		r.header.Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	for name, value := range a.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n\x00") {
			return reply{}, fmt.Errorf("headers: %q: %q is no header field", name, value)
		}
		r.header.Del(name)
		switch field := textproto.CanonicalMIMEHeaderKey(name); field {
		case "Content-Length", "Transfer-Encoding", "Connection", "Date":
			name = field // which the server looks at itself
		}
		if value != "" {
			r.header[name] = []string{value} // in the case's letter case: to HTTP all are the same
		}
	}
	r.send = len(r.body)
	if a.Drop {
		r.send, r.cut = len(r.body), true
	}
	if a.Truncate != nil {
		if *a.Truncate < 0 || *a.Truncate > len(r.body) {
			return reply{}, fmt.Errorf("truncate: the body has %d bytes, not %d", len(r.body), *a.Truncate)
		}
		r.send, r.cut = *a.Truncate, true
	}
	return r, nil
}

// notFound is the answer for an unknown key (P7/unknown-404).
func notFound() reply { return plain(http.StatusNotFound, "unknown key\n") }

// plain is an answer of the server itself.
func plain(status int, text string) reply {
	return reply{
		status: status, body: []byte(text), send: len(text),
		header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Content-Length": {strconv.Itoa(len(text))}},
	}
}

// bodied reports whether HTTP allows a body with the status.
func (r reply) bodied() bool {
	return r.status != http.StatusNoContent && r.status != http.StatusNotModified
}

// head renders the status line and the header as they go over the wire.
func (r reply) head() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", r.status, http.StatusText(r.status))
	names := make([]string, 0, len(r.header))
	for name := range r.header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range r.header[name] {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// write sends head and body and returns how many bytes of the body went out. A
// chunked body goes in three chunks, so that a reader that takes one chunk for
// the whole is caught; a cut one lacks its last chunk.
func (r reply) write(w io.Writer) (int64, error) {
	if _, err := w.Write(r.head()); err != nil {
		return 0, err
	}
	body := r.body[:r.send]
	if len(body) == 0 && !r.chunked {
		return 0, nil // not even an empty write: the peer has it all and may be gone
	}
	if !r.chunked {
		n, err := w.Write(body)
		return int64(n), err
	}
	var sent int64
	for part := max((len(body)+2)/3, 1); len(body) > 0; {
		chunk := body[:min(part, len(body))]
		body = body[len(chunk):]
		if _, err := fmt.Fprintf(w, "%x\r\n%s\r\n", len(chunk), chunk); err != nil {
			return sent, err
		}
		sent += int64(len(chunk))
	}
	if r.cut {
		return sent, nil
	}
	_, err := io.WriteString(w, "0\r\n\r\n")
	return sent, err
}
