package judge

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/transcript"
)

// checkFetches counts the requests that the servers saw.
func (h *handlerCase) checkFetches(want []casefile.FetchMatch) func(*invocation) outcome {
	return func(v *invocation) outcome {
		root := h.c.Handler.Input.MemoryRoot
		switch v.inv.Role {
		case roleControl:
			root = h.c.Handler.Control.Input.MemoryRoot
		case roleBeside:
			root = h.c.Handler.Beside.Input.MemoryRoot
		}
		for i, m := range want {
			if o := fetched(m, v, root); o.verdict != passed().verdict {
				o.where = v.where(fmt.Sprintf("requests to the servers, expectation %d", i+1))
				return o
			}
		}
		return passed()
	}
}

func fetched(m casefile.FetchMatch, v *invocation, root string) outcome {
	matches := func(q request) bool {
		return q.method == orElse(m.Method, "GET") &&
			(m.Entry == "" || q.stream == transcript.Objects && v.inv.Objects[q.path()] == m.Entry) &&
			(m.Memory == "" || q.stream == transcript.Memory && memoryKey(q.path(), root) == m.Memory) &&
			(m.Path == "" || samePath(q.path(), m.Path))
	}
	var found []request
	for _, q := range v.reqs {
		if matches(q) {
			found = append(found, q)
		}
	}
	least, most := 0, -1
	if m.AtLeast != nil {
		least = *m.AtLeast
	} else if m.AtMost == nil {
		least = 1
	}
	if m.AtMost != nil {
		most = *m.AtMost
	}
	what := fetchLabel(m)
	switch {
	case len(found) < least:
		return failed(finding{want: fmt.Sprintf("%s, %d times or more", what, least), got: fmt.Sprintf("%d such; all requests: %s", len(found), requestList(v.reqs))})
	case most >= 0 && len(found) > most:
		return failed(finding{want: fmt.Sprintf("%s, %d times at the most", what, most), got: fmt.Sprintf("%d such; all requests: %s", len(found), requestList(v.reqs))})
	}
	if !m.SameTrace {
		return passed()
	}
	if len(found) == 0 {
		return unseen(what+" with the trace context", "no such request")
	}
	return sameTrace(found, v.t)
}

// sameTrace wants the trace ID that the handler was given on each request; the
// span is the handler's own (R35).
func sameTrace(found []request, t *transcript.Transcript) outcome {
	given, _ := variable(t, protocol.EnvTraceParent)
	mine, err := protocol.ParseTraceParent(given)
	if err != nil {
		return unseen("a trace context to carry onward", "the handler was given none: "+err.Error())
	}
	for _, q := range found {
		value := header(q.header, protocol.HeaderTraceParent)
		theirs, err := protocol.ParseTraceParent(value)
		want := "traceparent with the trace ID " + hex.EncodeToString(mine.TraceID[:])
		switch {
		case value == "":
			return failed(finding{want: want, got: fmt.Sprintf("%s %s without traceparent", q.method, clip(q.target, 120))})
		case err != nil:
			return failed(finding{want: want, got: err.Error()})
		case theirs.TraceID != mine.TraceID:
			return failed(finding{want: want, got: fmt.Sprintf("%s on %s %s", quote(value), q.method, clip(q.target, 120))})
		}
	}
	return passed()
}

// memoryKey returns the key that a path on the memory server asks for: each
// segment is percent-encoded once (R31). It is empty when the path is not below
// the root, or its escapes are broken.
func memoryKey(path, root string) string {
	rest, ok := strings.CutPrefix(path, orElse(root, "/memories/"))
	if !ok {
		return ""
	}
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil {
			return ""
		}
		segments[i] = plain
	}
	return strings.Join(segments, "/")
}

// samePath reports whether two paths are the same segment by segment, once each is
// decoded: how a character that needs no escape is written makes no difference.
func samePath(got, want string) bool {
	a, b := strings.Split(got, "/"), strings.Split(want, "/")
	return slices.EqualFunc(a, b, func(x, y string) bool {
		x, errX := url.PathUnescape(x)
		y, errY := url.PathUnescape(y)
		return errX == nil && errY == nil && x == y
	})
}

func fetchLabel(m casefile.FetchMatch) string {
	words := orElse(m.Method, "GET")
	if m.Entry != "" {
		words += " of the entry " + quote(m.Entry)
	}
	if m.Memory != "" {
		words += " of the memory object " + quote(m.Memory)
	}
	if m.Path != "" {
		words += " of the path " + quote(m.Path)
	}
	return words
}

func requestList(reqs []request) string {
	if len(reqs) == 0 {
		return "none"
	}
	var list []string
	for i, q := range reqs {
		if i == 10 {
			list = append(list, fmt.Sprintf("and %d more", len(reqs)-i))
			break
		}
		answer := ""
		if q.answer != nil {
			answer = fmt.Sprintf(" (%d)", q.answer.HTTP.Status)
		}
		list = append(list, fmt.Sprintf("%s %s %s%s", q.stream, q.method, clip(q.target, 120), answer))
	}
	return strings.Join(list, ", ")
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
