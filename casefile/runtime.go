package casefile

import (
	"regexp"
	"slices"

	"pugmark.dev/conform/fakehandler"
)

// mainSession is the name of the session of a runtime case that is data.
const mainSession = "main"

// runtime checks a runtime case that is data.
func (k *checker) runtime(at place, r *Runtime) {
	k.start(at.key("session"), r.Session)
	for i, p := range r.Push {
		push(at.key("push").item(i), p)
	}
	k.ops(at.key("script"), r.Script)
	variables(at, r.Environment)
	names := append([]string{mainSession}, sessionsOf(r.Script)...)
	w := world{names: names, fetches: slices.ContainsFunc(r.Script, func(o fakehandler.Op) bool { return o.Fetch != nil })}
	cited := map[string]bool{}
	for i, e := range r.Expect {
		spot := at.key("expect").item(i)
		cited[k.runtimeExpect(spot, e, w)] = true
		if e.asserts() && !e.asksForEffort() {
			spot.fault("asserts nothing that a runtime that does nothing would fail: add a check of something that it has to do")
		}
	}
	k.uncited(at.key("covers"), cited, "no block of `expect` is about it")
}

// world is what expectations on a runtime may speak of.
type world struct {
	// names is the sessions.
	names []string
	// fetches tells whether the script makes requests.
	fetches bool
	// requirement is what a block is about that does not say so: the latest
	// `require` of a story.
	requirement string
}

// runtimeExpect checks a block, and returns the requirement that it is about.
func (k *checker) runtimeExpect(at place, e RuntimeExpect, w world) string {
	stream, streamAt := []string(nil), at
	if e.Fed != nil {
		stream, streamAt = e.Fed.Stream, at.key("fed", "stream")
	}
	b := block{at, e.Requirement, e.Readings, stream, streamAt}
	requirement := w.requirement
	if e.Requirement != "" || requirement == "" {
		requirement = k.effective(b)
	}
	k.cite(b, requirement)
	k.runtimeBlock(at, e, w, requirement)
	if !e.asserts() {
		at.fault("this block asserts nothing")
	}
	return requirement
}

func (k *checker) runtimeBlock(at place, e RuntimeExpect, w world, requirement string) {
	w.name(at.key("session"), e.Session)
	w.name(at.key("parent"), e.Parent)
	if e.Says != "" && e.Run != "failure" {
		at.key("says").fault("`says` is about the failure of a run: add `run: failure`")
	}
	if e.Invocations != nil && *e.Invocations < 0 {
		at.key("invocations").fault("a handler can't be invoked %d times", *e.Invocations)
	}
	if e.Log != nil {
		k.entries(at.key("log"), *e.Log)
		for i, entry := range *e.Log {
			w.name(at.key("log").item(i).key("target"), entry.Target)
			w.name(at.key("log").item(i).key("source"), entry.Source)
		}
	}
	refuseFalse(at, "whole-log")
	if e.WholeLog && e.Log == nil {
		at.key("whole-log").fault("`whole-log` says how `log` is read, and there is none")
	}
	if e.Fed != nil {
		k.fed(at.key("fed"), *e.Fed, w)
	}
	for _, key := range []string{"version", "types", "parent"} {
		if at.has(key) {
			k.need(at.key(key), "inspect", "`"+key+"` comes from the session dump")
		}
	}
	k.alternatives(at, len(e.AnyOf), func(i int, spot place) (asserts, cites bool) {
		inner := e.AnyOf[i]
		b := block{at: spot, readings: inner.Readings}
		if inner.Fed != nil {
			b.stream, b.streamAt = inner.Fed.Stream, spot.key("fed", "stream")
		}
		k.cite(b, requirement)
		k.runtimeBlock(spot, inner, w, requirement)
		return inner.asserts(), inner.Requirement != ""
	})
}

// name checks the name of a session.
func (w world) name(at place, name string) {
	if name != "" && !slices.Contains(w.names, name) {
		at.fault("no session is called %q here%s", name, meant(name, w.names))
	}
}

func (k *checker) fed(at place, f Fed, w world) {
	if len(at.node.Content) == 0 {
		at.fault("`fed` compares nothing")
	}
	for _, key := range []string{"memory-first", "trace", "object-urls", "input-closed"} {
		refuseFalse(at, key)
	}
	if f.Entries != nil {
		k.entries(at.key("entries"), *f.Entries)
	}
	variables(at, f.Environment)
	for _, key := range []string{"fetched", "object-urls"} {
		if at.has(key) && !w.fetches {
			at.key(key).fault("`%s` needs a `fetch` in the script", key)
		}
	}
	if f.Fetched == nil {
		return
	}
	for i, answer := range *f.Fetched {
		spot := at.key("fetched").item(i)
		bodyIn(spot, answer.Body)
		if len(spot.node.Content) == 0 {
			spot.fault("this answer compares nothing")
		}
	}
}

// start checks a session's manifest.
func (k *checker) start(at place, s Start) {
	sessionID(at.key("chosen"), s.Chosen)
	if s.Handler != "" {
		k.need(at.key("handler"), "named-handlers", "a session's `handler` is a feature of its own")
	}
}

// push checks an entry that is pushed.
func push(at place, p Push) {
	counted(at, p.Times)
	body(at.key("body"), p.Body)
}

// sessionsOf returns the names of sessions that a script starts or writes to, as
// in session: '{child}'.
func sessionsOf(ops []fakehandler.Op) []string {
	var names []string
	for _, op := range ops {
		if op.Emit == nil {
			continue
		}
		if match := regexp.MustCompile(`^\{([a-z0-9-]+)\}$`).FindStringSubmatch(op.Emit.Session); match != nil && op.Emit.Fork {
			names = append(names, match[1])
		}
	}
	return names
}
