package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
)

func summary(t testing.TB, term *Terminal, run *result.Run) string {
	t.Helper()
	var out bytes.Buffer
	term.Out = &out
	require.NoError(t, term.Summary(run, registry(t)))
	return out.String()
}

// golden compares text with the file below testdata, or writes it with -update.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestSummaryLooksAsRecorded(t *testing.T) {
	selection := clear(t)
	selection.Selection = result.Selection{Patterns: []string{"handler/a/*"}, Shard: "1/1"}
	expected := clear(t)
	expected.Verdict = result.AsExpected
	expected.Cases[0].Verdict, expected.Cases[0].Reason = result.KnownFailure, "waits for 1.1"
	expected.Requirements[0].Verdict = result.KnownFailure
	evil := sample(t)
	poison(evil, hostile)
	for name, c := range map[string]struct {
		width int
		color bool
		run   *result.Run
	}{
		"every-outcome-80.txt":  {80, false, sample(t)},
		"every-outcome-120.txt": {120, false, sample(t)},
		"every-outcome.ansi":    {100, true, sample(t)},
		"conformant.txt":        {0, false, clear(t)},
		"selection.txt":         {0, false, selection},
		"as-expected.txt":       {0, false, expected},
		"hostile.txt":           {80, false, evil},
		"nothing.txt":           {0, false, &result.Run{Verdict: result.Incomplete, Subject: result.Subject{Name: "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, summary(t, &Terminal{Width: c.width, Color: c.color}, c.run))
		})
	}
}

func TestSummaryIsTheSameInWhateverOrderCasesFinish(t *testing.T) {
	want := summary(t, &Terminal{}, sample(t))
	for seed := range uint64(50) {
		if diff := cmp.Diff(want, summary(t, &Terminal{}, shuffled(sample(t), seed))); diff != "" {
			t.Fatalf("shuffle %d (-want +got):\n%s", seed, diff)
		}
	}
}

func TestFindingSaysAllThatOneNeeds(t *testing.T) {
	text := summary(t, &Terminal{Width: 80}, sample(t))
	for _, want := range []string{
		"FAIL P3/any-whitespace  MUST, section 3 Wire format\n",
		"FAIL P3.1/no-line-breaks  MUST NOT, section 3.1 Binary data\n",
		"  handler/framing/no-whitespace on rpc, subprocess\n",
		"    why       Records may follow each other with nothing between.\n",
		"    where     conform/observed, entry 2\n",
		"    want      name \"a\", body \"hello\"\n",
		"    diff      first difference at byte 12\n              - 00000008  68",
		"    rerun     pugmark-conform run --subject my-sdk --transport rpc handler/framing/no-whitespace\n",
		"    evidence  evidence/handler/framing/no-whitespace@rpc\n",
		"\n  also handler/framing/tabs on rpc, subprocess:\n       got exit status 1; the handler wrote \"Traceback",
		"    reading   our reading R28: ",
		"leave such checks out with --without-readings=R28\n",
		"    hang      the handler was ended by the harness after 2s\n",
		"HANG  3 results\n  the handler was ended by the harness after 10s\n",
		"NOT APPLICABLE  2 results left out, and with them 1 requirement\n",
	} {
		require.Contains(t, text, want)
	}
	require.Less(t, strings.Index(text, "FAIL"), strings.Index(text, "CRASH"), "findings come first")
	require.Equal(t, 1, strings.Count(text, "FAIL P3/any-whitespace"), "one requirement is one finding")
	require.NotContains(t, text, "FAIL P14/fetch-context", "an excused failure is no finding")
}

func TestProseIsWrappedAndBytesAreNot(t *testing.T) {
	run := sample(t)
	bytes := `"` + strings.Repeat("word ", 60) + `"`
	run.Cases[0].Checks[0].Got = "the body " + bytes + " and nothing else"
	text := summary(t, &Terminal{Width: 80}, run)
	require.Contains(t, text, bytes+"\n")
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		label := strings.TrimSpace(line[:min(len(line), 14)])
		isBytes := strings.Contains(line, `"`) || label == "rerun" || label == "evidence" || strings.Contains(line, "exit status")
		if columns(line) > 80 && !isBytes {
			t.Errorf("a line of %d columns: %s", columns(line), line)
		}
	}
}

func TestNothingThatASubjectWritesActsOnTheTerminal(t *testing.T) {
	run := sample(t)
	poison(run, hostile)
	text := summary(t, &Terminal{Width: 80}, run)
	require.True(t, utf8.ValidString(text))
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("%U reaches the terminal", r)
		}
	}
	for _, want := range []string{`\x1b[31mred`, `\x07`, `\x00`, `\xff\xfe`, `\u202eevil`, `\u009b2J`, `\u2028`, `\ufeff`, "é 語"} {
		require.Contains(t, text, want)
	}
}

// What stands in a job's output can be a command to the CI server: `::error ...`
// behind nothing but spaces, and `##[error]` anywhere.
func TestNothingThatASubjectWritesIsACommandToACIServer(t *testing.T) {
	for _, text := range []string{
		"::stop-commands::x", "  ::add-mask::x", "a\n::error::x\n \t::warning::y", "x ##[error]y", "##[add-mask]z",
		strings.Repeat("long ", 30) + "::error::wrapped", "-\n+ ::notice::z", " ::a ::b :::c",
	} {
		run := sample(t)
		poison(run, text)
		for _, line := range strings.Split(summary(t, &Terminal{Width: 80}, run), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("%q gives the line %q", text, line)
			}
		}
	}
	require.Equal(t, "a::b", clean("a::b"))
}

func TestLongTextsAreBounded(t *testing.T) {
	run := sample(t)
	poison(run, strings.Repeat("0123456789 line\n", 4<<20/16)) // 4 MiB in each field
	text := summary(t, &Terminal{}, run)
	require.Less(t, len(text), 256<<10)
	require.Contains(t, text, "more lines in the report")
}

func TestManyHitsOfOneRequirementStayReadable(t *testing.T) {
	m := newMaker(t)
	m.requirement("P3/utf8", result.Fail)
	for i := range 100 {
		id := "handler/x/" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		m.add(result.Case{ID: id, Verdict: result.Fail, Checks: []result.Check{
			{ID: "one", Requirement: "P3/utf8", Verdict: result.Fail, Got: "bad"}}}, "rpc")
	}
	text := summary(t, &Terminal{}, m.run)
	require.Equal(t, 20, strings.Count(text, "  also handler/x/"))
	require.Contains(t, text, "  and 79 more, all in the report\n")
}

func TestVerdictLineAgreesWithTheExitStatus(t *testing.T) {
	last := func(run *result.Run) string {
		lines := strings.Split(strings.TrimSpace(summary(t, &Terminal{}, run)), "\n")
		return lines[len(lines)-1]
	}
	require.Equal(t, "reference 1.0.0: conformant; of 3 requirements 3 pass; exit status 0", last(clear(t)))

	run := clear(t)
	run.Verdict, run.Cases[0].Verdict, run.Requirements[0].Verdict = result.NotConformant, result.Fail, result.Fail
	require.Equal(t, "reference 1.0.0: not conformant; of 3 requirements 2 pass, 1 fail; exit status 1", last(run))

	run = clear(t)
	run.Verdict, run.Requirements[0].Verdict = result.Incomplete, result.NotTestable
	run.Selection.Shard = "2/3"
	require.Equal(t, "reference 1.0.0: incomplete, of the selection; of 3 requirements 2 pass, 1 not-testable; exit status 3", last(run))

	run = clear(t)
	run.Verdict, run.Cases[0].Verdict = result.NotConformant, result.HarnessError
	require.Equal(t, "reference 1.0.0: error of the harness in 1 result; of 3 requirements 3 pass; exit status 2", last(run))

	run = clear(t)
	run.Verdict, run.Cases[0].Verdict = result.AsExpected, result.KnownFailure
	run.Selection.All = false
	require.Equal(t, "reference 1.0.0: as expected with known failures in 1 result, of the selection; of 3 requirements 3 pass; exit status 0", last(run))
}

func TestExitStatusTakesTheWorst(t *testing.T) {
	for _, c := range []struct {
		verdict result.Verdict
		cases   []result.Verdict
		want    int
	}{
		{result.Conformant, []result.Verdict{result.Pass}, 0},
		{result.Conformant, []result.Verdict{result.Warn}, 0},
		{result.AsExpected, []result.Verdict{result.KnownFailure}, 0},
		{result.NotConformant, []result.Verdict{result.Fail, result.NotTestable}, 1},
		{result.Incomplete, []result.Verdict{result.NotTestable}, 3},
		{result.NotConformant, []result.Verdict{result.Fail, result.HarnessError}, 2},
		{result.Incomplete, []result.Verdict{result.HarnessError, result.NotTestable}, 2},
		{result.Conformant, []result.Verdict{result.HarnessError}, 2},
		{result.Conformant, nil, 2},
		{"", []result.Verdict{result.Pass}, 2},
	} {
		run := &result.Run{Verdict: c.verdict}
		for _, v := range c.cases {
			run.Cases = append(run.Cases, result.Case{Verdict: v})
		}
		if got := ExitStatus(run); got != c.want {
			t.Errorf("%s with cases %v: status %d, want %d", c.verdict, c.cases, got, c.want)
		}
	}
}

func TestTheEnvironmentDecidesColorAndProgress(t *testing.T) {
	type look struct {
		Width           int
		Color, Progress bool
	}
	for name, c := range map[string]struct {
		width      int
		isTerminal bool
		env        map[string]string
		want       look
	}{
		"terminal":         {80, true, map[string]string{"TERM": "xterm"}, look{80, true, true}},
		"pipe":             {0, false, map[string]string{"TERM": "xterm"}, look{}},
		"NO_COLOR":         {80, true, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, look{80, false, true}},
		"dumb":             {80, true, map[string]string{"TERM": "dumb"}, look{80, false, false}},
		"no TERM":          {80, true, nil, look{80, false, false}},
		"CI":               {80, true, map[string]string{"TERM": "xterm", "CI": "true"}, look{80, true, false}},
		"wide":             {400, true, map[string]string{"TERM": "xterm"}, look{120, true, true}},
		"narrow":           {10, true, map[string]string{"TERM": "xterm"}, look{40, true, true}},
		"size not told us": {0, true, map[string]string{"TERM": "xterm"}, look{0, true, true}},
	} {
		var term Terminal
		term.dress(c.width, c.isTerminal, func(name string) string { return c.env[name] })
		if diff := cmp.Diff(c.want, look{term.Width, term.Color, term.Progress}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer f.Close()
	term := NewTerminal(f, func(string) string { return "xterm" })
	require.False(t, term.Color)
	require.False(t, term.Progress)
}

func TestProgressIsOneLineThatIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		term := &Terminal{Out: &out, Progress: true, Width: 60}
		term.Begin(3)
		term.Started("handler/a", "rpc")
		term.Finished(result.Case{ID: "handler/a", Transport: "rpc", Verdict: result.Fail})
		term.Started("handler/slow/\x1b[2J", "subprocess")
		term.Started("handler/c", "http")
		time.Sleep(1250 * time.Millisecond)
		synctest.Wait()
		lines := strings.Split(out.String(), "\r\x1b[K")
		require.Equal(t, `1/3  1.2 s  1 failing  handler/slow/\x1b[2J@subprocess a...`, lines[len(lines)-1])
		require.NotContains(t, out.String(), "\n")
		term.End()
		require.True(t, strings.HasSuffix(out.String(), "a...\r\x1b[K"))
		size := out.Len()
		term.End()
		term.Started("late", "rpc")
		term.Finished(result.Case{})
		time.Sleep(time.Second)
		require.Equal(t, size, out.Len(), "nothing is written after the end")
	})
}

func TestProgressNeedsNoTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		term := &Terminal{Out: &out, Progress: true}
		defer term.End()
		term.Started("handler/a", "rpc")
		term.Finished(result.Case{ID: "handler/a", Transport: "rpc", Verdict: result.Pass})
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		require.True(t, strings.HasSuffix(out.String(), "\r\x1b[K1 result  200 ms"), "%q", out.String())
	})
}

func TestProgressIsSeldomWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		term := &Terminal{Out: &out, Progress: true}
		term.Begin(4000)
		for range 4000 {
			term.Started("handler/a", "rpc")
			term.Finished(result.Case{ID: "handler/a", Transport: "rpc", Verdict: result.Pass})
		}
		require.LessOrEqual(t, strings.Count(out.String(), "\r"), 1)
		term.End()
	})
}

// shared is a buffer that is read while others write to it.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestWhatIsNoTerminalIsToldNowAndThenHowFarTheRunIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var log shared
		term := &Terminal{Out: &out, Log: &log}
		term.Begin(1247)
		for i := range 320 {
			v := result.Pass
			if i < 3 {
				v = result.Fail
			}
			term.Started("handler/a", "rpc")
			term.Finished(result.Case{ID: "handler/a", Transport: "rpc", Verdict: v})
		}
		time.Sleep(14900 * time.Millisecond)
		synctest.Wait()
		require.Empty(t, log.String())
		time.Sleep(46 * time.Second)
		synctest.Wait()
		require.Equal(t, `320 of 1247 results, 3 failed, 15 s
320 of 1247 results, 3 failed, 30 s
320 of 1247 results, 3 failed, 45 s
320 of 1247 results, 3 failed, 1 min 00 s
`, log.String())
		size := len(log.String())
		require.NoError(t, term.Summary(clear(t), nil))
		time.Sleep(time.Minute)
		require.Equal(t, size, len(log.String()), "nothing is written after the end")
		require.NotContains(t, out.String(), " of 1247")
	})
}

func TestATerminalHasNoLinesBesideItsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, log bytes.Buffer
		term := &Terminal{Out: &out, Log: &log, Progress: true}
		term.Begin(2)
		time.Sleep(time.Minute)
		term.End()
		require.Empty(t, log.String())
	})
}

func TestARunThatEndsSoonIsNotToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		term := &Terminal{Out: &bytes.Buffer{}, Log: &log}
		term.Begin(2)
		time.Sleep(14 * time.Second)
		term.End()
		time.Sleep(time.Minute)
		require.Empty(t, log.String())
	})
}

func TestARedRunSaysWhatOneCanDoNext(t *testing.T) {
	next := func(run *result.Run) (first *result.Case, text string) {
		text = summary(t, &Terminal{Next: func(c *result.Case) []string {
			first = c
			return []string{"one: x\x1b", "two: y"}
		}}, run)
		return first, text
	}
	first, text := next(sample(t))
	require.True(t, strings.HasSuffix(text, "exit status 2\nnext  one: x\\x1b\n      two: y\n"), text)
	require.Equal(t, [2]string{"handler/framing/no-whitespace", "rpc"}, [2]string{first.ID, first.Transport}, "as shown first")

	run := clear(t)
	run.Verdict, run.Cases[1].Verdict = result.NotConformant, result.Crash
	first, _ = next(run)
	require.Equal(t, "handler/a/0", first.ID)

	run = clear(t)
	run.Verdict = result.NotConformant
	first, text = next(run)
	require.Nil(t, first)
	require.Contains(t, text, "\nnext  one")

	_, text = next(clear(t))
	require.NotContains(t, text, "next")
}

func TestUntestedRequirementsOfAWholeRunHaveTheirReason(t *testing.T) {
	m := newMaker(t)
	m.requirement("P3/utf8", result.Pass)
	m.requirement("K7/version", result.Untested)
	m.requirement("P2/same-format", result.Untested)
	m.requirement("P7/urls-change", result.Untested)
	m.requirement("P8.3/read", result.NotApplicable)
	m.add(result.Case{ID: "handler/a/a", Verdict: result.Pass}, "rpc")
	m.run.Verdict = result.Conformant
	text := summary(t, &Terminal{}, m.run)
	require.Contains(t, text, "UNTESTED  3 requirements, which the verdict says nothing of\n  K7/version DESC: no case can test it: What a package claims stands in the metadata of its")
	require.Contains(t, text, "\n  P2/same-format DESC: no case that this subject can be put to tests it\n")
	require.Contains(t, text, "\n  P7/urls-change MAY: it allows something and demands nothing, so no case tests it\n")
	require.Contains(t, rendered(t, Renderer.Markdown, Renderer{Registry: registry(t)}, m.run), "\n## Untested\n\n- `K7/version` DESC: no case can test it: What a package claims")

	m.run.Selection = result.Selection{Patterns: []string{"handler/a/*"}, Shard: "1/1"}
	text = summary(t, &Terminal{}, m.run)
	require.NotContains(t, text, "UNTESTED")
	_, table, _ := strings.Cut(text, "section ")
	require.Equal(t, "           requirements  pass\n3     Wire format             1     1\nall                           1     1\n\n", table[:strings.Index(table, "results")])
	markdown := rendered(t, Renderer.Markdown, Renderer{}, m.run)
	require.NotContains(t, strings.ToLower(markdown), "untested")
	require.NotContains(t, markdown, "not-applicable")
}

func TestAPipeSeesNoProgress(t *testing.T) {
	var out bytes.Buffer
	term := &Terminal{Out: &out}
	term.Begin(1)
	term.Started("handler/a", "rpc")
	term.Finished(result.Case{ID: "handler/a", Transport: "rpc"})
	term.End()
	require.Empty(t, out.String())
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWritingThatFailsIsAnError(t *testing.T) {
	require.ErrorContains(t, (&Terminal{Out: full{}}).Summary(clear(t), registry(t)), "write the summary: no space left")
	require.ErrorContains(t, WriteJSON(full{}, clear(t)), "write the report: no space left")
}

func TestSummaryNeedsNoRegistry(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, (&Terminal{Out: &out}).Summary(sample(t), nil))
	require.Contains(t, out.String(), "FAIL P3/any-whitespace  MUST, section 3\n")
	require.Contains(t, out.String(), "our reading R28; leave such checks out with --without-readings=R28\n")
}
