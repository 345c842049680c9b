package judge

import (
	"strings"
	"testing"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// partCase is a case with the given expectations and further fields.
func partCase(expect string, more ...string) string {
	return "why: One thing is looked at.\ncovers: [P3/any-whitespace]\nneeds: [instructions]\n" + strings.Join(more, "") +
		"input:\n  records:\n    - {event: memory}\n    - {name: a, body: {text: hello}}\n    - {instructions: [{op: observe}]}\n    - {event: start}\nexpect:\n" + expect
}

func observedOf(body string) string { return answerRecord("conform/observed", body) }

// goodEntries is what a handler sees of partCase, with its instructions and the
// lifecycle record that some SDKs yield.
const goodEntries = `[{"name":"a","size":5,"content-type":"text/plain","body":"aGVsbG8="},{"name":"conform/instructions","body":"e30="},{"event":"start","body":""}]`

// looks judges one invocation by a case and wants a verdict and a text.
func looks(t *testing.T, name, text string, e *result.Evidence, want result.Verdict, says string) {
	t.Helper()
	s := registry(t)
	got := New(s).Judge(loose(t, text), e)
	if got.Verdict != want || !strings.Contains(all(got), says) {
		t.Errorf("%s: want %s and %q, got:\n%s", name, want, says, all(got))
	}
}

func TestObserved(t *testing.T) {
	entries := "  observed: {entries: [{name: a, content-type: text/plain, size: 5, body: {text: hello}}]}\n"
	for _, c := range []struct {
		name, expect, body string
		want               result.Verdict
		says               string
	}{
		{"right", entries, `{"entries":` + goodEntries + `}`, result.Pass, ""},
		{"another body", entries, `{"entries":[{"name":"a","size":5,"content-type":"text/plain","body":"aGVsbG9v"}]}`, result.Fail, "entry 1, body"},
		{"an error instead", entries, `{"entries":[{"name":"a","size":5,"content-type":"text/plain","error":"HTTP 500"}]}`, result.Fail, `the error "HTTP 500"`},
		{"size", entries, `{"entries":[{"name":"a","size":6,"content-type":"text/plain","body":"aGVsbG8="}]}`, result.Fail, "entry 1, size"},
		{"no entry", entries, `{"entries":[]}`, result.Fail, `the first missing is "a"`},
		{"one too many", entries, `{"entries":[` + goodEntries[1:len(goodEntries)-1] + `,{"name":"b","body":"Yg=="}]}`, result.Fail, `the first too many is "b"`},
		{"not as agreed", entries, `{"entries":5}`, result.Fail, "as the agreement has it"},
		{"no JSON", entries, `oops`, result.Fail, "as the agreement has it"},
		{"order", "  observed: {entries: [{name: a}, {name: b}]}\n", `{"entries":[{"name":"b"},{"name":"a"}]}`, result.Fail, `"a" is entry 2`},
		{"surplus", "  observed: {entries: [{name: a}]}\n", `{"entries":[{"name":"b"},{"name":"a"}]}`, result.Fail, `a surplus entry, "b"`},
		{"missing first", "  observed: {entries: [{name: a}, {name: b}]}\n", `{"entries":[{"name":"b"}]}`, result.Fail, "entry 1 is missing"},
		{"exact size", "  observed: {entries: [{name: a, size: 9007199254740993}]}\n", `{"entries":[{"name":"a","size":9007199254740993}]}`, result.Pass, ""},
		{"inexact size", "  observed: {entries: [{name: a, size: 9007199254740993}]}\n", `{"entries":[{"name":"a","size":9007199254740992}]}`, result.Fail, "9007199254740992"},
		{"wants an error", "  observed: {entries: [{name: a, error: true}]}\n", `{"entries":[{"name":"a","error":"404"}]}`, result.Pass, ""},
		{"packed bytes for an error", "  observed: {entries: [{name: a, error: true}]}\n", `{"entries":[{"name":"a","body":"aGVsbG8="}]}`, result.Fail, "got body: 5 bytes"},
		{"identity", "  observed: {session: " + strings.Repeat("ab", 16) + ", agent: x, metadata: {k: v}}\n", `{"session":"` + strings.Repeat("ab", 16) + `","agent":"x","metadata":{"k":"v"}}`, result.Pass, ""},
		{"no metadata", "  observed: {metadata: {}}\n", `{}`, result.Pass, ""},
		{"stale metadata", "  observed: {metadata: {}}\n", `{"metadata":{"stale":"yes"}}`, result.Fail, "stale"},
		{"agent", "  observed: {agent: \"\"}\n", `{"agent":"x"}`, result.Fail, `got agent: "x"`},
		{"snapshot unknown", "  observed: {snapshot: 4, agent: x}\n", `{"agent":"x"}`, result.Pass, ""},
		{"snapshot", "  observed: {snapshot: 4}\n", `{"snapshot":5}`, result.Fail, "got snapshot: 5"},
		{"only entries", "  observed: {only-entries: true}\n", `{"entries":[{"name":"a","body":"YQ=="}]}`, result.Pass, ""},
		{"a lifecycle record", "  observed: {only-entries: true}\n", `{"entries":` + goodEntries + `}`, result.Fail, "entry 3 of all"},
		{"events", "  observed: {events: [{event: push, name: a}, {event: start}]}\n", `{"events":[{"event":"push","name":"a"},{"event":"start"}]}`, result.Pass, ""},
		{"events in another order", "  observed: {events: [{event: push, name: a}, {event: start}]}\n", `{"events":[{"event":"start"},{"event":"push","name":"a"}]}`, result.Fail, "event 1"},
	} {
		text := partCase("  exit: 0\n" + c.expect)
		if strings.Contains(c.expect, "events:") {
			text = strings.Replace(text, "needs: [instructions]", "needs: [instructions, typed-events]", 1)
		}
		looks(t, c.name, text, evidence(invoked("main", observedOf(c.body))), c.want, c.says)
	}
	looks(t, "the latest answer counts", partCase("  exit: 0\n"+entries),
		evidence(invoked("main", observedOf(`{"entries":[]}`)+observedOf(`{"entries":`+goodEntries+`}`))), result.Pass, "")
	looks(t, "none", partCase("  exit: 0\n"+entries), evidence(invoked("main", `{"name":"b"}`+"\n", stderr("no instructions\n"))), result.Fail, `wrote 1 Output: "b"; stderr ends with "no instructions"`)
}

func TestAnswersOfLoadAndMemory(t *testing.T) {
	with := func(feature, op, expect string) string {
		text := partCase("  exit: 0\n" + expect)
		text = strings.Replace(text, "needs: [instructions]", "needs: [instructions, "+feature+"]", 1)
		return strings.Replace(text, "{op: observe}", op, 1)
	}
	load := func(expect string) string { return with("load", "{op: load, name: a}", "  loaded: ["+expect+"]\n") }
	memory := func(expect string) string {
		return with("memory", "{op: memory, key: n/k}", "  memory: ["+expect+"]\n")
	}
	for _, c := range []struct {
		name, text, answer, body string
		want                     result.Verdict
		says                     string
	}{
		{"text", load("{name: a, found: true, text: hi}"), "conform/loaded", `{"name":"a","as":"text","found":true,"text":"hi"}`, result.Pass, ""},
		{"other text", load("{name: a, text: hi}"), "conform/loaded", `{"name":"a","found":true,"text":"ho"}`, result.Fail, `got text: "ho"`},
		{"json by value", load("{name: a, json: {x: 1.0, y: [true]}}"), "conform/loaded", `{"name":"a","json":{"y":[true],"x":1}}`, result.Pass, ""},
		{"other json", load("{name: a, json: {x: 9007199254740993}}"), "conform/loaded", `{"name":"a","json":{"x":9007199254740992}}`, result.Fail, "9007199254740992"},
		{"bytes", load("{name: a, base64: \"AAE=\"}"), "conform/loaded", `{"name":"a","base64":"AAE="}`, result.Pass, ""},
		{"absent", load("{name: a, found: false}"), "conform/loaded", `{"name":"a","found":false}`, result.Pass, ""},
		{"empty body for an absent name", load("{name: a, found: false}"), "conform/loaded", `{"name":"a","found":true,"text":""}`, result.Fail, "got found: true"},
		{"no answer", load("{name: a, found: false}"), "x", `{}`, result.Fail, "the Output conform/loaded"},
		{"memory", memory("{key: n/k, body: {text: hi}}"), "conform/memory", `{"key":"n/k","body":"aGk="}`, result.Pass, ""},
		{"memory error", memory("{key: n/k, error: true}"), "conform/memory", `{"key":"n/k","error":"404"}`, result.Pass, ""},
		{"memory body for an error", memory("{key: n/k, error: true}"), "conform/memory", `{"key":"n/k","body":""}`, result.Fail, "any"},
		{"memory of another key", memory("{key: n/k, body: {text: hi}}"), "conform/memory", `{"key":"n/z","body":"aGk="}`, result.Fail, `got key: "n/z"`},
	} {
		looks(t, c.name, c.text, evidence(invoked("main", answerRecord(c.answer, c.body))), c.want, c.says)
	}
}

func TestFetches(t *testing.T) {
	const path = "/sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	names := func(i *result.Invocation) { i.Objects[path] = "a" }
	get := asked(transcript.Objects, "GET", path, nil)
	trace := func(id string) func(*result.Invocation) {
		return asked(transcript.Objects, "GET", path, map[string][]string{"Traceparent": {"00-" + id + "-00000000000000aa-01"}})
	}
	for _, c := range []struct {
		name, expect string
		inv          result.Invocation
		want         result.Verdict
		says         string
	}{
		{"fetched", "[{entry: a}]", invoked("main", goodOutput, names, get), result.Pass, ""},
		{"not fetched", "[{entry: a}]", invoked("main", goodOutput, names), result.Fail, `GET of the entry "a", 1 times or more`},
		{"another entry's", "[{entry: a}]", invoked("main", goodOutput, names, asked(transcript.Objects, "GET", "/sha256:00", nil)), result.Fail, "0 such"},
		{"not fetched, as wanted", "[{entry: a, at-most: 0}]", invoked("main", goodOutput, names), result.Pass, ""},
		{"does nothing, as wanted", "[{entry: a, at-most: 0}]", invoked("main", "", names), result.NotTestable, "a sign that the handler was at work"},
		{"fetched against the case", "[{entry: a, at-most: 0}]", invoked("main", goodOutput, names, get), result.Fail, "1 such"},
		{"memory", "[{memory: n s/k}]", invoked("main", goodOutput, asked(transcript.Memory, "GET", "/memories/n%20s/k", nil)), result.Pass, ""},
		{"memory, encoded twice", "[{memory: n s/k}]", invoked("main", goodOutput, asked(transcript.Memory, "GET", "/memories/n%2520s/k", nil)), result.Fail, "0 such"},
		{"path", "[{path: /memories/n/a%20b}]", invoked("main", goodOutput, asked(transcript.Memory, "GET", "/memories/n/a%20b", nil)), result.Pass, ""},
		{"path, more encoded than needed", "[{path: /memories/n/a%20b}]", invoked("main", goodOutput, asked(transcript.Memory, "GET", "/memories/%6e/%61%20%62", nil)), result.Pass, ""},
		{"path, encoded twice", "[{path: /memories/n/a%20b}]", invoked("main", goodOutput, asked(transcript.Memory, "GET", "/memories/n/a%2520b", nil)), result.Fail, "0 such"},
		{"path, a slash encoded", "[{path: /memories/n/a%20b}]", invoked("main", goodOutput, asked(transcript.Memory, "GET", "/memories/n%2Fa%20b", nil)), result.Fail, "0 such"},
		{"same trace", "[{entry: a, same-trace: true}]", invoked("main", goodOutput, names, trace("0123456789abcdef0123456789abcdef")), result.Pass, ""},
		{"other trace", "[{entry: a, same-trace: true}]", invoked("main", goodOutput, names, trace("f123456789abcdef0123456789abcdef")), result.Fail, "0123456789abcdef0123456789abcdef"},
		{"no trace", "[{entry: a, same-trace: true}]", invoked("main", goodOutput, names, get), result.Fail, "without traceparent"},
	} {
		looks(t, c.name, partCase("  exit: 0\n  fetches: "+c.expect+"\n"), evidence(c.inv), c.want, c.says)
	}
}

func TestEndsOfInvocations(t *testing.T) {
	signal := ended(transcript.Ended{How: transcript.HowSignal, Signal: 11, Name: "SIGSEGV"})
	for _, c := range []struct {
		name, exit string
		mod        func(*result.Invocation)
		want       result.Verdict
	}{
		{"status 1 is a failure", "failure", ended(transcript.Ended{How: transcript.HowExit, Code: 1}), result.Pass},
		{"a signal is a failure", "failure", signal, result.Pass},
		{"a broken answer is a failure", "failure", ended(transcript.Ended{How: transcript.HowCut}), result.Pass},
		{"no answer is a failure", "failure", ended(transcript.Ended{How: transcript.HowNoAnswer}), result.Pass},
		{"HTTP status 500 is a failure", "failure", ended(transcript.Ended{How: transcript.HowAnswer, Code: 500}), result.Pass},
		{"HTTP status 204 is no success", "0", ended(transcript.Ended{How: transcript.HowAnswer, Code: 204}), result.Fail},
		{"success is no failure", "failure", ended(transcript.Ended{How: transcript.HowExit}), result.Fail},
		{"a hang is no end", "any", ended(transcript.Ended{How: transcript.HowHang}), result.Hang},
		{"a flood is no end", "failure", ended(transcript.Ended{How: transcript.HowFlood}), result.Crash},
		{"any end", "any", signal, result.Pass},
		{"a signal is no success", "0", signal, result.Crash},
	} {
		looks(t, c.name, partCase("  exit: "+c.exit+"\n"), evidence(invoked("main", goodOutput, c.mod)), c.want, "")
	}
}

func TestAnyOfListsWhatEachAlternativeStumblesOver(t *testing.T) {
	text := partCase("  any-of:\n    - {exit: 0, observed: {entries: [{name: a, error: true}]}}\n    - {exit: failure}\n")
	looks(t, "first", text, evidence(invoked("main", observedOf(`{"entries":[{"name":"a","error":"x"}]}`))), result.Pass, "")
	looks(t, "second", text, evidence(invoked("main", "", ended(transcript.Ended{How: transcript.HowExit, Code: 1}))), result.Pass, "")
	looks(t, "neither", text, evidence(invoked("main", observedOf(`{"entries":[{"name":"a","body":""}]}`))), result.Fail,
		"(1) observed: body: 0 bytes, \"\"; (2) exit: exited with status 0")
	looks(t, "nothing", text, evidence(invoked("main", "")), result.NotTestable, "")
}

func TestStreamRulesNeedRecordsThatCouldBreakThem(t *testing.T) {
	text := func(rule string) string { return partCase("  stream: [" + rule + "]\n") }
	for _, c := range []struct {
		name, rule, stdout string
		want               result.Verdict
		says               string
	}{
		{"kept", "no-bom", goodOutput, result.Pass, ""},
		{"broken", "no-bom", "\xef\xbb\xbf" + goodOutput, result.Fail, "stream/no-bom P3/no-bom fail"},
		{"no record", "no-bom", "", result.NotTestable, "no record on the stream"},
		{"no data", "standard-alphabet", `{"name":"a"}` + "\n", result.NotTestable, "no data in any record"},
		{"data", "standard-alphabet", goodOutput, result.Pass, ""},
		{"a SHOULD", "trailing-lf", goodOutput + strings.TrimSpace(goodOutput), result.Warn, "stream/trailing-lf P3/trailing-lf warn"},
		{"split", "never-split", `{"name":"a","content-type":"text/plain"}` + "\n" + `{"data":"b25l"}` + "\n", result.Fail, "one record as two values"},
		{"header and body string", "never-split", `{"name":"a"}` + "\n" + `"b25l"` + "\n", result.Fail, "stream/never-split P3/never-split fail"},
		{"another rule is broken", "never-split", "hi\n" + goodOutput, result.Fail, "always/no-foreign-content"},
	} {
		looks(t, c.name, text(c.rule), evidence(invoked("main", c.stdout)), c.want, c.says)
	}
}

func TestBeforeCloseDeliveredAndStderr(t *testing.T) {
	held := func(early bool) result.Invocation {
		return invoked("main", goodOutput, func(i *result.Invocation) {
			if early {
				ev := i.Transcript.Events
				i.Transcript.Events = append(ev[:2:2], append(ev[3:], ev[2])...)
			}
		})
	}
	text := partCase("  exit: 0\n  before-close: true\n", "transports: [subprocess]\n")
	text = strings.Replace(text, "input:\n", "input:\n  hold: 2s\n", 1)
	looks(t, "ends before", text, evidence(held(true)), result.Pass, "")
	looks(t, "ends behind", text, evidence(held(false)), result.Fail, "the input had to be closed first")
	looks(t, "does nothing", text, evidence(invoked("main", "", func(i *result.Invocation) {
		i.Transcript.Events = append(i.Transcript.Events[:2:2], i.Transcript.Events[3:]...)
	})),
		result.NotTestable, "a sign that the handler was at work")

	text = partCase("  exit: 0\n  delivered: 2\n")
	again := saw(transcript.Event{Kind: transcript.Sent, Stream: transcript.Stdin, Data: transcript.Bytes("{}\n")})
	looks(t, "two writes", text, evidence(invoked("main", goodOutput, again)), result.Pass, "")
	looks(t, "one write", text, evidence(invoked("main", goodOutput)), result.HarnessError, "1 writes")
	looks(t, "the handler stopped reading", text, evidence(invoked("main", goodOutput, saw(transcript.Event{Kind: transcript.Closed, Stream: transcript.Stdin, Text: "by the peer"}))), result.NotTestable, "")

	text = partCase("  exit: 0\n  stderr: diagnostic 4711\n")
	looks(t, "there", text, evidence(invoked("main", "", stderr("x diagnostic 4711\n"))), result.Pass, "")
	looks(t, "elsewhere", text, evidence(invoked("main", goodOutput, stderr("diagnostic 12\n"))), result.Fail, `14 bytes on stderr; stderr ends with "diagnostic 12"`)
}

func TestSameOutputsOfAllInvocations(t *testing.T) {
	text := partCase("  exit: 0\n  same-outputs: true\n", "invocations: 2\n")
	text = strings.Replace(text, "P3/any-whitespace", "P1/replay-tolerant", 1)
	reordered := `{"data":"b25l","content-type":"text/plain","name":"a"}` + "\n"
	looks(t, "field order is no difference", text, evidence(invoked("main", goodOutput), invoked("main", reordered)), result.Pass, "")
	looks(t, "another body", text, evidence(invoked("main", goodOutput), invoked("main", strings.Replace(goodOutput, "b25l", "b25m", 1))), result.Fail, "invocation 2")
	looks(t, "nothing", text, evidence(invoked("main", ""), invoked("main", "")), result.NotTestable, "")
	looks(t, "one is missing", text, evidence(invoked("main", goodOutput)), result.HarnessError, "holds 1 invocations")
	looks(t, "and what the first showed is void", text, evidence(invoked("main", goodOutput), invoked("main", "", ended(transcript.Ended{How: transcript.HowSignal, Signal: 9}))), result.Crash, "exit P1/replay-tolerant not-run")
	looks(t, "the second dies", text, evidence(invoked("main", goodOutput), invoked("main", "", ended(transcript.Ended{How: transcript.HowSignal, Signal: 9}))), result.Crash, "invocation 2")
}

func TestOutputFields(t *testing.T) {
	for _, c := range []struct {
		name, want, wire string
		verdict          result.Verdict
	}{
		{"duration by value", "{duration: 1500ms}", `{"content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"1.5s"}}`, result.Pass},
		{"other duration", "{duration: 1500ms}", `{"content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"1s"}}`, result.Fail},
		{"no duration", "{duration: 1500ms}", `{"content-type":"application/vnd.pugmark.pause+text"}`, result.Fail},
		{"broken duration", "{duration: 1500ms}", `{"content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"-1.5s"}}`, result.Fail},
		{"json by value", "{body: {json: {a: 1, b: [2]}}}", `{"data":"` + b64(`{ "b": [2], "a": 1 }`) + `"}`, result.Pass},
		{"other json", "{body: {json: {a: 1}}}", `{"data":"` + b64(`{"a": 2}`) + `"}`, result.Fail},
		{"text byte by byte", "{body: {text: \"{}\"}}", `{"data":"` + b64(`{ }`) + `"}`, result.Fail},
		{"no body", "{name: a, body: {text: \"\"}}", `{"name":"a"}`, result.Pass},
		{"wrong type", "{name: \"5\"}", `{"name":5}`, result.Fail},
		{"metadata", "{metadata: {k: v}}", `{"metadata":{"k":"v"}}`, result.Pass},
		{"no metadata", "{name: a, metadata: {}}", `{"name":"a"}`, result.Pass},
		{"more metadata", "{metadata: {k: v}}", `{"metadata":{"k":"v","x":"y"}}`, result.Fail},
		{"metadata that is no strings", "{metadata: {k: \"1\"}}", `{"metadata":{"k":1}}`, result.Fail},
		{"encoded", "{content-encoding: gzip, body: {text: \"\"}}", `{"content-encoding":"gzip","data":"H4sIAAAAAAAA/wMAAAAAAAAAAAA="}`, result.Pass},
		{"claims to be encoded", "{content-encoding: gzip, body: {text: hi}}", `{"content-encoding":"gzip","data":"aGk="}`, result.Fail},
	} {
		looks(t, c.name, partCase("  exit: 0\n  outputs: ["+c.want+"]\n"), evidence(invoked("main", c.wire+"\n")), c.verdict, "")
	}
}
