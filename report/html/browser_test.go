//go:build unix

package html

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/report/html/browsertest"
)

// All that needs a browser shares one: to start it takes longer than most of what is
// asked of it.
func TestInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	for _, test := range []struct {
		fact string
		run  func(*testing.T, *browsertest.Browser)
	}{
		{"hostile text stays text", testHostileTextStaysText},
		{"the filters choose, and the address keeps them", testFilters},
		{"links lead to their places, and back", testLinks},
		{"the keys are enough", testKeys},
		{"every text has contrast, by day and by night", testContrast},
		{"a phone does not scroll sideways", testPhone},
		{"without its script the page can be read", testWithoutScript},
		{"a command can be copied", testCopy},
	} {
		t.Run(test.fact, func(t *testing.T) { test.run(t, b) })
	}
}

// onPage is a file with the page of the sample, made once for a test.
func onPage(t *testing.T, b *browsertest.Browser, fragment string, look browsertest.Look) *browsertest.Tab {
	t.Helper()
	tab := b.Open(t, sample(t).file(), fragment, look)
	t.Cleanup(func() {
		if said := tab.Said(); len(said) > 0 {
			t.Errorf("the page said: %q", said)
		}
		if asked := tab.Asked(); len(asked) > 0 {
			t.Errorf("the page asked for %q", asked)
		}
	})
	return tab
}

// results is the places of the results that are to be seen.
const results = `[...document.querySelectorAll('details.case [data-v]')].filter(e => !e.closest('[hidden]')).map(e => (e.id || e.querySelector('[id]').id).replace('case=', '')).sort()`

// requirements is the requirements that are to be seen.
const requirementsSeen = `[...document.querySelectorAll('details.req')].filter(e => !e.closest('[hidden]')).map(e => e.querySelector('[id]').id.replace('requirement=', '')).sort()`

func testFilters(t *testing.T, b *browsertest.Browser) {
	tab := onPage(t, b, "", browsertest.Look{})
	seen := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, browsertest.Value[[]string](t, tab, results)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	}
	address := func(want string) {
		t.Helper()
		if got := browsertest.Value[string](t, tab, `location.hash`); got != want {
			t.Errorf("the fragment is %q, want %q", got, want)
		}
	}
	if got := browsertest.Value[[]string](t, tab, results); len(got) != 11 {
		t.Errorf("%d results without a filter, want 11: %q", len(got), got)
	}
	tab.Click(t, `input[name=verdict][value=fail]`)
	seen("handler/framing/spaces@subprocess", "handler/framing/tabs@rpc", "handler/framing/tabs@subprocess", "handler/inline/data-alone@subprocess")
	address("#verdict=fail")
	if diff := cmp.Diff([]string{"P3/any-whitespace", "P7.1/prefer-data"}, browsertest.Value[[]string](t, tab, requirementsSeen)); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
	tab.Click(t, `input[name=transport][value=rpc]`)
	seen("handler/framing/tabs@rpc")
	address("#verdict=fail&transport=rpc")
	if got := browsertest.Value[string](t, tab, `document.getElementById('found').textContent`); got != "1 of 11 results, 1 of 7 requirements" {
		t.Errorf("the count says %q", got)
	}
	browsertest.Value[bool](t, tab, `history.back() ?? true`)
	waitFor(t, tab, `location.hash === '#verdict=fail' && !document.querySelector('input[name=transport][value=rpc]').checked`)
	seen("handler/framing/spaces@subprocess", "handler/framing/tabs@rpc", "handler/framing/tabs@subprocess", "handler/inline/data-alone@subprocess")
	// Each word is looked for, also in what was recorded.
	tab.Click(t, `#q`)
	tab.Press(t, "TRACEBACK extra")
	seen("handler/framing/tabs@rpc", "handler/framing/tabs@subprocess")
	address("#verdict=fail&q=TRACEBACK%20extra")
	tab.Click(t, `button[type=reset]`)
	address("")
	// The side of a requirement, and its level, are those of its cases too.
	tab.Click(t, `input[name=level][value=SHOULD]`)
	seen("handler/empty/omit@subprocess")
	tab.Press(t, kb.End)
	if browsertest.Value[bool](t, tab, `document.getElementById('nothing').checkVisibility()`) {
		t.Error("the page says that nothing matches")
	}
	// A link with filters restores them.
	other := onPage(t, b, "#transport=rpc&q=name", browsertest.Look{})
	if diff := cmp.Diff([]string{"handler/framing/emoji@rpc"}, browsertest.Value[[]string](t, other, results)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if got := browsertest.Value[string](t, other, `document.getElementById('q').value + document.querySelector('input[value=rpc]').checked`); got != "nametrue" {
		t.Errorf("the controls were not restored: %q", got)
	}
}

// waitFor waits, in the page, until a condition holds.
func waitFor(t *testing.T, tab *browsertest.Tab, condition string) {
	t.Helper()
	require.True(t, browsertest.Value[bool](t, tab, `new Promise(done => {
		const until = Date.now() + 10000;
		const look = () => (`+condition+`) ? done(true) : Date.now() > until ? done(false) : setTimeout(look, 5);
		look();
	})`), condition)
}

// inSight tells whether a place is open, begins in the window, and holds the focus.
func inSight(id string) string {
	return `(() => {
	const el = document.getElementById(` + quoted(id) + `).closest('details');
	const box = el.getBoundingClientRect();
	return el.open && el.checkVisibility() && box.top > -2 && box.top < innerHeight && el.contains(document.activeElement);
})()`
}

func testLinks(t *testing.T, b *browsertest.Browser) {
	tab := onPage(t, b, "#case=handler/framing/tabs@rpc", browsertest.Look{})
	waitFor(t, tab, inSight("case=handler/framing/tabs@rpc"))
	tab.Click(t, `[id="case=handler/framing/tabs@rpc"] .check a`)
	waitFor(t, tab, inSight("requirement=P3/any-whitespace"))
	if got := browsertest.Value[string](t, tab, `location.hash`); got != "#requirement=P3/any-whitespace" {
		t.Errorf("the fragment is %q", got)
	}
	tab.Click(t, `[id="requirement=P3/any-whitespace"] ~ .links a[href$="spaces"]`)
	waitFor(t, tab, inSight("case=handler/framing/spaces"))
	browsertest.Value[bool](t, tab, `history.back() ?? true`)
	waitFor(t, tab, inSight("requirement=P3/any-whitespace"))
	browsertest.Value[bool](t, tab, `history.back() ?? true`)
	waitFor(t, tab, inSight("case=handler/framing/tabs@rpc"))
	// A place and filters go together, and a link to what the filters hide takes them away.
	browsertest.Value[bool](t, tab, `(location.hash = '#case=handler/empty/omit&verdict=warn', true)`)
	waitFor(t, tab, inSight("case=handler/empty/omit"))
	if diff := cmp.Diff([]string{"handler/empty/omit@subprocess"}, browsertest.Value[[]string](t, tab, results)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	browsertest.Value[bool](t, tab, `(document.querySelector('nav a[href="#group=fail/P7.1/prefer-data"]').click(), true)`)
	waitFor(t, tab, `location.hash === '#group=fail/P7.1/prefer-data' && document.activeElement.id === 'group=fail/P7.1/prefer-data'`)
	// Each link of the page leads somewhere.
	if lost := browsertest.Value[[]string](t, tab, `[...document.querySelectorAll('a')].map(a => a.getAttribute('href')).filter(h => !document.getElementById(decodeURIComponent(h.slice(1))))`); len(lost) > 0 {
		t.Errorf("links that lead nowhere: %q", lost)
	}
	// An address that is none does no harm.
	browsertest.Value[bool](t, tab, `(location.hash = '#case=%E0%A4%A&verdict=%&q', true)`)
	waitFor(t, tab, results+`.length === 0 && document.getElementById('nothing').checkVisibility()`)
}

func testKeys(t *testing.T, b *browsertest.Browser) {
	tab := onPage(t, b, "", browsertest.Look{})
	active := func() string {
		return browsertest.Value[string](t, tab, `(e => e.id || e.closest('details')?.querySelector('[id]').id || e.className || e.textContent.trim())(document.activeElement)`)
	}
	visible := func(what string) {
		t.Helper()
		style := browsertest.Value[[]string](t, tab, `(s => [s.outlineStyle, s.outlineWidth])(getComputedStyle(document.activeElement))`)
		if style[0] != "solid" || style[1] == "0px" {
			t.Errorf("the focus on %s can't be seen: %q", what, style)
		}
	}
	tab.Press(t, kb.Tab)
	if got := active(); got != "skip" {
		t.Errorf("the first stop is %q, want the link to the results", got)
	}
	visible("the first link")
	tab.Press(t, kb.Enter)
	waitFor(t, tab, `document.activeElement.id === 'results'`)
	// From the results on: the group's requirement, then its cases.
	tab.Press(t, kb.Tab+kb.Tab)
	if got := active(); got != "case=handler/framing/spaces" {
		t.Errorf("the first case is reached as %q", got)
	}
	visible("a case")
	tab.Press(t, kb.Enter)
	waitFor(t, tab, `document.getElementById('case=handler/framing/spaces').closest('details').open`)
	tab.Press(t, kb.ArrowDown)
	if got := active(); got != "case=handler/framing/spaces@subprocess" {
		t.Errorf("the arrow leads to %q, want the result inside", got)
	}
	tab.Press(t, kb.ArrowUp)
	tab.Press(t, kb.Enter)
	waitFor(t, tab, `!document.getElementById('case=handler/framing/spaces').closest('details').open`)
	tab.Press(t, kb.ArrowDown)
	if got := active(); got != "case=handler/framing/tabs" {
		t.Errorf("the arrow leads to %q, want the next case", got)
	}
	// Every stop on the way through the page, with all of it open, shows the focus.
	stops := browsertest.Value[[]string](t, tab, `(() => {
		for (const d of document.querySelectorAll('details')) d.open = true;
		const stops = [...document.querySelectorAll('a, button, input, summary, [tabindex="0"]')].filter(e => e.checkVisibility());
		return stops.filter(e => { e.focus({focusVisible: true}); return document.activeElement !== e || getComputedStyle(e).outlineStyle === 'none'; }).map(e => e.outerHTML.slice(0, 80));
	})()`)
	if len(stops) > 0 {
		t.Errorf("stops without a visible focus: %q", stops)
	}
}

// contrast lists the texts of the page whose contrast with what is behind them is
// below 4.5, by the formula of WCAG 2.
const contrast = `(() => {
	for (const d of document.querySelectorAll('details')) d.open = true;
	const parse = c => c.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => { const f = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
	const behind = el => { for (; el; el = el.parentElement) { const c = parse(getComputedStyle(el).backgroundColor); if (c.length < 4 || c[3] === 1) return c; if (c[3] > 0) throw 'half transparent'; } throw 'no background'; };
	const faults = [];
	let texts = 0;
	const look = (el, pseudo) => {
		texts++;
		const a = light(parse(getComputedStyle(el, pseudo).color)), b = light(behind(el));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) faults.push(ratio.toFixed(2) + ' ' + el.outerHTML.slice(0, 90));
	};
	for (const el of document.querySelectorAll('body *')) {
		if (el.closest('svg') || !el.checkVisibility()) continue;
		if ([...el.childNodes].some(n => n.nodeType === 3 && n.data.trim())) look(el);
		for (const p of ['::before', '::after']) if (!['none', 'normal', ''].includes(getComputedStyle(el, p).content)) look(el, p);
	}
	return {faults, texts, paper: getComputedStyle(document.documentElement).backgroundColor, ink: getComputedStyle(document.body).color};
})()`

type measured struct {
	Faults     []string `json:"faults"`
	Texts      int      `json:"texts"`
	Paper, Ink string
}

func testContrast(t *testing.T, b *browsertest.Browser) {
	var seen []measured
	for _, dark := range []bool{false, true} {
		tab := onPage(t, b, "", browsertest.Look{Dark: dark})
		m := browsertest.Value[measured](t, tab, contrast)
		if len(m.Faults) > 0 {
			t.Errorf("dark %v: too little contrast: %q", dark, m.Faults)
		}
		if m.Texts < 300 {
			t.Errorf("dark %v: only %d texts were looked at", dark, m.Texts)
		}
		seen = append(seen, m)
		// Verdicts are words, so color is never all that tells them apart.
		if mute := browsertest.Value[[]string](t, tab, `[...document.querySelectorAll('.v, .t:not(:empty)')].filter(e => !e.textContent.trim() || getComputedStyle(e, '::before').content === 'none' && e.matches('.bad, .good, .odd, .open')).map(e => e.outerHTML)`); len(mute) > 0 {
			t.Errorf("dark %v: verdicts by color alone: %q", dark, mute)
		}
	}
	if seen[0].Paper == seen[1].Paper || seen[0].Ink == seen[1].Ink {
		t.Errorf("the dark page has the colors of the light one: %s on %s", seen[1].Ink, seen[1].Paper)
	}
}

func testPhone(t *testing.T, b *browsertest.Browser) {
	tab := onPage(t, b, "", browsertest.Look{Width: 360, Height: 740, Phone: true})
	wide := browsertest.Value[[]string](t, tab, `(() => {
		for (const d of document.querySelectorAll('details')) d.open = true;
		if (document.documentElement.scrollWidth <= 360) return [];
		return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 361 && !e.closest('pre')).map(e => e.outerHTML.slice(0, 90));
	})()`)
	if len(wide) > 0 {
		t.Errorf("wider than the screen: %q", wide)
	}
	if width := browsertest.Value[int](t, tab, `Math.max(innerWidth, document.documentElement.scrollWidth)`); width != 360 {
		t.Errorf("the page is %d wide, want 360", width)
	}
}

func testWithoutScript(t *testing.T, b *browsertest.Browser) {
	tab := onPage(t, b, "#case=handler/framing/tabs@rpc", browsertest.Look{NoScript: true})
	// The browser itself opens what the address names. No timer runs in the page.
	require.Eventually(t, func() bool {
		return browsertest.Value[bool](t, tab, `document.getElementById('case=handler/framing/tabs@rpc').checkVisibility()`)
	}, 10*time.Second, 5*time.Millisecond)
	shown := browsertest.Value[string](t, tab, `(() => { for (const d of document.querySelectorAll('details')) d.open = true; return document.body.innerText; })()`)
	for _, want := range []string{"not conformant", "JSONDecodeError: Extra data", "Names may hold any character.", "the subject does not claim memory", "whatever mix of line feeds"} {
		if !strings.Contains(shown, want) {
			t.Errorf("without the script the page does not show %q", want)
		}
	}
	for _, dead := range []string{"Clear filters", "Copy", "Search", "Filters"} {
		if slices.Contains(strings.Split(shown, "\n"), dead) {
			t.Errorf("without the script the page offers %q", dead)
		}
	}
}

func testCopy(t *testing.T, b *browsertest.Browser) {
	tab := onPage(t, b, "#case=handler/framing/tabs@rpc", browsertest.Look{})
	waitFor(t, tab, inSight("case=handler/framing/tabs@rpc"))
	tab.AllowClipboard(t)
	tab.Click(t, `[id="case=handler/framing/tabs@rpc"] button.copy`)
	waitFor(t, tab, `document.querySelector('[id="case=handler/framing/tabs@rpc"] button.copy').textContent === 'Copied'`)
	want := "pugmark-conform run --subject 'my sdk.yaml' --transport rpc handler/framing/tabs"
	if got := browsertest.Value[string](t, tab, `navigator.clipboard.readText()`); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}
