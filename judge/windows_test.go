package judge

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// dumped replaces the answer of `inspect`.
func dumped(text string) func(*result.Evidence) {
	return func(e *result.Evidence) { e.Steps[4].Output = json.RawMessage(text) }
}

// logged replaces the answer of `log`.
func logged(entries string) func(*result.Evidence) {
	return func(e *result.Evidence) { e.Steps[3].Output = json.RawMessage(`{"entries":[` + entries + `]}`) }
}

// ran says when the run began, and how long it took.
func ran(started string, took int64) func(*result.Evidence) {
	return func(e *result.Evidence) {
		at, err := time.Parse(time.RFC3339Nano, started)
		if err != nil {
			panic(err) // a constant of the test
		}
		e.Steps[2].Started, e.Steps[2].TookMS = at, took
	}
}

// wrote has the handler write its last Output so long after its transcript began.
func wrote(started string, after time.Duration) func(*result.Evidence) {
	return func(e *result.Evidence) {
		at, err := time.Parse(time.RFC3339Nano, started)
		if err != nil {
			panic(err) // a constant of the test
		}
		t := &e.Invocations[0].Transcript
		t.Started = at
		t.Events = append(t.Events, transcript.Event{At: after.Microseconds(), Kind: transcript.Sent, Stream: transcript.Stdout, Data: transcript.Bytes("{}")})
	}
}

// posted makes the invocation one over HTTP, with this request and body.
func posted(target, at, body string, header map[string][]string) func(*result.Evidence) {
	return func(e *result.Evidence) {
		e.Transport = "http"
		t := &e.Invocations[0].Transcript
		t.Transport = "http"
		last := t.Events[len(t.Events)-1]
		t.Events = []transcript.Event{
			{Kind: transcript.Request, Stream: transcript.Post, Text: at, HTTP: &transcript.HTTP{Exchange: 1, Method: "POST", Target: target, Header: header}},
			{Kind: transcript.Received, Stream: transcript.Post, Data: transcript.Bytes(body)},
			{Kind: transcript.Closed, Stream: transcript.Post, Text: "by the peer"},
			last,
		}
	}
}

func began(at string) func(*result.Evidence) {
	return func(e *result.Evidence) {
		e.Invocations[0].Transcript.Started, _ = time.Parse(time.RFC3339Nano, at)
	}
}

// twoSnapshots is the dump of a session with a push and what an invocation wrote;
// the first digest is that of "hello", the other one made up.
const twoSnapshots = `{"session":"` + mainID + `","agent":"me","metadata":{"k":"v"},"version":2,"parent":{"session":"` + childID + `","version":3},
	"snapshots":[
		{"version":2,"type":"normal","entries":[
			{"sequence":2,"name":"b","digest":"sha256:b1b0dd9d0a1adbe8b3d2b7d0ab0fd3c4e5c2d7f4c7f1ea6bd9b8a0a4ab7f0000","size":2},
			{"sequence":3,"content-type":"application/vnd.pugmark.control+json","control":{"status":"stopped"}}]},
		{"version":1,"type":"queueing","entries":[
			{"sequence":1,"name":"a","source-session":"` + childID + `","source-version":4,
			 "digest":"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","size":5}]}]}`

func TestDumpsClocksAndRequests(t *testing.T) {
	s := registry(t)
	named := func(e *result.Evidence) { e.Sessions["child"] = childID }
	stopped := func(at string) string {
		return `{"content-type":"application/vnd.pugmark.control+json","control":{"status":"stopped","start-at":"` + at + `"}}`
	}
	length := map[string][]string{"Content-Length": {"2"}, "Content-Type": {"application/json; charset=utf-8"}}
	scaled := func(e *result.Evidence) { e.TimeScale = 3 }
	for _, c := range []struct {
		name, expect string
		e            *result.Evidence
		want         result.Verdict
		says         string
	}{
		{"snapshots", "{snapshots: [{type: queueing, entries: [{name: a, body: {text: hello}}]}, {type: normal, entries: [{name: b}, {control: {status: stopped}}]}]}", fedWith(goodFed, dumped(twoSnapshots)), result.Pass, ""},
		{"a pushed type", "{snapshots: [{type: pushed}, {}], types: [pushed, normal]}", fedWith(goodFed, dumped(twoSnapshots)), result.Pass, ""},
		{"an invocation's snapshot is not pushed", "{types: [pushed, pushed]}", fedWith(goodFed, dumped(twoSnapshots)), result.Fail, "types"},
		{"another type", "{snapshots: [{type: normal}, {}]}", fedWith(goodFed, dumped(twoSnapshots)), result.Fail, "snapshot 1, type"},
		{"a missing snapshot", "{snapshots: [{}, {}, {}]}", fedWith(goodFed, dumped(twoSnapshots)), result.Fail, "3 snapshots"},
		{"another digest", "{snapshots: [{entries: [{body: {text: hellp}}]}, {}]}", fedWith(goodFed, dumped(twoSnapshots)), result.Fail, "entry 1, body"},
		{"a gap", "{snapshots: [{}, {}]}", fedWith(goodFed, dumped(strings.Replace(twoSnapshots, `"version":2,"type"`, `"version":3,"type"`, 1))), result.Fail, "version 3 in its place"},
		{"a version past the snapshots", "{snapshots: [{}, {}]}", fedWith(goodFed, dumped(strings.Replace(twoSnapshots, `"version":2,"parent"`, `"version":5,"parent"`, 1))), result.Fail, "2, as there are snapshots"},
		{"snapshots of nothing", "{snapshots: []}", fedWith(goodFed, dumped(`{}`)), result.Fail, "session"},
		{"source", "{snapshots: [{entries: [{source: child, source-version: 4}]}, {}]}", fedWith(goodFed, dumped(twoSnapshots), named), result.Pass, ""},
		{"another source version", "{snapshots: [{entries: [{source: child, source-version: 3}]}, {}]}", fedWith(goodFed, dumped(twoSnapshots), named), result.Fail, "source-version"},
		{"no fork", "{snapshots: [{entries: [{fork: false}]}, {}]}", fedWith(goodFed, dumped(twoSnapshots)), result.Pass, ""},
		{"a target without the flag", "{log: [{fork: false}]}", fedWith(goodFed, logged(`{"name":"a","target-session":"`+childID+`"}`), func(e *result.Evidence) {}), result.Fail, "0 entries"},
		{"a target without the flag, in the dump", "{snapshots: [{entries: [{fork: false}]}, {}]}", fedWith(goodFed, dumped(strings.Replace(twoSnapshots, `"name":"a"`, `"name":"a","target-session":"`+childID+`"`, 1))), result.Fail, "target-session"},
		{"rising", "{rising: true}", fedWith(goodFed, dumped(twoSnapshots)), result.Pass, ""},
		{"not rising", "{rising: true}", fedWith(goodFed, dumped(strings.Replace(twoSnapshots, `"sequence":3`, `"sequence":2`, 1))), result.Fail, "a sequence number above 2"},
		{"nothing to rise", "{rising: true}", fedWith(goodFed, dumped(`{"session":"`+mainID+`","version":0}`)), result.NotTestable, "two entries"},
		{"manifest", "{manifest: {agent: me, handler: \"\", metadata: {k: v}}}", fedWith(goodFed, dumped(twoSnapshots)), result.Pass, ""},
		{"another agent in the manifest", "{manifest: {agent: you}}", fedWith(goodFed, dumped(twoSnapshots)), result.Fail, "manifest, agent"},
		{"other metadata", "{manifest: {metadata: {}}}", fedWith(goodFed, dumped(twoSnapshots)), result.Fail, "manifest, metadata"},
		{"parent version", "{parent-version: 3}", fedWith(goodFed, dumped(twoSnapshots)), result.Pass, ""},
		{"another parent version", "{parent-version: 2}", fedWith(goodFed, dumped(twoSnapshots)), result.Fail, "got 3"},
		{"no parent", "{parent-version: 2}", fedWith(goodFed, dumped(`{"session":"`+mainID+`","version":0}`)), result.Fail, "no parent"},

		{"any order", "{any-order: true, log: [{name: b}, {name: a}]}", fedWith(goodFed, logged(`{"name":"a"},{"name":"b"}`)), result.Pass, ""},
		{"any order, one twice", "{any-order: true, log: [{name: b}, {name: a}]}", fedWith(goodFed, logged(`{"name":"a"},{"name":"b"},{"name":"b"}`)), result.Fail, "a surplus entry"},
		{"any order, one missing", "{any-order: true, log: [{name: a}, {name: a}]}", fedWith(goodFed, logged(`{"name":"a"},{"name":"b"}`)), result.Fail, "none that is left"},

		{"start-at", "{whole-log: true, log: [{control: {after: 2m}}]}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 100), logged(stopped("2026-01-02T03:06:05.05Z"))), result.Pass, ""},
		{"start-at before the last Output", "{whole-log: true, log: [{control: {after: 2m}}]}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 5000), wrote("2026-01-02T03:04:05Z", 3*time.Second), logged(stopped("2026-01-02T03:06:05.05Z"))), result.Fail, "from 2026-01-02T03:06:07.95Z"},
		{"start-at after the last Output", "{whole-log: true, log: [{control: {after: 2m}}]}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 5000), wrote("2026-01-02T03:04:05Z", 3*time.Second), logged(stopped("2026-01-02T03:06:08Z"))), result.Pass, ""},
		{"start-at in another zone", "{whole-log: true, log: [{control: {after: 2m}}]}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 100), logged(stopped("2026-01-02T08:36:05.05+05:30"))), result.Pass, ""},
		{"start-at too early", "{whole-log: true, log: [{control: {after: 2m}}]}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 100), logged(stopped("2026-01-02T03:06:04.9Z"))), result.Fail, "control start-at"},
		{"start-at too late", "{whole-log: true, log: [{control: {after: 2m}}]}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 100), logged(stopped("2026-01-02T03:06:06Z"))), result.Fail, "control start-at"},
		{"no start-at", "{whole-log: true, log: [{control: {after: 2m}}]}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 100), logged(stopped(""))), result.Fail, "absent"},
		{"start-at of no format", "{whole-log: true, log: [{control: {after: 2m}}]}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 100), logged(stopped("2026-01-02 03:06:05"))), result.Fail, "control start-at"},
		{"slept", "{fed: {slept: true}}", fedWith(goodFed, began("2026-01-02T03:06:05.001Z"), logged(stopped("2026-01-02T03:06:05Z"))), result.Pass, ""},
		{"woken too early", "{fed: {slept: true}}", fedWith(goodFed, began("2026-01-02T03:06:04.9Z"), logged(stopped("2026-01-02T03:06:05Z"))), result.Fail, "or later"},
		{"slept without a start-at", "{fed: {slept: true}}", fedWith(goodFed, began("2026-01-02T03:06:04.9Z"), logged(stopped(""))), result.Fail, "a control message with a start-at"},
		{"waited", "{run: success, waited: {at-least: 1s, at-most: 2s}}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 1500)), result.Pass, ""},
		{"too short", "{run: success, waited: {at-least: 1s}}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 999)), result.Fail, "it takes at least 1s"},
		{"too long", "{run: success, waited: {at-most: 2s}}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 2001)), result.Fail, "it takes at most 2s"},
		{"long on a slow machine", "{run: success, waited: {at-most: 2s}}", fedWith(goodFed, ran("2026-01-02T03:04:05Z", 5999), scaled), result.Pass, ""},
		{"quick, without any invocation", "{waited: {at-most: 2s}}", fedWith(goodFed, never, ran("2026-01-02T03:04:05Z", 1)), result.NotTestable, "no invocation"},

		{"request", "{fed: {request: {method: POST, query: {agent: \"\", session: '{main}', snapshot: \"7\"}, headers: {Content-Type: application/json, Transfer-Encoding: \"\"}, length: true, loopback: true}}}",
			fedWith("", posted("/?agent=&session="+mainID+"&snapshot=7", "tcp 127.0.0.1:80", "{}", length)), result.Pass, ""},
		{"another method", "{fed: {request: {method: PUT}}}", fedWith("", posted("/", "", "{}", length)), result.Fail, "method: POST"},
		{"no session", "{fed: {request: {query: {session: '{main}'}}}}", fedWith("", posted("/?agent=", "", "{}", length)), result.Fail, "query session"},
		{"a parameter twice", "{fed: {request: {query: {snapshot: \"1\"}}}}", fedWith("", posted("/?snapshot=1&snapshot=1", "", "{}", length)), result.Fail, "query snapshot"},
		{"another content type", "{fed: {request: {headers: {Content-Type: text/plain}}}}", fedWith("", posted("/", "", "{}", length)), result.Fail, "Content-Type"},
		{"an empty header is there", "{fed: {request: {headers: {X-Pugmark-Session-Metadata: \"\"}}}}", fedWith("", posted("/", "", "{}", map[string][]string{"x-pugmark-session-metadata": {""}})), result.Fail, "there, and empty"},
		{"chunked", "{fed: {request: {length: true}}}", fedWith("", posted("/", "", "{}", map[string][]string{"Transfer-Encoding": {"chunked"}})), result.Fail, "Content-Length: absent"},
		{"another length", "{fed: {request: {length: true}}}", fedWith("", posted("/", "", "{}\n", length)), result.Fail, "Content-Length: 2"},
		{"two lengths", "{fed: {request: {length: true}}}", fedWith("", posted("/", "", "{}", map[string][]string{"Content-Length": {"2", "2"}})), result.Fail, "2,2"},
		{"another address", "{fed: {request: {loopback: true}}}", fedWith("", posted("/", "tcp 10.0.0.1:80", "{}", length)), result.Fail, "socket"},
		{"a loopback of another kind", "{fed: {request: {loopback: true}}}", fedWith("", posted("/", "tcp [::1]:80", "{}", length)), result.Fail, "socket"},
		{"no request", "{fed: {request: {method: POST}}}", fedWith(goodFed), result.NotTestable, "the request of the invocation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := New(s).Judge(looseRuntime(t, c.expect), c.e)
			// What the stream of a made-up request breaks is not what is asked here.
			if got.Verdict != c.want && !onlyAlways(got, c.want) || !strings.Contains(all(got), c.says) {
				t.Errorf("want %s and %q, got:\n%s", c.want, c.says, all(got))
			}
		})
	}
}

// onlyAlways reports whether the checks of the case's own are what is wanted, and
// nothing but rules that hold in every case were broken.
func onlyAlways(got result.Case, want result.Verdict) bool {
	for _, k := range got.Checks {
		if strings.HasPrefix(k.ID, "always/") {
			continue
		}
		if (want == result.Pass) != (k.Verdict == result.Pass) || want == result.NotTestable && k.Verdict != result.NotRun {
			return false
		}
	}
	return true
}

func TestBodiesBesideUrls(t *testing.T) {
	s := registry(t)
	const object = "/sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	both := fedMemory + `{"name":"a","data":"aGVsbG8=","url":"http://127.0.0.1:2` + object + `"}` + "\n" + fedStart
	packed := map[string][]string{"Content-Encoding": {"gzip"}, "Content-Length": {"5"}}
	for _, c := range []struct {
		name, expect string
		e            *result.Evidence
		want         result.Verdict
		says         string
	}{
		{"identical", "{fed: {identical: true}}", fedWith(both, fetchedBody(200, object, "hello", nil)), result.Pass, ""},
		{"not identical", "{fed: {identical: true}}", fedWith(both, fetchedBody(200, object, "hellp", nil)), result.Fail, "as in data"},
		{"not asked", "{fed: {identical: true}}", fedWith(both), result.NotTestable, "the script made none"},
		{"data alone", "{fed: {identical: true}}", fedWith(fedMemory + `{"name":"a","data":"aGVsbG8="}` + "\n" + fedStart), result.Pass, ""},
		{"url alone", "{fed: {identical: true}}", fedWith(goodFed, fetchedBody(200, object, "hello", nil)), result.Pass, ""},
		{"no body known", "{fed: {identical: true}}", fedWith(goodFed), result.NotTestable, "whose body is known"},
		{"stored bytes", "{fed: {fetched: [{status: 200, stored: {text: hello}}]}}", fedWith(goodFed, fetchedBody(200, object, "hello", map[string][]string{"Content-Length": {"5"}})), result.Pass, ""},
		{"other bytes", "{fed: {fetched: [{stored: {text: hello}}]}}", fedWith(goodFed, fetchedBody(200, object, "hellp", nil)), result.Fail, "stored bytes"},
		{"another length", "{fed: {fetched: [{stored: {text: hello}}]}}", fedWith(goodFed, fetchedBody(200, object, "hello", map[string][]string{"Content-Length": {"4"}})), result.Fail, "Content-Length"},
		{"unpacked on the way", "{fed: {fetched: [{stored: {text: hello, encoding: gzip}}]}}", fedWith(goodFed, fetchedBody(200, object, "hello", packed)), result.Fail, "stored bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := New(s).Judge(looseRuntime(t, c.expect), c.e)
			if got.Verdict != c.want || !strings.Contains(all(got), c.says) {
				t.Errorf("want %s and %q, got:\n%s", c.want, c.says, all(got))
			}
		})
	}
}
