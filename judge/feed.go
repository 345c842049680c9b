package judge

import (
	"fmt"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// faultNote begins the text of the note by which the scripted handler says that
// its script is at fault, and not the runtime.
const faultNote = "script fault: "

// feed is what one invocation's handler was fed by a runtime under test.
type feed struct {
	t      *transcript.Transcript
	name   string // of the input stream
	stream *stream
	// complete: the handler read to the end of its input, so that what is missing
	// is missing.
	complete bool
	// closed: the end of the input was seen.
	closed bool
	// missing is how many bytes of the input, and of the answers to what the script
	// fetched, were not recorded with what they belong to.
	missing int64
	fault   string
	reqs    []request
	bodies  map[int][]byte // of the answers, by exchange
}

// newFeed takes the transcript of a scripted handler apart.
func newFeed(inv *result.Invocation) *feed {
	t := &inv.Transcript
	v := &feed{t: t, name: transcript.Stdin, bodies: map[int][]byte{}}
	if t.Transport != protocol.TransportSubprocess {
		v.name = transcript.Post
	}
	for _, e := range t.Events {
		switch {
		case e.Kind == transcript.Closed && e.Stream == v.name && e.Text == "by the peer":
			v.closed = true
		case e.Kind == transcript.Left && (e.Stream == transcript.Objects || e.Stream == transcript.Memory):
			v.missing += e.Count
		case e.Kind == transcript.Note && strings.HasPrefix(e.Text, faultNote):
			v.fault = strings.TrimPrefix(e.Text, faultNote)
		case (e.Stream == transcript.Objects || e.Stream == transcript.Memory) && e.HTTP != nil && len(e.Data) > 0:
			v.bodies[e.HTTP.Exchange] = append(v.bodies[e.HTTP.Exchange], e.Data...)
		}
	}
	raw, left := t.Inputs()
	v.missing += left
	v.complete = v.closed && left == 0
	v.stream = split(raw, inputs, !v.complete)
	v.reqs = requests(t)
	return v
}

// last returns the last record, when the stream was read to its end.
func (v *feed) last() *record {
	if n := len(v.stream.records); v.complete && n > 0 {
		return &v.stream.records[n-1]
	}
	return nil
}

// isBare reports whether a record has no field but its event.
func isBare(r *record) bool {
	for _, f := range r.fields {
		if f.name != "event" && inputs.knows(f.name) && !isZero(f.raw) {
			return false
		}
	}
	return true
}

// isLifecycle reports whether a record can be the lifecycle event: start, fork or
// wake, or bare with no event (R1).
func isLifecycle(r *record) bool {
	f, ok := r.get("event")
	if ok && !isZero(f.raw) {
		switch r.str("event") {
		case protocol.EventStart, protocol.EventFork, protocol.EventWake:
			return true
		}
		return false
	}
	return isBare(r)
}

// lifecycle returns the lifecycle event's record, or nil.
func (v *feed) lifecycle() *record {
	if r := v.last(); r != nil && isLifecycle(r) {
		return r
	}
	return nil
}

// entries is the replayed entries: without announcements, the lifecycle event and
// no-ops.
func (v *feed) entries() (list []*record) {
	for i := range v.stream.records {
		r := &v.stream.records[i]
		switch {
		case r.str("event") == protocol.EventMemory || r.isNoOp(inputs):
		case isLifecycle(r):
		default:
			list = append(list, r)
		}
	}
	return list
}

// body returns an entry's stored bytes: inline, or as the scripted handler fetched
// them. known is false when neither was seen.
func (v *feed) body(r *record) (data []byte, known bool, problem string) {
	if d := r.data(); d.present {
		if len(d.faults) > 0 && d.bytes == nil {
			return nil, true, d.faults[0].what
		}
		return d.bytes, true, ""
	}
	url := r.str("url")
	for _, q := range v.reqs {
		if q.answer == nil || q.method != "GET" || !strings.HasSuffix(url, q.path()) {
			continue
		}
		if q.answer.HTTP.Status != 200 {
			return nil, true, fmt.Sprintf("HTTP status %d for its URL", q.answer.HTTP.Status)
		}
		return v.bodies[q.answer.HTTP.Exchange], true, ""
	}
	return nil, url == "", ""
}

// breachOfOrder is a rule of sections 4.2, 7.1 and 8.1 that a stream broke.
type breachOfOrder struct {
	rule, requirement string
	readings          []string
	finding
}

// order looks at the rules that hold for the records of every invocation. What
// the handler did not read is not held against the runtime.
func (v *feed) order() (list []breachOfOrder) {
	records := v.stream.records
	place := func(r *record) string { return fmt.Sprintf("%s, record %d, byte %d", v.name, r.number, r.offset) }
	add := func(rule, requirement string, f finding, rest ...string) {
		list = append(list, breachOfOrder{rule, requirement, rest, f})
	}
	if len(records) == 0 {
		if v.complete {
			add("memory-first", "P4.2/memory-first", finding{v.name, "the memory announcement first", "an empty stream", ""})
		}
		return list
	}
	if first := &records[0]; first.str("event") != protocol.EventMemory {
		add("memory-first", "P4.2/memory-first", finding{place(first), "the memory announcement first", clip(string(first.text), 300), ""})
	}
	announced := false
	for i := range records {
		r := &records[i]
		event := r.str("event")
		again := announced
		announced = announced || event == protocol.EventMemory
		switch {
		case event == protocol.EventMemory && again:
			add("memory-once", "P4.2/memory-once", finding{place(r), "one memory announcement, at the head of the stream", "another: " + clip(string(r.text), 300), ""})
		case event == protocol.EventMemory && !strings.HasSuffix(r.str("url"), "/"):
			add("trailing-slash", "P8.1/trailing-slash", finding{place(r), "a memory URL that ends in /", r.shown("url"), ""})
		case isLifecycle(r) && event != "" && i < len(records)-1: // a bare {} here is a no-op (R27)
			add("lifecycle-once", "P4.2/lifecycle-once", finding{place(r), "one lifecycle event, at the end of the stream", clip(string(r.text), 300) + " in its middle", ""})
		}
		if d := r.data(); len(d.bytes) > protocol.InlineLimit {
			add("inline-limit", "P7.1/inline-limit", finding{place(r), fmt.Sprintf("at most %d bytes inline", protocol.InlineLimit), fmt.Sprintf("%d bytes", len(d.bytes)), ""})
		}
	}
	if r := v.last(); r != nil {
		switch {
		case !isLifecycle(r):
			add("lifecycle-last", "P4.2/lifecycle-last", finding{place(r), "the lifecycle event last: start, fork, wake or no event, and no other field", clip(string(r.text), 300), ""}, "R1")
		case !isBare(r):
			add("lifecycle-bare", "P4.2/lifecycle-bare", finding{place(r), "no field but the event", clip(string(r.text), 300), ""})
		}
	}
	return list
}
