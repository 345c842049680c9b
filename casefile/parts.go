package casefile

import (
	"fmt"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/script"
)

// maxBody bounds a body that a case has written many times over.
const maxBody = 64 << 20

// body checks what an entry holds.
func body(at place, b script.Body) {
	if b.Repeat != nil && (b.Repeat.Times < 1 || len(b.Repeat.Text) > maxBody/b.Repeat.Times) {
		at.key("repeat").fault("a text is repeated at least once, to at most %d bytes", maxBody)
		return
	}
	if b.Repeat == nil || b.Text != nil || b.JSON != nil || b.Base64 != nil {
		if _, err := b.Plain(); err != nil {
			at.fault("%s", err)
		}
	}
	switch {
	case at.has("frames") && b.Frames < 1:
		at.key("frames").fault("a body has at least one frame")
	case b.Frames > 0 && b.Encoding == "":
		at.key("frames").fault("`frames` needs an `encoding`")
	}
}

// bodyIn checks the body under a key, if there is one.
func bodyIn(at place, b *script.Body) {
	if b != nil {
		body(at.key("body"), *b)
	}
}

// answer checks what a server says to a request.
func answer(at place, a script.Answer) {
	if at.has("status") && (a.Status < 200 || a.Status > 599) {
		at.key("status").fault("a final answer has a status from 200 to 599")
	}
	if a.Truncate != nil && *a.Truncate < 0 {
		at.key("truncate").fault("a body can't be cut after %d bytes", *a.Truncate)
	}
	if a.Missing && (a.Status != 0 || a.Body != nil) {
		at.key("missing").fault("a missing key is answered with 404 and nothing else")
	}
	for name := range a.Headers {
		if strings.ContainsAny(name, " :\r\n") || name == "" {
			at.key("headers").fault("%q is no header", name)
		}
	}
	bodyIn(at, a.Body)
}

// framing checks how a stream is laid out. What is no white space belongs into
// a raw record, where a reader of the case can see it.
func framing(at place, f script.Framing) {
	for key, text := range map[string]*string{"before": &f.Before, "between": f.Between, "after": f.After} {
		if text != nil && strings.Trim(*text, " \t\r\n") != "" {
			hint := "write other bytes as `raw`"
			if strings.Contains(*text, `\`) {
				hint = "escapes work in double quotes only"
			}
			at.key(key).fault("`%s` is white space, not %q: %s", key, *text, hint)
		}
	}
	if at.has("chunk") && f.Chunk < 1 {
		at.key("chunk").fault("a write has at least one byte")
	}
}

// maxTimes bounds how often a case may write one entry.
const maxTimes = 100_000

// counted checks a `times`.
func counted(at place, times int) {
	if at.has("times") && (times < 1 || times > maxTimes) {
		at.key("times").fault("`times` is from 1 to %d", maxTimes)
	}
}

// expanded is the names of entries that are written several times: {n} is the
// count from 1.
func expanded(name string, times int) []string {
	var names []string
	for n := range min(max(times, 1), maxTimes) {
		names = append(names, strings.ReplaceAll(name, "{n}", fmt.Sprint(n+1)))
	}
	return names
}

// variables checks a process's environment.
func variables(at place, environment map[string]string) {
	for name, value := range environment {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			at.key("environment", name).fault("%q is no environment variable", name)
		}
	}
}

// sessionID checks an ID that a case chooses.
func sessionID(at place, id string) {
	if id != "" && !protocol.ValidSessionID(id) {
		at.fault("a session ID is 32 lower-case hex digits, not all zero")
	}
}

// memoryKey checks the key of a memory object.
func memoryKey(at place, key string) {
	if i := strings.LastIndexByte(key, '/'); i < 1 || i == len(key)-1 {
		at.fault("the memory key %q: want <namespace>/<object-name>", key)
	}
}

// entries checks a list of entries as a peer must see them; control and fork
// records are what only a runtime shows.
func (k *checker) entries(at place, list []EntryMatch) {
	for i, e := range list {
		spot := at.item(i)
		bodyIn(spot, e.Body)
		if e.Error && e.Body != nil {
			spot.key("error").fault("an entry has a body or an error, not both")
		}
		for _, key := range []string{"fork", "target", "source", "source-version", "control", "inline"} {
			if k.kind == KindHandler && spot.has(key) {
				spot.key(key).fault("`%s` is seen in runtime cases only", key)
			}
		}
		if k.kind == KindRuntime && spot.has("error") {
			spot.key("error").fault("`error` is seen in handler cases only")
		}
		if spot.has("control") && (e.Control.Status == nil && e.Control.Reason == nil && e.Control.StartAt == nil && e.Control.After == 0) {
			spot.key("control").fault("`control` compares nothing")
		}
	}
}
