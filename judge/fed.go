package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
)

// fedParts lists what a block wants of what the last invocation's handler was fed.
func fedParts(f *casefile.Fed, run, session string) (list []runtimePart) {
	add := func(key string, judge func(*moment, *feed) outcome) {
		list = append(list, runtimePart{key: "fed/" + key, judge: func(m *moment) outcome {
			v := m.lastFeed(run)
			if v == nil {
				return failed(finding{where: "what the handler was fed", want: "an invocation", got: neverInvoked})
			}
			return judge(m, v)
		}})
	}
	for _, rule := range f.Stream {
		add("stream/"+rule, func(_ *moment, v *feed) outcome {
			o := v.stream.keeps(rule, v.name, func(place string) string { return "last invocation, " + place })
			if v.missing > 0 && o.verdict == result.Pass {
				return *v.cut()
			}
			return o
		})
		list[len(list)-1].requirement = casefile.StreamRules()[rule]
	}
	if f.MemoryFirst {
		add("memory-first", readable(checkMemoryFirst))
	}
	if f.Entries != nil {
		add("entries", readable(func(_ *moment, v *feed) outcome { return checkFedEntries(*f.Entries, v) }))
	}
	if f.Lifecycle != "" {
		add("lifecycle", readable(func(_ *moment, v *feed) outcome { return checkLifecycle(f.Lifecycle, v) }))
	}
	if f.ObjectURLs {
		add("object-urls", readable(func(_ *moment, v *feed) outcome { return checkObjectURLs(v) }))
	}
	if f.Identical {
		add("identical", readable(func(_ *moment, v *feed) outcome { return checkIdentical(v) }))
	}
	if f.Slept {
		add("slept", func(m *moment, v *feed) outcome { return checkSlept(session, m, v) })
	}
	if f.InputClosed {
		add("input-closed", func(_ *moment, v *feed) outcome {
			if v.closed {
				return passed()
			}
			return failed(finding{where: v.name, want: "the runtime ends the input stream", got: "no end of input was seen"})
		})
	}
	if f.Environment != nil {
		add("environment", func(m *moment, v *feed) outcome { return checkEnvironment(f.Environment, m, v) })
	}
	if f.Request != nil {
		add("request", func(m *moment, v *feed) outcome { return checkRequest(*f.Request, m, v) })
	}
	if f.Trace {
		add("trace", func(m *moment, v *feed) outcome { return checkTrace(session, m, v) })
	}
	if f.Fetched != nil {
		add("fetched", func(_ *moment, v *feed) outcome {
			if o := v.cut(); o != nil {
				return *o
			}
			return checkFetched(*f.Fetched, v)
		})
	}
	return list
}

// readable keeps a check from a stream that can't be told apart into records.
func readable(judge func(*moment, *feed) outcome) func(*moment, *feed) outcome {
	return func(m *moment, v *feed) outcome {
		if v.stream.unreadable {
			return unseen("a stream that can be read", v.stream.broken[0].got)
		}
		if o := v.cut(); o != nil {
			return *o
		}
		return judge(m, v)
	}
}

// cut is the outcome of a check of what the handler was fed when not all of that is
// recorded, and nil when it is. Nothing is said of a runtime by bytes that are not there.
func (v *feed) cut() *outcome {
	if v.missing == 0 {
		return nil
	}
	o := unseen("a record of all that the handler was fed", "not all of it is recorded")
	return &o
}

// lastFeed is what the handler of the last invocation was fed.
func (m *moment) lastFeed(session string) *feed {
	for i := len(m.runs) - 1; i >= 0; i-- {
		r := m.runs[i]
		if n := len(r.feeds); n > 0 && (session == "" || r.session == session) {
			return r.feeds[n-1]
		}
	}
	return nil
}

func checkMemoryFirst(_ *moment, v *feed) outcome {
	records := v.stream.records
	if len(records) == 0 {
		return failed(finding{where: v.name, want: "the memory announcement first", got: "no record"})
	}
	for i := range records {
		r := &records[i]
		if is := r.str("event") == protocol.EventMemory; is != (i == 0) {
			return failed(finding{where: fmt.Sprintf("%s, record %d", v.name, r.number),
				want: "the memory announcement in the first record, and there only", got: clip(string(r.text), 300)})
		}
	}
	return passed()
}

func checkLifecycle(want string, v *feed) outcome {
	r := v.lifecycle()
	got := "none of them: the input was not read to its end"
	switch {
	case r != nil:
		got = orElse(r.str("event"), "none")
	case v.complete && len(v.stream.records) == 0:
		got = "an empty stream"
	case v.complete:
		got = "no lifecycle event: " + clip(string(v.last().text), 300)
	default:
		// A handler that stops reading at the event has seen it all the same.
		if n := len(v.stream.records); n > 0 {
			if last := &v.stream.records[n-1]; isLifecycle(last) && last.str("event") != "" {
				got = last.str("event")
			}
		}
	}
	if got == want {
		return passed()
	}
	return failed(finding{where: v.name + ", last record", want: "the lifecycle event " + want, got: got})
}

func checkFedEntries(want []casefile.EntryMatch, v *feed) outcome {
	got := v.entries()
	if len(got) == 0 && len(want) == 0 && len(v.stream.records) == 0 {
		return unseen("a stream without entries", "no stream at all")
	}
	return sequence{
		what: "entry", want: len(want), got: len(got),
		where:     func(place string) string { return v.name + ", " + place },
		compare:   func(i, k int) comparison { return v.compare(want[i], got[k]) },
		labelWant: func(i int) string { return entryLabel(want[i]) },
		labelGot:  func(k int) string { return recordLabel(got[k]) },
	}.judge()
}

// compare holds a replayed entry against what the case wants of it.
func (v *feed) compare(want casefile.EntryMatch, got *record) (c comparison) {
	text := func(name string, want *string) {
		if want != nil {
			f, ok := got.get(name)
			equal := ok && f.raw[0] == '"' && unquote(f.raw) == *want || *want == "" && (!ok || isZero(f.raw))
			c.add(name, quote(*want), got.shown(name), equal)
		}
	}
	text("event", want.Event)
	text("name", want.Name)
	if want.Size != nil {
		f, ok := got.get("size")
		c.add("size", fmt.Sprint(*want.Size), got.shown("size"), ok && isInt(string(f.raw), *want.Size) || *want.Size == 0 && (!ok || isZero(f.raw)))
	}
	text("content-type", want.ContentType)
	text("content-encoding", want.ContentEncoding)
	text("schema-url", want.SchemaURL)
	metadata, _ := got.strings("metadata")
	c.strings("metadata", want.Metadata, metadata)
	if want.Inline != nil {
		c.flag("data", want.Inline, got.data().present)
	}
	if want.Body != nil {
		v.compareBody(&c, want, got)
	}
	return c
}

// compareBody compares an entry's body. Where the script fetched nothing, the
// digest in the entry's URL stands for it: of the stored bytes, or of the decoded
// ones (R3).
func (v *feed) compareBody(c *comparison, want casefile.EntryMatch, got *record) {
	data, known, problem := v.body(got)
	if !known {
		url := got.str("url")
		plain, err := want.Body.Plain()
		stored, err2 := want.Body.Stored()
		if err != nil || err2 != nil {
			c.err = fmt.Errorf("the wanted body: %w", orError(err, err2))
			return
		}
		for _, b := range [][]byte{stored, plain} {
			sum := sha256.Sum256(b)
			if strings.HasSuffix(url, "/sha256:"+hex.EncodeToString(sum[:])) {
				c.add("body", "", "", true)
				return
			}
		}
		c.add("body", describe(plain)+", behind "+protocol.Digest(stored), "the url "+quote(url), false)
		return
	}
	if encoding := got.str("content-encoding"); problem == "" && encoding != "" {
		plain, err := decoded(data, encoding)
		if err != nil {
			problem = fmt.Sprintf("%s, which can't be decoded: %v", describe(data), err)
		}
		data = plain
	}
	c.body(want.Body, data, problem, exactBody)
}

func orError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// checkEnvironment compares variables of the handler. On rpc and http those of
// section 13 that the request carries are taken from there.
func checkEnvironment(want map[string]string, m *moment, v *feed) outcome {
	var c comparison
	for _, name := range sortedKeys(want) {
		wanted := m.expand(want[name])
		got, _ := variable(v.t, name)
		equal := got == wanted
		if name == protocol.EnvMetadata && wanted != "" {
			equal = sameJSON([]byte(wanted), []byte(got))
		}
		c.add(name, orAbsent(wanted), orAbsent(got), equal)
	}
	if len(c.differs()) > 0 {
		return failed(c.finding("environment of the handler"))
	}
	return passed()
}

// expand replaces {name} by the ID of that session.
func (m *moment) expand(s string) string {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		if id, known := m.id(strings.TrimSuffix(inner, "}")); known && strings.HasSuffix(inner, "}") {
			return id
		}
	}
	return s
}

// checkTrace wants a valid trace context whose trace ID is the session's ID
// (P14.1/session-trace-id).
func checkTrace(session string, m *moment, v *feed) outcome {
	id, ok := m.id(session)
	if !ok {
		return unseen("the ID of the session "+session, "none in the evidence")
	}
	value, _ := variable(v.t, protocol.EnvTraceParent)
	f := finding{where: "trace context of the handler", want: "traceparent with the trace ID " + id}
	p, err := protocol.ParseTraceParent(value)
	switch {
	case value == "":
		f.got = "none"
	case err != nil:
		f.got = err.Error()
	case hex.EncodeToString(p.TraceID[:]) != id:
		f.got = quote(value)
	default:
		return passed()
	}
	return failed(f)
}
