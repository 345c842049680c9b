package casefile

import (
	"reflect"
	"slices"
	"strings"

	"pugmark.dev/conform/fakeruntime"
)

// handler checks a handler case as a whole.
func (k *checker) handler(at place, h *Handler) {
	k.identity(at, h)
	input := at.key("input")
	k.stream(input, h.Input, k.isAboutOrder())
	if at.has("invocations") && h.Invocations < 1 {
		at.key("invocations").fault("a stream is played at least once")
	}
	controlled := false
	if h.Control != nil {
		control := at.key("control")
		k.control(control, h)
		controlled = h.Control.Expect.asksForEffort()
		if !controlled {
			control.key("expect").fault("a handler that does nothing passes this control")
		}
	}
	cited := map[string]bool{}
	k.blocks(at.key("expect"), h.Expect, played{h, h.Input, controlled, cited})
	if h.Input.HoldsAnswer() || h.Control != nil && h.Control.Input.HoldsAnswer() {
		at.key("input").fault("`held` waits for the main invocation, and stands in the input of `beside`")
	}
	if h.Beside != nil {
		k.beside(at, h, played{h, h.Beside.Input, controlled, cited})
	}
	if at.has("keep-servers") && !slices.ContainsFunc(h.Expect, func(e HandlerExpect) bool { return e.OwnServers }) {
		at.key("keep-servers").fault("`keep-servers` is for `own-servers`, which no block of `expect` has")
	}
	k.uncited(at.key("covers"), cited, "no block of `expect` is about it")
}

// played is the invocation that blocks of expectations are about.
type played struct {
	h     *Handler
	input fakeruntime.Script
	// controlled: a handler that does nothing fails the control.
	controlled bool
	cited      map[string]bool // is added to
}

// blocks checks the blocks of expectations of one invocation.
func (k *checker) blocks(at place, blocks []HandlerExpect, of played) {
	for i, e := range blocks {
		spot := at.item(i)
		b := block{spot, e.Requirement, e.Readings, e.Stream, spot.key("stream")}
		requirement := k.effective(b)
		of.cited[requirement] = true
		k.cite(b, requirement)
		k.handlerBlock(spot, e, of.h, of.input)
		switch {
		case !e.asserts():
			spot.fault("this block asserts nothing")
		case !e.asksForEffort() && !of.controlled:
			spot.fault("asserts nothing that a handler that does nothing would fail: add a `control`, or a check of something that it has to do")
		}
	}
}

// beside checks the invocation that is in flight while the main one is played.
func (k *checker) beside(at place, h *Handler, of played) {
	spot := at.key("beside")
	k.need(spot, "concurrent", "serving several requests at a time is a feature of its own")
	if !k.c.hasOnly("rpc", "http") {
		spot.fault("a process on subprocess serves one invocation: write `transports: [rpc, http]`, or one of them")
	}
	for key, given := range map[string]bool{"invocations": h.Invocations != 0, "keep-servers": h.KeepServers} {
		if given {
			at.key(key).fault("`%s` is about invocations that follow each other, and `beside` about two at a time: keep one", key)
		}
	}
	b, input := h.Beside, spot.key("input")
	sessionID(spot.key("identity", "session"), b.Identity.Session)
	k.stream(input, b.Input, k.isAboutOrder())
	if b.Input.Chunk > 0 {
		input.key("chunk").fault("the last record of this stream is held back, and has a write of its own: leave `chunk` out")
	}
	k.blocks(spot.key("expect"), b.Expect, of)
}

// isAboutOrder reports whether the case is about a stream that does not begin
// with the memory announcement or does not end with the lifecycle event.
func (k *checker) isAboutOrder() bool {
	return slices.ContainsFunc(k.c.Covers, func(id string) bool {
		return slices.Contains([]string{
			"P4.2/memory-first", "P4.2/memory-once", "P4.2/lifecycle-last", "P4.2/lifecycle-once",
			"P4.2/lifecycle-bare", "P4.2/lifecycle-begins", "P16/no-blocking", "P17/protocol-event",
		}, id)
	})
}

func (k *checker) identity(at place, h *Handler) {
	id := at.key("identity")
	sessionID(id.key("session"), h.Identity.Session)
	if h.Identity.Snapshot != nil && *h.Identity.Snapshot < 0 {
		id.key("snapshot").fault("there is no version %d", *h.Identity.Snapshot)
	}
	if h.Trace.None && (h.Trace.Parent != "" || h.Trace.State != "") {
		at.key("trace").fault("no trace context, or this one: not both")
	}
	k.environment(at, h.Environment)
}

// environment checks further variables of the handler. On rpc a variable may say
// something else than the request, which rules (R32).
func (k *checker) environment(at place, environment map[string]string) {
	variables(at, environment)
	if !k.c.Supports("subprocess") {
		return
	}
	for name, key := range map[string]string{
		"PUGMARK_AGENT_ID": "identity", "PUGMARK_SESSION_ID": "identity", "PUGMARK_SESSION_METADATA": "identity",
		"TRACEPARENT": "trace", "TRACESTATE": "trace",
	} {
		if at.key("environment").has(name) {
			at.key("environment", name).fault("on subprocess %s is set from `%s`", name, key)
		}
	}
}

func (k *checker) control(at place, h *Handler) {
	c := h.Control
	k.environment(at, c.Environment)
	if c.Identity != nil {
		sessionID(at.key("identity", "session"), c.Identity.Session)
	}
	input := c.Input
	if len(input.Records) == 0 {
		input.Records = h.Input.Records
		k.framed(at.key("input"), input)
	} else {
		k.stream(at.key("input"), input, false)
	}
	e := at.key("expect")
	if c.Expect.Requirement != "" {
		e.key("requirement").fault("a control is a premise: it cites no requirement")
	}
	if c.Expect.SameOutputs || c.Expect.OwnServers || c.Expect.Delivered != 0 {
		e.fault("a control is one invocation: `same-outputs`, `own-servers` and `delivered` are for the case's own")
	}
	k.cite(block{at: e, readings: c.Expect.Readings}, "")
	k.handlerBlock(e, c.Expect, h, input)
}

// framed checks what is said of a stream besides its records.
func (k *checker) framed(at place, s fakeruntime.Script) {
	framing(at, s.Framing)
	for key, object := range s.Memory {
		spot := at.key("memory", key)
		memoryKey(spot, key)
		body(spot.key("body"), object.Body)
		answer(spot.key("serve"), object.Serve)
	}
	if root := s.MemoryRoot; root != "" && !(strings.HasPrefix(root, "/") && strings.HasSuffix(root, "/")) {
		at.key("memory-root").fault("the memory root begins and ends with /")
	}
}

// stream checks one invocation's input.
func (k *checker) stream(at place, s fakeruntime.Script, anyOrder bool) {
	k.framed(at, s)
	records := at.key("records")
	for i, r := range s.Records {
		k.record(records.item(i), r)
		if late := records.item(i).key("late"); records.item(i).has("late") && (r.Late <= 0 || s.Chunk > 0) {
			late.fault("`late` is longer than nothing, and goes with no `chunk`")
		}
	}
	if !anyOrder {
		k.order(records, s.Records)
	}
	oneAnswer(records, s.Records)
}

// oneAnswer checks that equal bodies, which have one URL, are served in one way.
func oneAnswer(at place, records []fakeruntime.Record) {
	if !slices.ContainsFunc(records, func(r fakeruntime.Record) bool { return !reflect.ValueOf(r.Serve).IsZero() }) {
		return
	}
	served := map[string]int{}
	for i, r := range records {
		if r.Body == nil || r.Raw != nil || r.By == "data" {
			continue
		}
		stored, err := r.Body.Stored()
		if err != nil {
			continue
		}
		first, twice := served[string(stored)]
		if twice && !reflect.DeepEqual(records[first].Serve, r.Serve) {
			at.item(i).fault("record %d has the same body and is served in another way: one URL, one answer", first+1)
		}
		if !twice {
			served[string(stored)] = i
		}
	}
}

// order checks that the stream is one that a runtime may send.
func (k *checker) order(at place, records []fakeruntime.Record) {
	last := len(records) - 1
	for i, r := range records {
		spot := at.item(i)
		isLifecycle := r.Event == "start" || r.Event == "fork" || r.Event == "wake"
		switch {
		case r.Raw != nil:
		case i == 0 && (r.Event != "memory" || r.Times > 1):
			spot.fault("the first record is `event: memory`, once, unless the case is about the order (4.2)")
		case i > 0 && r.Event == "memory":
			spot.fault("the memory announcement comes first and once, unless the case is about the order (4.2)")
		case i < last && isLifecycle:
			spot.fault("the lifecycle event comes last, unless the case is about the order (4.2)")
		case r.Event == "protocol":
			spot.fault("a protocol event is for the cases of P17/protocol-event")
		case i == last && (!isLifecycle && !isBare(r) || r.Times > 1):
			spot.fault("the last record is the lifecycle event, once, unless the case is about the order (4.2)")
		}
	}
}

// isBare reports whether the record is the empty lifecycle event (R1): nothing
// that a v1 reader knows is set.
func isBare(r fakeruntime.Record) bool {
	return r.Event == "" && r.Name == "" && r.ContentType == nil && r.ContentEncoding == nil && r.SchemaURL == "" &&
		r.Metadata == nil && r.Size == nil && r.Body == nil && r.Data == nil && r.URL == nil && r.Instructions == nil
}

func (k *checker) record(at place, r fakeruntime.Record) {
	counted(at, r.Times)
	var alone string
	var with []string
	switch {
	case r.Raw != nil:
		alone, with = "raw", []string{"raw", "times", "late"}
	case r.Instructions != nil:
		alone, with = "instructions", []string{"instructions", "event", "metadata", "extra", "null", "late"}
		k.instructions(at.key("instructions"), r.Instructions)
	}
	for i := 0; alone != "" && i+1 < len(at.node.Content); i += 2 {
		if key := at.node.Content[i]; !slices.Contains(with, key.Value) {
			place{at.doc, key}.fault("`%s` stands without `%s`", alone, key.Value)
		}
	}
	bodyIn(at, r.Body)
	if at.has("filler") && (r.Filler < 1 || r.Filler > maxBody) {
		at.key("filler").fault("a filler has from 1 to %d bytes", maxBody)
	}
	if r.By != "" && r.Body == nil {
		at.key("by").fault("`by` says how a body travels, and there is none")
	}
	if at.has("serve") {
		answer(at.key("serve"), r.Serve)
		if r.Body == nil || r.By == "data" {
			at.key("serve").fault("`serve` is the answer at the record's url, and the body has none")
		}
	}
	if r.Instructions == nil && r.Name == "conform/instructions" {
		at.key("name").fault("conform/instructions is written with `instructions`")
	}
	for i, name := range r.Null {
		if at.has(name) || r.Extra[name] != nil {
			at.key("null").item(i).fault("the field %q would stand twice in the record", name)
		}
	}
	for name := range r.Extra {
		if at.has(name) {
			at.key("extra", name).fault("the field %q would stand twice in the record", name)
		}
	}
}
