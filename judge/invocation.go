package judge

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// The names of the answers of the agreement with a handler subject.
const (
	nameInstructions = "conform/instructions"
	nameObserved     = "conform/observed"
	nameLoaded       = "conform/loaded"
	nameMemory       = "conform/memory"
	nameUnsupported  = "conform/unsupported"
	answerPrefix     = "conform/"
)

// request is a request to one of the two servers of section 7, with its answer.
type request struct {
	stream string // transcript.Objects or Memory
	method string
	target string
	header map[string][]string
	answer *transcript.Event
}

// path is the target without its query, as sent.
func (r request) path() string {
	path, _, _ := strings.Cut(r.target, "?")
	return path
}

// invocation is one invocation of a handler under test, taken apart.
type invocation struct {
	name    string // how findings call it: empty when the case has just one
	inv     *result.Invocation
	t       *transcript.Transcript
	ended   *transcript.Ended
	stream  *stream
	outputs []*record // without no-ops and answers of the agreement
	answers []*record // the answers of the agreement, in order
	// stderr is what the handler wrote there from its head on, and stderrEnd the end of
	// what it wrote when that is another part; missing counts what stands between.
	stderr, stderrEnd []byte
	missing           int64
	left              int64 // bytes of the output stream that were not recorded
	reqs              []request
	// proven: the handler is known to have been at work, by what it did in this
	// invocation or by the control. Nothing passes without.
	proven bool
}

// view takes an invocation apart.
func view(inv *result.Invocation, name string) *invocation {
	t := &inv.Transcript
	v := &invocation{name: name, inv: inv, t: t, ended: t.Ended()}
	raw, left := t.Outputs()
	v.left = left
	v.stderr, _ = t.Stream(transcript.Stderr)
	v.stderrEnd, v.missing = t.Tail(transcript.Stderr), t.Missing(transcript.Stderr)
	// A handler that died may leave half a record. The body of an answer with
	// another status than 200 is no stream of records at all.
	success := v.ended != nil && v.ended.Success()
	if v.ended != nil && v.ended.How == transcript.HowAnswer && !success {
		raw = nil
	}
	v.stream = split(raw, outputs, !success || left > 0)
	for i := range v.stream.records {
		r := &v.stream.records[i]
		switch {
		case strings.HasPrefix(r.str("name"), answerPrefix):
			v.answers = append(v.answers, r)
		case !r.isNoOp(outputs):
			v.outputs = append(v.outputs, r)
		}
	}
	v.reqs = requests(t)
	v.proven = len(v.outputs) > 0 || len(v.answers) > 0 || len(v.reqs) > 0
	return v
}

// requests lists the requests to the servers of section 7 in order.
func requests(t *transcript.Transcript) (list []request) {
	for i := range t.Events {
		e := &t.Events[i]
		if e.HTTP == nil || e.Stream != transcript.Objects && e.Stream != transcript.Memory {
			continue
		}
		switch e.Kind {
		case transcript.Request:
			list = append(list, request{stream: e.Stream, method: e.HTTP.Method, target: targetPath(e.HTTP.Target), header: e.HTTP.Header})
		case transcript.Response:
			// Exchanges are numbered over the whole transcript.
			for k := i - 1; k >= 0; k-- {
				q := &t.Events[k]
				if q.Kind == transcript.Request && q.HTTP != nil && q.HTTP.Exchange == e.HTTP.Exchange {
					list[requestsBefore(t, k)].answer = e
					break
				}
			}
		}
	}
	return list
}

// requestsBefore counts the requests to the servers before event k.
func requestsBefore(t *transcript.Transcript, k int) (n int) {
	for _, e := range t.Events[:k] {
		if e.Kind == transcript.Request && e.HTTP != nil && (e.Stream == transcript.Objects || e.Stream == transcript.Memory) {
			n++
		}
	}
	return n
}

// targetPath brings an absolute request target to its path and query.
func targetPath(target string) string {
	if strings.HasPrefix(target, "/") {
		return target
	}
	if u, err := url.Parse(target); err == nil {
		return u.RequestURI()
	}
	return target
}

// noted reports whether the recording side noted this text.
func (v *invocation) noted(text string) bool {
	return slices.ContainsFunc(v.t.Events, func(e transcript.Event) bool { return e.Kind == transcript.Note && e.Text == text })
}

// output names the output stream in findings.
func (v *invocation) output() string {
	if v.t.Transport == protocol.TransportSubprocess {
		return "stdout"
	}
	return "answer"
}

// where prefixes a place with the invocation it is in.
func (v *invocation) where(place string) string {
	switch {
	case v.name == "":
		return place
	case place == "":
		return v.name
	}
	return v.name + ", " + place
}

// end tells how the invocation ended, in words.
func (v *invocation) end() string {
	e := v.ended
	if e == nil {
		return "has no recorded end"
	}
	words := ""
	switch e.How {
	case transcript.HowExit:
		words = fmt.Sprintf("exited with status %d", e.Code)
	case transcript.HowAnswer:
		words = fmt.Sprintf("answered with HTTP status %d", e.Code)
	case transcript.HowSignal:
		words = fmt.Sprintf("killed by signal %d", e.Signal)
		if e.Name != "" {
			words += " (" + e.Name + ")"
		}
	case transcript.HowCut:
		words = "its HTTP response broke off"
	case transcript.HowNoAnswer:
		words = "gave no HTTP response"
	case transcript.HowHang:
		words = "still running when its time was up"
	case transcript.HowFlood:
		words = "wrote more than a handler may"
	case transcript.HowCancelled:
		words = "ended with the run"
	case transcript.HowNotStarted:
		words = "could not be started"
	default:
		words = "ended in an unknown way, " + quote(e.How)
	}
	if e.Detail != "" {
		words += ": " + e.Detail
	}
	if e.Group > 0 {
		words += fmt.Sprintf("; left behind in its group: %s", count(e.Group, "process"))
	}
	return words
}

// endWithStderr adds the end of the diagnostics, for findings about something
// that did not come.
func (v *invocation) endWithStderr() string {
	words := v.end()
	if n := len(v.stream.records); n == 0 {
		words += ", and wrote no Output"
	} else {
		words += fmt.Sprintf(", and wrote %s: %s", count(n, "Output"), v.names())
	}
	return words + v.stderrTells()
}

// names lists the names of the Outputs.
func (v *invocation) names() string {
	var names []string
	for i := range v.stream.records {
		if i == 8 {
			names = append(names, "...")
			break
		}
		names = append(names, v.stream.records[i].shown("name"))
	}
	return strings.Join(names, ", ")
}

// answer returns the answers of that name, in order.
func (v *invocation) answer(name string) (list []*record) {
	for _, r := range v.answers {
		if r.str("name") == name {
			list = append(list, r)
		}
	}
	return list
}

// variable returns what the handler was given under the name of a variable of
// section 13: on rpc and http what the request says, which rules (R32).
func variable(t *transcript.Transcript, name string) (string, bool) {
	if t.Transport != protocol.TransportSubprocess {
		for _, e := range t.Events {
			if e.Kind == transcript.Request && e.Stream == transcript.Post && e.HTTP != nil {
				if value, known := fromRequest(e.HTTP, name); known {
					return value, value != ""
				}
			}
		}
	}
	for _, e := range t.Events {
		if e.Kind == transcript.Environment {
			if value, ok := e.Variables[name]; ok {
				return value, true
			}
		}
	}
	return "", false
}

func fromRequest(h *transcript.HTTP, name string) (value string, known bool) {
	query := func(key string) (string, bool) {
		_, q, _ := strings.Cut(h.Target, "?")
		values, _ := url.ParseQuery(q)
		return values.Get(key), true
	}
	switch name {
	case protocol.EnvAgent:
		return query(protocol.QueryAgent)
	case protocol.EnvSession:
		return query(protocol.QuerySession)
	case protocol.EnvMetadata:
		return header(h.Header, protocol.HeaderMetadata), true
	case protocol.EnvTraceParent:
		return header(h.Header, protocol.HeaderTraceParent), true
	case protocol.EnvTraceState:
		return header(h.Header, protocol.HeaderTraceState), true
	}
	return "", false
}

// header returns a field of an HTTP head, whatever the letter case of its name.
func header(h map[string][]string, name string) string {
	var all []string
	for _, key := range sortedKeys(h) {
		if strings.EqualFold(key, name) {
			all = append(all, h[key]...)
		}
	}
	return strings.Join(all, ",")
}
