package casefile

import (
	"slices"
	"strconv"
	"strings"

	"pugmark.dev/conform/fakehandler"
)

// ops checks what the scripted handler does in one invocation.
func (k *checker) ops(at place, list []fakehandler.Op) {
	wrote, ended := false, ""
	for i, o := range list {
		spot := at.item(i)
		if len(spot.node.Content) != 2 {
			spot.fault("an operation is one key, not %d", len(spot.node.Content)/2)
			continue
		}
		name := spot.node.Content[0].Value
		if ended != "" {
			spot.fault("nothing is played after `%s`", ended)
		}
		switch name {
		case "exit", "signal", "hang":
			ended = name
		case "emit", "pause", "raw":
			wrote = true
		case "answer":
			if wrote {
				spot.fault("`answer` stands before any output")
			}
		}
		k.op(spot, name, o)
	}
}

func (k *checker) op(at place, name string, o fakehandler.Op) {
	value := at.key(name)
	switch name {
	case "read":
		n, err := strconv.Atoi(o.Read)
		if words := []string{"all", "lifecycle", "none"}; !slices.Contains(words, o.Read) && (err != nil || n < 1) {
			value.fault("unknown `read` %q: want all, lifecycle, none, or a number of records", o.Read)
		}
	case "emit":
		emit(value, *o.Emit)
	case "raw":
		body(value, *o.Raw)
	case "stderr":
		body(value, *o.Stderr)
	case "framing":
		framing(value, *o.Framing)
	case "fetch":
		fetchOp(value, *o.Fetch)
	case "wait":
		if o.Wait <= 0 {
			value.fault("a wait is longer than nothing")
		}
	case "wait-for":
		if o.WaitFor == "" || strings.ContainsAny(o.WaitFor, `/\`) {
			value.fault("`wait-for` is the name of a file")
		}
	case "close":
		if !slices.Equal(k.c.Transports, []string{"subprocess"}) {
			value.fault("a stream is closed on subprocess only: write `transports: [subprocess]`")
		}
	case "grandchild":
		if o.Grandchild.For <= 0 {
			value.fault("a grandchild lives longer than nothing")
		}
	case "answer":
		answer(value, *o.Answer)
		if slices.Equal(k.c.Transports, []string{"subprocess"}) {
			value.fault("there is no HTTP answer on subprocess")
		}
	case "exit":
		if *o.Exit < 0 || *o.Exit > 255 {
			value.fault("an exit status is from 0 to 255")
		}
	case "hang":
		if !o.Hang {
			value.fault("`hang: false` does nothing: leave it out")
		}
	}
}

// sessionRef is a session ID, or {name} for a session of the case. Anything else
// is what a runtime must withstand, and is written as `extra`.
func sessionRef(at place, session string) {
	if session == Nonce {
		at.fault("%s is a text that varies, and no session", Nonce)
	}
	if session != "" && !isReference(session) && !isSessionID(session) {
		at.fault("`session` is 32 lower-case hex digits or {name}: write other text under `extra`")
	}
}

func emit(at place, e fakehandler.Emit) {
	counted(at, e.Times)
	bodyIn(at, e.Body)
	if e.Body != nil && e.Data != nil {
		at.key("data").fault("an output has a `body` or the text of its `data`, not both")
	}
	if at.has("fork") && !e.Fork {
		at.key("fork").fault("a field with its zero value is written under `extra`")
	}
	sessionRef(at.key("session"), e.Session)
	for i, name := range e.Null {
		if at.has(name) || e.Extra[name] != nil {
			at.key("null").item(i).fault("the field %q would stand twice in the record", name)
		}
	}
	for name := range e.Extra {
		if at.has(name) {
			at.key("extra", name).fault("the field %q would stand twice in the record", name)
		}
	}
}

func fetchOp(at place, f fakehandler.Fetch) {
	targets := 0
	for _, key := range []string{"entries", "name", "object", "memory", "memory-path"} {
		if at.has(key) {
			targets++
		}
	}
	if targets != 1 || at.has("entries") && !f.Entries {
		at.fault("a fetch is of one of entries, name, object, memory and memory-path")
	}
	refuseFalse(at, "kept")
	if f.Kept && f.Parallel > 1 {
		at.key("kept").fault("requests at the same time have a connection each")
	}
	if at.has("parallel") && f.Parallel < 1 {
		at.key("parallel").fault("at least one request is made")
	}
}
