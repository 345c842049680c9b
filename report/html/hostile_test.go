//go:build unix

package html

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/report/html/browsertest"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// hostile is what a subject can write that must not act. Whatever runs of it sets
// pwned, opens a dialog or asks for something.
func hostile() []string {
	return []string{
		`<script>pwned=1;alert(1)</script>`,
		`</script><script>pwned=1</script></style><style>*{color:red}</style>`,
		`"><img src=x onerror="pwned=1"><svg onload=pwned=1>`,
		`' onmouseover='pwned=1' autofocus onfocus='pwned=1`,
		"` onclick=pwned=1 `",
		`javascript:pwned=1//`,
		`data:text/html,<script>pwned=1</script>`,
		`</title></textarea></details></pre><!--<iframe src="javascript:pwned=1">--><base href="http://127.0.0.1:9/">`,
		`<!-- --!> <![CDATA[ ]]> <meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">`,
		`<link rel=stylesheet href=http://127.0.0.1:9/x.css><style>@import 'http://127.0.0.1:9/y.css';body{background:url(http://127.0.0.1:9/z)}</style>`,
		`{{.Subject}}{{template "body"}}${pwned=1}<%= pwned %>`,
		`&lt;script&gt;&#60;b&#62;&quot;&NewLine;&colon;%3Cscript%3E\u003cscript\u003e\x3cb\x3e`,
		"\x1b[31mred\x1b]0;title\x07\x00\u202eevil\u2066\u200b\ufeff\u2028\ufffe\x7f",
		"\xff\xfe\xed\xa0\x80\xc0\xaf<b>",
		"#case=x&verdict=fail\n- <b>\n+ <b>\n  00000000  3c 62 3e\n\t<table><tr><td>",
		`expression(pwned=1);}</style><b>behavior:url(#x)`,
		`<a href="javascript:pwned=1">x</a><form action=http://127.0.0.1:9/><button formaction=javascript:pwned=1>`,
		`<math><mtext></form><form><mglyph><style></math><img src onerror=pwned=1>`,
	}
}

// harmless is a text of the same shape in which nothing is markup and no word is
// one that a browser could know.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || r == '&' || unicode.IsLetter(r) {
			return 'x'
		}
		return r
	}, s)
}

// possessed is a run in which a subject wrote each of the texts wherever it can
// write.
func possessed(t testing.TB, texts []string) *storedRun {
	r := newRun(t)
	all := strings.Join(texts, " ")
	r.run.Subject = result.Subject{Name: all, Version: all, Kinds: []string{all}, Transports: texts, Features: texts}
	r.run.Selection, r.run.Suite = result.Selection{Patterns: texts, Shard: all}, result.Suite{Version: all, Cases: all}
	r.run.Platform, r.run.Command, r.run.Started = all, texts, all
	r.run.Masked, r.run.Repeat, r.run.Known = texts, 3, &result.Excuses{File: all}
	for i, text := range texts {
		id := fmt.Sprintf("handler/hostile/%d", i)
		r.run.Known.Entries = append(r.run.Known.Entries,
			result.Excuse{Line: 2 * i, Case: text, Transport: text, Verdict: result.Fail, Requirements: texts, Where: texts, Reason: text, Issue: text, Expires: text, Problem: text},
			result.Excuse{Line: 2*i + 1, Case: text, Checks: texts, Reason: text, Issue: "https://" + text})
		r.run.Requirements = append(r.run.Requirements, result.Requirement{ID: "P3/" + text, Level: text, Side: text, Section: text, Text: text, Verdict: result.Fail, Cases: []string{id, text}})
		checks := []result.Check{
			{ID: text, Requirement: "P3/" + text, Readings: []string{text}, Verdict: result.Fail, Where: text, Want: text, Got: text + "!", Diff: text + "\n- " + text + "\n+ " + text + "!"},
			{ID: "named" + text, Requirement: "P3/any-whitespace", Verdict: result.Fail, Where: "stdout, byte 3", Want: "body: " + quoted(text), Got: "body: " + quoted(text+"!") + ", name: " + quoted(text)},
			{ID: "not run" + text, Requirement: text, Verdict: result.NotRun, Got: text},
		}
		r.add(result.Case{ID: id, Transport: "subprocess", Why: text, Verdict: result.Fail, Reason: text, Rerun: text, Checks: checks}, spoken(t, text))
		r.add(result.Case{ID: id, Transport: "rpc", Why: text, Verdict: result.Crash, Reason: text + " and more", Rerun: text, Evidence: text}, nil)
		r.add(result.Case{ID: text, Transport: text, Why: text, Verdict: result.NotApplicable, Reason: text, Rerun: text, Evidence: text}, nil)
	}
	return r
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// spoken is evidence of both kinds of subject with the text in everything that they
// can set.
func spoken(t testing.TB, text string) *result.Evidence {
	said := func(body string) string {
		object, err := json.Marshal(map[string]any{"name": text, "data": []byte(body), "metadata": map[string]string{text: text}})
		require.NoError(t, err)
		return string(object)
	}
	header := map[string][]string{"X-" + text: {text, text}}
	e := overPipes(text+"\n"+said(text)+"\n"+said(`{"deep": `+quoted(text)+`}`)+"\n"+said("\x00\xff"+text)+"\n", text, 1)
	e.Features, e.Fault, e.TimedOut, e.Sessions = []string{text}, text, text, map[string]string{text: text}
	e.Steps = []result.Step{{Line: 3, Verb: "log", Args: []string{text}, Output: json.RawMessage(`{"entries":` + quoted(text) + `}`),
		Error: &result.StepError{Kind: text, Message: text}, WantError: true, Invocations: 1}}
	tr := &e.Invocations[0].Transcript
	tr.Events = append(tr.Events,
		transcript.Event{At: 4000, Kind: transcript.Request, Stream: transcript.Objects, HTTP: &transcript.HTTP{Exchange: 1, Method: text, Target: "/" + text, Header: header}},
		transcript.Event{At: 4100, Kind: transcript.Response, Stream: transcript.Objects, HTTP: &transcript.HTTP{Exchange: 1, Status: 200, Header: header}},
		transcript.Event{At: 4200, Kind: transcript.Environment, Variables: map[string]string{text: text}},
		transcript.Event{At: 4300, Kind: transcript.Note, Text: text}, transcript.Event{At: 4400, Kind: transcript.Closed, Stream: text, Text: text},
		event(4500, transcript.Received, text, text),
		transcript.Event{At: 5000, Kind: transcript.Exited, Ended: &transcript.Ended{How: text, Name: text, Detail: text}},
	)
	e.Invocations[0].Objects = map[string]string{text: text}
	return e
}

// census counts, in the page, elements by name and attributes by element and name.
const census = `(() => {
	const n = {};
	const add = k => { n[k] = (n[k] || 0) + 1; };
	for (const el of document.querySelectorAll('*')) {
		add(el.tagName);
		for (const a of el.attributes) add(el.tagName + ' ' + a.name);
	}
	return n;
})()`

// Every text stands in every field. The page with hostile texts has the elements and
// attributes of the page with harmless ones, nothing of them runs, and nothing is
// asked for.
func testHostileTextStaysText(t *testing.T, b *browsertest.Browser) {
	texts := hostile()
	tame := make([]string, len(texts))
	for i, text := range texts {
		tame[i] = harmless(text)
	}
	look := func(texts []string) (*browsertest.Tab, map[string]int) {
		tab := b.Open(t, possessed(t, texts).file(), "", browsertest.Look{})
		return tab, browsertest.Value[map[string]int](t, tab, census)
	}
	_, want := look(tame)
	tab, got := look(texts)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("elements and attributes (-harmless +hostile):\n%s", diff)
	}
	// The comparison is of pages that hold the texts, not of empty ones.
	if want["LI"] < 10*len(texts) || want["MARK"] < len(texts) || want["TABLE"] != len(texts) {
		t.Errorf("the page with harmless texts has %d items, %d marks and %d tables of %d texts", want["LI"], want["MARK"], want["TABLE"], len(texts))
	}
	// Everything is opened, pointed at and clicked, where an event could hide.
	browsertest.Value[bool](t, tab, `(() => {
		for (const d of document.querySelectorAll('details')) d.open = true;
		for (const el of document.querySelectorAll('main *')) for (const e of ['mouseover', 'focus', 'load', 'error']) el.dispatchEvent(new Event(e));
		for (const el of document.querySelectorAll('main a')) if (!/^#/.test(el.getAttribute('href')) && !(el.closest('.excuse') && /^https:/.test(el.getAttribute('href')))) throw el.outerHTML;
		return true;
	})()`)
	if browsertest.Value[bool](t, tab, `'pwned' in window`) {
		t.Error("a text of the subject ran")
	}
	if said := tab.Said(); len(said) > 0 {
		t.Errorf("the page said: %q", said)
	}
	if asked := tab.Asked(); len(asked) > 0 {
		t.Errorf("the page asked for %q", asked)
	}
	// Each text can be read: it is on the page as text, controls made visible.
	shown := browsertest.Value[string](t, tab, `document.body.textContent`)
	for _, text := range texts {
		if !strings.Contains(shown, line(text, 10_000)) {
			t.Errorf("the page does not show %q", text)
		}
	}
	if active := slices.Collect(maps.Keys(activeIn(shown))); len(active) > 0 {
		t.Errorf("characters that act are on the page: %q", active)
	}
}

// activeIn is the characters of a text that are not shown as themselves.
func activeIn(text string) map[rune]bool {
	all := map[rune]bool{}
	for _, r := range text {
		if r != '\n' && r != '\t' && r != '\u00a0' && !unicode.IsPrint(r) {
			all[r] = true
		}
	}
	return all
}

// A text of five megabytes wherever a handler writes leaves a page as small as ever.
func TestLongHostileTextIsBounded(t *testing.T) {
	text := strings.Repeat(`<img src=x onerror=pwned=1>`+"\x00", 5<<20/28)
	r := newRun(t)
	r.run.Subject.Name, r.run.Subject.Version, r.run.Subject.Features = text, text, []string{text}
	r.requirement("P3/any-whitespace", result.Fail, "handler/long/text")
	r.add(result.Case{ID: "handler/long/text", Transport: "subprocess", Why: text, Verdict: result.Fail, Reason: text, Checks: []result.Check{
		{ID: "long", Requirement: "P3/any-whitespace", Verdict: result.Fail, Where: text, Want: text, Got: "got " + text, Diff: "- " + text},
	}}, overPipes(record(t, text, text)+text, text, 1))
	if page := r.page(); len(page) > 500_000 {
		t.Errorf("the page has %d bytes", len(page))
	} else if strings.Contains(string(page), "<img") || !strings.Contains(string(page), "left out") {
		t.Error("the text is not escaped, or what is left out is not counted")
	}
}
