package casefile

import (
	"slices"

	"pugmark.dev/conform/fakeruntime"
)

// handlerBlock checks one block of expectations against the case it is of and
// the stream that it is about.
func (k *checker) handlerBlock(at place, e HandlerExpect, h *Handler, input fakeruntime.Script) {
	told := instructed(input.Records)
	if e.Observed != nil {
		k.observed(at.key("observed"), *e.Observed, told)
	}
	if e.Outputs != nil {
		k.outputs(at.key("outputs"), *e.Outputs, told)
		if e.Silent {
			at.key("silent").fault("`silent` and `outputs` say the same thing, or opposite things: keep one")
		}
	}
	answers(at.key("loaded"), "load", opsNamed(told, "load"), len(e.Loaded), func(i int) string { return e.Loaded[i].Name })
	for i, m := range e.Loaded {
		loaded(at.key("loaded").item(i), m)
	}
	answers(at.key("memory"), "memory", opsNamed(told, "memory"), len(e.Memory), func(i int) string { return e.Memory[i].Key })
	for i, m := range e.Memory {
		spot := at.key("memory").item(i)
		bodyIn(spot, m.Body)
		if (m.Body != nil) == m.Error {
			spot.fault("a memory object is read with a `body`, or ends in `error: true`")
		}
	}
	for i, f := range e.Fetches {
		fetch(at.key("fetches").item(i), f, input)
	}
	k.moments(at, e, h, input)
	k.alternatives(at, len(e.AnyOf), func(i int, spot place) (asserts, cites bool) {
		inner := e.AnyOf[i]
		k.cite(block{at: spot, readings: inner.Readings, stream: inner.Stream, streamAt: spot.key("stream")}, k.sole(e.Requirement))
		k.handlerBlock(spot, inner, h, input)
		return inner.asserts(), inner.Requirement != ""
	})
}

// moments checks what depends on when and how often the stream is played.
func (k *checker) moments(at place, e HandlerExpect, h *Handler, input fakeruntime.Script) {
	if e.BeforeClose {
		spot := at.key("before-close")
		if input.Hold <= 0 {
			spot.fault("`before-close` needs a `hold` in `input`: the stream is closed after its last record without one")
		}
		if !slices.Equal(k.c.Transports, []string{"subprocess"}) {
			spot.fault("`before-close` is seen on subprocess only: write `transports: [subprocess]`")
		}
	}
	if e.SameOutputs && h.Invocations < 2 {
		at.key("same-outputs").fault("`same-outputs` needs `invocations: 2` or more")
	}
	if at.has("delivered") && e.Delivered < 2 {
		at.key("delivered").fault("every input goes out in one write at least: want 2 or more")
	}
	if n := len(input.Records); e.AfterLifecycle && (n == 0 || input.Records[n-1].Late <= 0) {
		at.key("after-lifecycle").fault("`after-lifecycle` needs a last record that is `late`, so that there is a time before it")
	}
	if e.OwnServers && (!h.KeepServers || h.Control == nil && h.Invocations < 2) {
		at.key("own-servers").fault("`own-servers` needs `keep-servers: true`, and a control or `invocations: 2` or more")
	}
	for _, key := range []string{"silent", "before-close", "after-lifecycle", "own-servers", "same-outputs"} {
		refuseFalse(at, key)
	}
}

// refuseFalse complains of a check that is switched off: it reads like one.
func refuseFalse(at place, key string) {
	if spot := at.key(key); at.has(key) && spot.node.Value == "false" {
		spot.fault("`%s: false` checks nothing: leave it out", key)
	}
}

// sole returns the requirement of a block, or the only one of the case.
func (k *checker) sole(requirement string) string {
	if requirement == "" && len(k.c.Covers) == 1 {
		return k.c.Covers[0]
	}
	return requirement
}

// alternatives checks the blocks of `any-of`.
func (k *checker) alternatives(at place, count int, check func(i int, spot place) (asserts, cites bool)) {
	list := at.key("any-of")
	// One alternative about another session is how a block speaks of two.
	if count == 1 && !list.item(0).has("session") {
		list.fault("`any-of` with one alternative is no choice")
	}
	for i := range count {
		spot := list.item(i)
		asserts, cites := check(i, spot)
		if !asserts {
			spot.fault("this alternative asserts nothing, so the others assert nothing either")
		}
		if cites {
			spot.key("requirement").fault("an alternative is about the requirement of its block")
		}
	}
}

// instructed returns the operations that count: of several instruction entries
// the latest.
func instructed(records []fakeruntime.Record) []fakeruntime.Instruction {
	for _, r := range slices.Backward(records) {
		if r.Instructions != nil {
			return r.Instructions
		}
	}
	return nil
}

func opsNamed(told []fakeruntime.Instruction, op string) []fakeruntime.Instruction {
	return slices.DeleteFunc(slices.Clone(told), func(in fakeruntime.Instruction) bool { return in.Op != op })
}

// answers checks that what the handler answers to an operation was asked for, in
// this order.
func answers(at place, op string, asked []fakeruntime.Instruction, count int, name func(int) string) {
	if count == 0 {
		return
	}
	if count != len(asked) {
		at.fault("%d answers for %d `op: %s` in the instructions", count, len(asked), op)
		return
	}
	for i := range count {
		want := asked[i].Name
		if op == "memory" {
			want = asked[i].Key
		}
		if name(i) != want {
			at.item(i).fault("the answer is to %q, and `op: %s` number %d asks for %q", name(i), op, i+1, want)
		}
	}
}

func (k *checker) observed(at place, o Observed, told []fakeruntime.Instruction) {
	k.need(at, "instructions", "`observed` is an answer to instructions")
	if len(opsNamed(told, "observe")) == 0 {
		at.fault("`observed` needs `op: observe` in the instructions of `input`")
	}
	if len(at.node.Content) == 0 {
		at.fault("`observed` compares nothing")
	}
	refuseFalse(at, "only-entries")
	if o.Entries != nil {
		k.entries(at.key("entries"), *o.Entries)
	}
	if o.Events != nil {
		k.need(at.key("events"), "typed-events", "`events` is a feature of its own")
	}
}

func (k *checker) outputs(at place, list []OutputMatch, told []fakeruntime.Instruction) {
	writes := 0
	for _, in := range told {
		if in.Op == "write" || in.Op == "write-remote" || in.Op == "pause" || in.Op == "sleep" {
			writes++
		}
	}
	// The page's own program writes without being told to.
	if len(list) > writes && !slices.Contains(k.c.Needs, "minimal-handler") {
		at.fault("%d `outputs` are wanted, and the instructions write %d", len(list), writes)
	}
	for i, o := range list {
		bodyIn(at.item(i), o.Body)
	}
}

func loaded(at place, m LoadedMatch) {
	values := 0
	for _, key := range []string{"text", "json", "base64"} {
		if at.has(key) {
			values++
		}
	}
	absent := m.Found != nil && !*m.Found
	switch {
	case values > 1:
		at.fault("a load has one of text, json and base64")
	case values > 0 && (m.Error || absent):
		at.fault("a load that finds nothing or fails has no value")
	case values == 0 && !m.Error && m.Found == nil:
		at.fault("`loaded` compares nothing of %q", m.Name)
	}
}

func fetch(at place, f FetchMatch, input fakeruntime.Script) {
	targets := 0
	for _, key := range []string{"entry", "memory", "path"} {
		if at.has(key) {
			targets++
		}
	}
	if targets != 1 {
		at.fault("a fetch is of one of entry, memory and path")
	}
	if f.Entry != "" {
		var names []string
		for _, r := range input.Records {
			switch {
			case r.Instructions != nil:
				names = append(names, "conform/instructions")
			case r.Name != "":
				names = append(names, expanded(r.Name, r.Times)...)
			}
		}
		if !slices.Contains(names, f.Entry) {
			at.key("entry").fault("no record is named %q%s", f.Entry, meant(f.Entry, names))
		}
	}
	if _, ok := input.Memory[f.Memory]; f.Memory != "" && !ok {
		at.key("memory").fault("`input` has no memory object %q: give it one, with `serve: {missing: true}` if it is not there", f.Memory)
	}
	if f.AtLeast != nil && *f.AtLeast < 0 || f.AtMost != nil && *f.AtMost < 0 {
		at.fault("a number of requests can't be negative")
	}
	if f.AtMost != nil && *f.AtMost < f.least() {
		at.fault("no number is at least %d and at most %d", f.least(), *f.AtMost)
	}
	if f.AtLeast != nil && *f.AtLeast == 0 && f.AtMost == nil && !f.SameTrace {
		at.key("at-least").fault("any number of requests fits")
	}
}
