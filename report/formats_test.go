package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// format is one format that is rendered from a report.
type format struct {
	name   string
	render func(Renderer, io.Writer, *result.Run) error
}

func formats() []format {
	return []format{
		{"junit.xml", Renderer.JUnit},
		{"summary.md", Renderer.Markdown},
		{"annotations.txt", Renderer.GitHub},
		{"badge.json", func(_ Renderer, w io.Writer, run *result.Run) error { return WriteBadge(w, run) }},
		{"report.json", func(_ Renderer, w io.Writer, run *result.Run) error { return WriteJSON(w, run) }},
	}
}

func rendered(t interface {
	require.TestingT
	Helper()
}, f func(Renderer, io.Writer, *result.Run) error, r Renderer, run *result.Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, f(r, &b, run))
	return b.String()
}

// withStderr stores evidence of every case that failed, and returns the folder.
func withStderr(t testing.TB, run *result.Run, stderr string) string {
	root := t.TempDir()
	for i := range run.Cases {
		c := &run.Cases[i]
		if c.Verdict != result.Fail {
			continue
		}
		e := &result.Evidence{Case: c.ID, Transport: c.Transport, Kind: "handler", Started: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
			Invocations: []result.Invocation{{Transcript: transcript.Transcript{Events: []transcript.Event{
				{Kind: transcript.Received, Stream: transcript.Stderr, Data: []byte(stderr)},
			}}}}}
		folder, err := result.WriteEvidence(root, e, c)
		require.NoError(t, err)
		c.Evidence = folder
	}
	return root
}

// everyVerdict is sample with the verdicts that it lacks.
func everyVerdict(t testing.TB) *result.Run {
	m := &maker{t: t, spec: registry(t), run: sample(t)}
	m.add(result.Case{ID: "runtime/forks/again", Why: "A fork is seen.", Verdict: result.Flaky, Reason: "2 of 5 runs failed",
		Checks: []result.Check{{ID: "fork", Requirement: "P3/utf8", Verdict: result.Fail, Got: "no child"}}}, "http")
	m.add(result.Case{ID: "runtime/forks/mended", Why: "A fork is kept.", Verdict: result.UnexpectedPass,
		Reason: "known-failures.yaml excuses a failure that is gone; remove the entry", Checks: []result.Check{{ID: "fork", Requirement: "P3/utf8", Verdict: result.Pass}}}, "http")
	m.add(result.Case{ID: "runtime/forks/late", Why: "A fork is late.", Verdict: result.NotRun,
		Reason: "the run was interrupted before this case"}, "http")
	return m.run
}

func TestFormatsLookAsRecorded(t *testing.T) {
	run := everyVerdict(t)
	evidence := withStderr(t, run, "Traceback (most recent call last):\n  File \"handler.py\", line 1\nKeyError: 'url'\n")
	r := Renderer{Registry: registry(t), Evidence: evidence, Place: func(id string) string {
		if strings.HasPrefix(id, "handler/") {
			return "sdk/conform.yaml"
		}
		return ""
	}}
	for _, f := range formats()[:4] {
		t.Run(f.name, func(t *testing.T) {
			golden(t, f.name, rendered(t, f.render, r, run))
		})
	}
}

// F42, and what the contract says: every format is made of the report and what
// stands beside it, so a run in memory and its stored report give the same bytes.
func TestAStoredReportRendersToTheSameBytes(t *testing.T) {
	run := everyVerdict(t)
	poison(run, hostile)
	long := strings.Repeat("\xff", 100_000)
	run.Subject.Name, run.Subject.Version, run.Cases[0].Reason, run.Cases[0].Checks[0].Got = long, long, long, long
	evidence := withStderr(t, run, hostile)
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			r := Renderer{Registry: registry(t), Evidence: evidence}
			want := rendered(t, f.render, r, run)
			back, err := decoded([]byte(written(t, run)))
			require.NoError(t, err)
			require.True(t, want == rendered(t, f.render, r, back))
			require.True(t, want == rendered(t, f.render, r, shuffled(run, 3)))
		})
	}
}

// elements is the structure of an XML text: the names of its elements, in order,
// and what stands in them.
func elements(text string) (names []string, chars string, err error) {
	d := xml.NewDecoder(strings.NewReader(text))
	var all strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names, all.String(), nil
		}
		if err != nil {
			return nil, "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			names = append(names, token.Name.Local)
		case xml.CharData:
			all.Write(token)
		}
	}
}

// texts are what subjects may print: single bytes of all kinds, and what some
// format takes for markup.
func texts() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"]]>", "<![CDATA[", "<!-- -->", "<b>", "&amp;", "&#0;", "&#x1b;", "\x00", "\x0b", "\x7f", "\u0085", "\ufffe", "\uffff", "\ufffd", "\xed\xa0\x80", "\xff",
			"\U0010ffff", "\u2028", "\u202e", "\r\n", "\n", "\t", " ", "```", "````\n", "~~~", "`", "``", "|", `\|`, `\\|`, `\`, "\n| a | b |\n|---|---|\n", "[x](http://e.vil)",
			"![x](http://e.vil/x.png)", "<http://e.vil>", "http://e.vil", "https://e.vil/?q=@x", "www.e.vil", "a@e.vil", "mailto:a@e.vil", "@octocat", "#1", "GH-1", "o/r#1",
			"\n# heading", "\n---\n", "\n===\n", "\n- item", "\n> quote", "\n1. one", "**b**", "_i_", "~~s~~", "<script>alert(1)</script>", "<details>", ":smile:", "[^1]", "\n[x]: http://e.vil",
			"::error::x", "\n::stop-commands::x\n", "##[error]x", "%0A::warning::y", "%", "%25", ",title=x", "{{.}}", "$x^2$", "$$x$$",
		}),
		rapid.StringN(0, 8, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 8), func(all []string) string { return strings.Join(all, "") })
}

func TestJUnitIsWellFormedWhateverASubjectPrints(t *testing.T) {
	plain := everyVerdict(t)
	poison(plain, "x")
	want, _, err := elements(rendered(t, Renderer.JUnit, Renderer{}, plain))
	require.NoError(t, err)
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		run := everyVerdict(t)
		poison(run, "x"+texts().Draw(rt, "text"))
		text := rendered(rt, Renderer.JUnit, Renderer{}, run)
		require.True(rt, utf8.ValidString(text))
		got, _, err := elements(text)
		require.NoError(rt, err)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("elements (-want +got):\n%s", diff)
		}
		if n < 50 {
			require.NoError(rt, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.xml", n)), []byte(text), 0o600))
			n++
		}
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sample.xml"), []byte(rendered(t, Renderer.JUnit, Renderer{Registry: registry(t)}, everyVerdict(t))), 0o600))
	expatReads(t, dir, len(want))
}

// expatReads has a second parser, of another make, read every file of the folder,
// and counts the elements that it finds.
func expatReads(t *testing.T, dir string, elements int) {
	t.Helper()
	python, err := exec.LookPath("python3")
	require.NoError(t, err, "README.md names Python as what the tests need")
	const script = `
import glob, sys, xml.parsers.expat, xml.etree.ElementTree as etree
for name in sorted(glob.glob(sys.argv[1] + "/*.xml")):
    seen = []
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: seen.append(name)
    with open(name, "rb") as f: parser.ParseFile(f)
    root = etree.parse(name).getroot()
    assert root.tag == "testsuites", root.tag
    for count, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"), ("tests", "testcase")):
        found = len(list(root.iter(kind)))
        assert int(root.get(count)) == found == sum(int(s.get(count)) for s in root), (name, kind, found)
    print(len(seen))
`
	out, err := exec.Command(python, "-c", script, dir).CombinedOutput()
	require.NoError(t, err, string(out))
	counts := strings.Fields(string(out))
	require.NotEmpty(t, counts)
	for _, n := range counts[:len(counts)-1] { // the last is of the sample, which has more to say
		require.Equal(t, fmt.Sprint(elements), n)
	}
}

// Every verdict in the element that the contract's words ask for: nothing that was
// not seen to hold stands there as a test that passed.
func TestJUnitHasNothingPassThatDidNot(t *testing.T) {
	for verdict, want := range map[result.Verdict]string{
		result.Pass: "", result.Warn: "system-out",
		result.Fail: "failure", result.Flaky: "failure", result.UnexpectedPass: "failure",
		result.Crash: "error", result.Hang: "error", result.NotTestable: "error", result.NotRun: "error", result.HarnessError: "error",
		result.NotApplicable: "skipped", result.KnownFailure: "skipped",
	} {
		m := newMaker(t)
		m.run.Verdict = result.Conformant
		m.add(result.Case{ID: "handler/a/b", Verdict: verdict, Reason: "so it is"}, "rpc")
		names, _, err := elements(rendered(t, Renderer.JUnit, Renderer{}, m.run))
		require.NoError(t, err)
		after := names[len(names)-1]
		if want == "" {
			want = "testcase"
		}
		require.Equal(t, want, after, "%s: %v", verdict, names)
	}
	// A run can be incomplete without any case that says so.
	m := newMaker(t)
	m.run.Verdict = result.Incomplete
	m.add(result.Case{ID: "handler/a/b", Verdict: result.NotApplicable, Reason: "so it is"}, "rpc")
	require.Contains(t, rendered(t, Renderer.JUnit, Renderer{}, m.run), `tests="2" failures="0" errors="1" skipped="1"`)
}

// F45: of 50 MiB every format has the head, the tail and how much is between.
func TestEveryFormatIsBounded(t *testing.T) {
	run := clear(t)
	run.Verdict = result.NotConformant
	run.Cases = run.Cases[:1]
	flood := "HEAD" + strings.Repeat("é", 25<<20-4) + "TAIL" // 50 MiB
	run.Cases[0].Verdict = result.Fail
	run.Cases[0].Checks = []result.Check{{ID: "a", Requirement: "P3/utf8", Verdict: result.Fail, Got: flood}}
	root := withStderr(t, run, "first line\n"+strings.Repeat("flood\n", 2<<20)+"last line\n")
	for _, f := range formats() {
		text := rendered(t, f.render, Renderer{Registry: registry(t), Evidence: root}, run)
		require.Less(t, len(text), 100<<10, f.name)
		if f.name == "badge.json" {
			continue
		}
		require.Contains(t, text, "HEAD", f.name)
		require.Contains(t, text, "TAIL", f.name)
		left := len(flood) - 600
		if f.name == "report.json" {
			left = len(flood) - 64<<10
		}
		require.Contains(t, text, fmt.Sprintf("... (%d bytes left out) ...", left), f.name)
		if f.name == "junit.xml" || f.name == "summary.md" {
			require.Contains(t, text, "first line", f.name)
			require.Contains(t, text, "last line", f.name)
		}
		if f.name == "summary.md" {
			require.Contains(t, text, fmt.Sprintf(" and %d bytes left out) ...", 12<<20+21-result.MaxStream))
		}
		if f.name == "junit.xml" {
			// 12 MiB, 11 and 10 bytes of lines, and 8 KiB shown.
			require.Contains(t, text, fmt.Sprintf("... (%d bytes left out) ...", 12<<20+21-8<<10))
		}
	}
}

func TestManyFailuresKeepEveryFormatBounded(t *testing.T) {
	m := newMaker(t)
	long := strings.Repeat("0123456789 line\n", 200)
	for i, q := range m.spec.Requirements() {
		m.requirement(q.ID, result.Fail)
		for j := range 5 {
			m.add(result.Case{ID: fmt.Sprintf("handler/a%d/b%d", i, j), Verdict: result.Fail, Checks: []result.Check{
				{ID: "one", Requirement: q.ID, Verdict: result.Fail, Where: long, Want: fmt.Sprint(j) + long, Got: long, Diff: long},
			}}, "rpc")
		}
	}
	for i := range 3000 {
		m.add(result.Case{ID: fmt.Sprintf("handler/z/%d", i), Verdict: result.Crash, Reason: fmt.Sprint(i) + strings.Repeat("x", 600)}, "rpc")
	}
	r := Renderer{Registry: registry(t)}
	text := rendered(t, Renderer.Markdown, r, m.run)
	require.LessOrEqual(t, len(text), 1<<20)
	require.Greater(t, len(text), 900<<10)
	shown := strings.Count(text, "\n### `P") + strings.Count(text, "\n### `S") + strings.Count(text, "\n### `K")
	outcomes := strings.Count(text, "\n### 1 result: crash")
	var requirements, reasons int
	tail := text[strings.LastIndex(text, "\n**Left out"):]
	if strings.Contains(tail, "failing requirement") {
		_, err := fmt.Sscanf(tail, "\n**Left out for want of room: %d failing requirements, %d further reasons.**", &requirements, &reasons)
		require.NoError(t, err, tail)
	} else {
		_, err := fmt.Sscanf(tail, "\n**Left out for want of room: %d further reasons.**", &reasons)
		require.NoError(t, err, tail)
	}
	require.Equal(t, len(m.spec.Requirements()), shown+requirements)
	require.Equal(t, 3000, outcomes+reasons)
	require.Less(t, len(rendered(t, Renderer.JUnit, r, m.run)), 24<<20)
	lines := strings.Split(strings.TrimSpace(rendered(t, Renderer.GitHub, r, m.run)), "\n")
	require.Len(t, lines, 10)
	require.Contains(t, lines[9], fmt.Sprintf("title=and %d more::", len(m.spec.Requirements())+3000-8))
}

// command is a workflow command as GitHub's runner reads it.
func command(line string) (name string, properties map[string]string, message string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "::")
	if !ok {
		return "", nil, "", false
	}
	head, data, ok := strings.Cut(rest, "::")
	if !ok {
		return "", nil, "", false
	}
	name, list, _ := strings.Cut(head, " ")
	properties = map[string]string{}
	data = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%").Replace(data)
	for _, item := range strings.Split(list, ",") {
		key, value, _ := strings.Cut(item, "=")
		properties[key] = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(value)
	}
	return name, properties, data, true
}

func TestAnnotationsAreOnlyOurCommands(t *testing.T) {
	file := "a, b: 100%\n::error::x.yaml"
	shape := func(t require.TestingT, text string) (names []string) {
		for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			name, properties, message, ok := command(line)
			require.True(t, ok, "%q", line)
			require.NotEmpty(t, message)
			require.NotEmpty(t, properties["title"])
			if file, ok := properties["file"]; ok {
				require.Equal(t, `a, b: 100%\n::error::x.yaml`, file)
				require.Equal(t, "1", properties["line"])
			}
			names = append(names, fmt.Sprint(name, len(properties)))
		}
		return names
	}
	r := Renderer{Registry: registry(t), Place: func(string) string { return file }}
	plain := everyVerdict(t)
	poison(plain, "x")
	want := shape(t, rendered(t, Renderer.GitHub, r, plain))
	rapid.Check(t, func(rt *rapid.T) {
		run := everyVerdict(t)
		poison(run, "x"+texts().Draw(rt, "text"))
		got := shape(rt, rendered(rt, Renderer.GitHub, r, run))
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("commands (-want +got):\n%s", diff)
		}
	})
}

func TestBadgeSaysWhatTheRunCameTo(t *testing.T) {
	known := clear(t)
	known.Verdict = result.AsExpected
	for i := range 3 {
		known.Cases[i].Verdict = result.KnownFailure
	}
	incomplete := clear(t)
	incomplete.Verdict = result.Incomplete
	for _, c := range []struct {
		run  *result.Run
		want badge
	}{
		{clear(t), badge{1, "pugmark conformance", "conformant", "brightgreen"}},
		{known, badge{1, "pugmark conformance", "as expected with known failures in 3 results", "yellow"}},
		{incomplete, badge{1, "pugmark conformance", "incomplete", "orange"}},
		{sample(t), badge{1, "pugmark conformance", "error of the harness in 1 result", "lightgrey"}},
	} {
		var got badge
		require.NoError(t, json.Unmarshal([]byte(rendered(t, func(_ Renderer, w io.Writer, run *result.Run) error { return WriteBadge(w, run) }, Renderer{}, c.run)), &got))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("badge (-want +got):\n%s", diff)
		}
	}
	for _, s := range []result.Selection{{All: false, Shard: "1/1"}, {All: true, Shard: "1/2"}} {
		run := clear(t)
		run.Selection = s
		var b bytes.Buffer
		require.ErrorIs(t, WriteBadge(&b, run), ErrNoBadge)
		require.Zero(t, b.Len())
	}
}

// A report may come from anywhere: what it names as evidence is read below the
// evidence folder only.
func TestNoEvidenceIsReadFromOutside(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "1.stderr"), []byte("secret"), 0o600))
	root := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(root, "in"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(outside, "1.stderr"), filepath.Join(root, "in", "1.stderr")))
	require.NoError(t, os.Mkdir(filepath.Join(root, "fine"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "fine", "1.stderr"), []byte("one\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "fine", "10.stderr"), []byte("ten"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "fine", "2-control.stderr"), []byte("\x1btwo"), 0o600))
	for where, want := range map[string]string{
		outside: "", "link": "", "in": "", "../" + filepath.Base(outside): "", "*": "", "absent": "",
		"fine": "-- 1.stderr --\none\n-- 2-control.stderr --\n\\x1btwo\n-- 10.stderr --\nten",
	} {
		if diff := cmp.Diff(want, diagnostics(root, &result.Case{Evidence: where})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", where, diff)
		}
	}
}
