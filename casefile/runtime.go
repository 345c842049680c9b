package casefile

import (
	"maps"
	"slices"
	"strings"
	"time"

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
	k.around(at, r.Around)
	w := world{names: []string{mainSession}}
	w.plays(k, at.key("script"), r.Script)
	noFiles(at.key("script"), r.Script)
	for _, name := range slices.Sorted(maps.Keys(r.Handlers)) {
		spot := at.key("handlers", name)
		k.handlerName(spot, name)
		w.plays(k, spot, r.Handlers[name])
		noFiles(spot, r.Handlers[name])
	}
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

// plays checks what a handler does, and takes in what it brings to the world.
func (w *world) plays(k *checker, at place, ops []fakehandler.Op) {
	k.ops(at, ops)
	w.names = append(w.names, sessionsOf(ops)...)
	w.fetches = w.fetches || slices.ContainsFunc(ops, func(o fakehandler.Op) bool { return o.Fetch != nil })
}

// noFiles complains of a uri that stands for a file of a story.
func noFiles(at place, ops []fakehandler.Op) {
	for i, op := range ops {
		if op.Emit == nil {
			continue
		}
		if _, ok := fakehandler.FileOf(op.Emit.URI); ok {
			at.item(i).key("emit", "uri").fault("a case that is data has no files: write a story")
		}
	}
}

// around checks what surrounds a run.
func (k *checker) around(at place, a Around) {
	variables(at, a.Environment)
	if a.Trace.None {
		at.key("trace", "none").fault("a run without a trace context needs no `trace`")
	}
	if a.Trace.State != "" {
		k.need(at.key("trace", "state"), "tracestate", "passing a trace state on is a feature of its own")
	}
}

// handlerName checks the name of a handler that a run is given.
func (k *checker) handlerName(at place, name string) {
	k.need(at, "named-handlers", "a named handler is a feature of its own")
	if !isName(name) {
		at.fault("%q: a handler's name is lower-case letters, digits and hyphens", name)
	}
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
	if e.Session == "" && !slices.Contains(w.names, mainSession) {
		for _, key := range []string{"log", "version", "types", "snapshots", "rising", "manifest", "parent", "parent-version"} {
			if at.has(key) {
				at.key(key).fault("no session is called %q here: say with `session` whose `%s` is meant", mainSession, key)
				break
			}
		}
	}
	w.name(at.key("parent"), e.Parent)
	if e.Says != "" && e.Run != "failure" {
		at.key("says").fault("`says` is about the failure of a run: add `run: failure`")
	}
	if e.Invocations != nil && *e.Invocations < 0 {
		at.key("invocations").fault("a handler can't be invoked %d times", *e.Invocations)
	}
	if e.Log != nil {
		k.stored(at.key("log"), *e.Log, w)
	}
	for _, key := range []string{"whole-log", "any-order", "rising"} {
		refuseFalse(at, key)
	}
	for _, key := range []string{"whole-log", "any-order"} {
		if at.has(key) && e.Log == nil {
			at.key(key).fault("`%s` says how `log` is read, and there is none", key)
		}
	}
	if e.Waited != nil {
		waited(at.key("waited"), *e.Waited)
	}
	if e.Snapshots != nil {
		for i, s := range *e.Snapshots {
			spot := at.key("snapshots").item(i)
			if len(spot.node.Content) == 0 {
				spot.fault("this snapshot compares nothing")
			}
			if s.Entries != nil {
				k.stored(spot.key("entries"), *s.Entries, w)
			}
		}
	}
	if e.Manifest != nil && len(at.key("manifest").node.Content) == 0 {
		at.key("manifest").fault("`manifest` compares nothing")
	}
	if e.Fed != nil {
		k.fed(at.key("fed"), *e.Fed, w)
	}
	for _, key := range []string{"version", "types", "snapshots", "rising", "manifest", "parent", "parent-version"} {
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
		asked := inner
		if asked.Session == "" {
			asked.Session = e.Session
		}
		k.runtimeBlock(spot, asked, w, requirement)
		return inner.asserts(), inner.Requirement != ""
	})
}

// stored checks entries of a log or a dump.
func (k *checker) stored(at place, list []EntryMatch, w world) {
	k.entries(at, list)
	for i, entry := range list {
		spot := at.item(i)
		w.name(spot.key("target"), entry.Target)
		w.name(spot.key("source"), entry.Source)
		for _, key := range []string{"event", "inline"} {
			if spot.has(key) {
				spot.key(key).fault("`%s` is seen in what a handler is fed", key)
			}
		}
	}
}

func waited(at place, w Waited) {
	switch {
	case w.AtLeast <= 0 && w.AtMost <= 0:
		at.fault("`waited` bounds nothing")
	case w.AtMost > 0 && w.AtMost < w.AtLeast:
		at.fault("no run takes at least %s and at most %s", time.Duration(w.AtLeast), time.Duration(w.AtMost))
	}
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
	for _, key := range []string{"memory-first", "trace", "object-urls", "identical", "input-closed", "slept"} {
		refuseFalse(at, key)
	}
	if f.Request != nil {
		k.request(at.key("request"), *f.Request)
	}
	if f.Entries != nil {
		k.entries(at.key("entries"), *f.Entries)
		for i := range *f.Entries {
			for _, key := range []string{"fork", "target", "source", "source-version", "control"} {
				if spot := at.key("entries").item(i); spot.has(key) {
					spot.key(key).fault("`%s` is seen in a log or a dump", key)
				}
			}
		}
	}
	variables(at, f.Environment)
	for _, key := range []string{"fetched", "object-urls", "identical"} {
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
		if answer.Stored != nil {
			body(spot.key("stored"), *answer.Stored)
		}
		if len(spot.node.Content) == 0 {
			spot.fault("this answer compares nothing")
		}
	}
}

// request checks what is wanted of the request of section 2.2.
func (k *checker) request(at place, r RequestMatch) {
	for _, key := range []string{"length", "loopback"} {
		refuseFalse(at, key)
	}
	if len(at.node.Content) == 0 {
		at.fault("`request` compares nothing")
	}
	if k.c.Supports("subprocess") {
		at.fault("there is no request on subprocess: write `transports: [rpc, http]`")
	}
	for name := range r.Headers {
		if strings.ContainsAny(name, " :\r\n") || name == "" {
			at.key("headers").fault("%q is no header", name)
		}
	}
}

// start checks a session's manifest.
func (k *checker) start(at place, s Start) {
	if !isReference(s.Chosen) {
		sessionID(at.key("chosen"), s.Chosen)
	}
	if s.Chosen != "" {
		k.need(at.key("chosen"), "chosen-session", "choosing a session's ID is a feature of its own")
	}
	if s.Agent != "" {
		k.need(at.key("agent"), "agent", "a session's `agent` is a feature of its own")
	}
	if len(s.Metadata) > 0 {
		k.need(at.key("metadata"), "metadata", "a session's `metadata` is a feature of its own")
	}
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
		if name := referenced(op.Emit.Session); name != "" && op.Emit.Fork {
			names = append(names, name)
		}
	}
	return names
}
