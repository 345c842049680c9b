package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"pugmark.dev/conform/report/schema"
	"pugmark.dev/conform/result"
)

// line is a change in short.
func line(c Change) string {
	return strings.TrimSpace(strings.Join([]string{string(c.Kind), c.ID, c.Transport, string(c.Before), string(c.After)}, " "))
}

func lines(all []Change) []string {
	short := []string{}
	for _, c := range all {
		short = append(short, line(c))
	}
	return short
}

// one is a run of one case and one requirement with the verdict.
func one(t testing.TB, v result.Verdict) *result.Run {
	m := newMaker(t)
	m.requirement("P3/utf8", v, "handler/a/b")
	m.add(result.Case{ID: "handler/a/b", Verdict: v, Reason: string(v)}, "rpc")
	return m.run
}

func TestKindsOfChange(t *testing.T) {
	for pair, want := range map[[2]result.Verdict]Kind{
		{result.Pass, result.Fail}:              Regressed,
		{result.Pass, result.Crash}:             Regressed,
		{result.Pass, result.Warn}:              Regressed,
		{result.Pass, result.Flaky}:             Regressed,
		{result.Pass, result.NotApplicable}:     Regressed, // a skip is no pass
		{result.Pass, result.NotTestable}:       Regressed,
		{result.Pass, result.NotRun}:            Regressed,
		{result.Pass, result.HarnessError}:      Regressed,
		{result.Pass, result.KnownFailure}:      Regressed, // an excuse does not hide it
		{result.Fail, result.Crash}:             Regressed,
		{result.Fail, result.Hang}:              Regressed,
		{result.NotTestable, result.Fail}:       Regressed,
		{result.UnexpectedPass, result.Fail}:    Regressed,
		{result.Fail, result.Pass}:              Fixed,
		{result.Fail, result.Warn}:              Fixed,
		{result.Warn, result.Pass}:              Fixed,
		{result.Flaky, result.Pass}:             Fixed,
		{result.NotApplicable, result.Pass}:     Fixed,
		{result.KnownFailure, result.Pass}:      Fixed,
		{result.Fail, result.UnexpectedPass}:    Fixed,
		{result.Fail, result.NotApplicable}:     Changed, // declared away is not fixed
		{result.Fail, result.NotTestable}:       Changed,
		{result.Fail, result.Flaky}:             Changed,
		{result.Fail, result.KnownFailure}:      Changed,
		{result.KnownFailure, result.Fail}:      Changed,
		{result.Crash, result.Fail}:             Changed,
		{result.Crash, result.Hang}:             Changed,
		{result.NotTestable, result.NotRun}:     Changed,
		{result.Pass, result.UnexpectedPass}:    Changed,
		{result.NotTestable, result.Untested}:   Changed,
		{result.HarnessError, result.NotRun}:    Changed,
		{result.NotApplicable, result.Untested}: Changed,
	} {
		if got := kindOf(pair[0], pair[1]); got != want {
			t.Errorf("%s -> %s is %s, want %s", pair[0], pair[1], got, want)
		}
	}
	for _, v := range verdicts() {
		d := Compare(one(t, v), one(t, v))
		require.Empty(t, d.Cases, v)
		require.Empty(t, d.Requirements, v)
		require.False(t, d.HasRegressed())
	}
}

// twoRuns is a before and an after with every kind of change.
func twoRuns(t testing.TB) (a, b *result.Run) {
	fail := func(id, requirement, got string) []result.Check {
		return []result.Check{{ID: id, Requirement: requirement, Verdict: result.Fail, Got: got}}
	}
	before, after := newMaker(t), newMaker(t)
	before.requirement("P3/any-whitespace", result.Fail, "handler/framing/tabs")
	after.requirement("P3/any-whitespace", result.Pass, "handler/framing/tabs")
	before.requirement("P3/utf8", result.Pass, "handler/framing/emoji")
	after.requirement("P3/utf8", result.Fail, "handler/framing/emoji")
	for _, m := range []*maker{before, after} {
		m.requirement("P16/closes-output", result.Fail, "handler/end/other", "handler/end/same")
	}
	before.add(result.Case{ID: "handler/framing/tabs", Verdict: result.Fail, Reason: "it failed", Checks: fail("a", "P3/any-whitespace", "nothing")}, "rpc")
	after.add(result.Case{ID: "handler/framing/tabs", Verdict: result.Pass}, "rpc")
	before.add(result.Case{ID: "handler/framing/emoji", Verdict: result.Pass}, "rpc", "http")
	after.add(result.Case{ID: "handler/framing/emoji", Verdict: result.Fail, Checks: fail("a", "P3/utf8", "a | b\n@me")}, "rpc")
	after.add(result.Case{ID: "handler/framing/emoji", Verdict: result.Pass}, "http", "subprocess")
	before.add(result.Case{ID: "handler/end/other", Verdict: result.Fail, Checks: fail("a", "P16/closes-output", "x")}, "rpc", "subprocess")
	after.add(result.Case{ID: "handler/end/other", Verdict: result.Fail, Checks: fail("b", "P16/closes-output", "x")}, "rpc")
	// The session, the digits and the port are others in every run.
	before.add(result.Case{ID: "handler/end/same", Verdict: result.Hang, Reason: "session 0123456789abcdef0123456789abcdef got hello, 1234567 from 127.0.0.1:40001"}, "rpc")
	after.add(result.Case{ID: "handler/end/same", Verdict: result.Hang, Reason: "session fedcba9876543210fedcba9876543210 got hello, 7654321 from 127.0.0.1:50001"}, "rpc")
	after.run.Subject.Version = "0.17.0"
	return before.run, after.run
}

func TestDiffFindsWhatChanged(t *testing.T) {
	d := Compare(twoRuns(t))
	want := []string{
		"changed handler/end/other rpc fail fail",
		"gone handler/end/other subprocess fail",
		"regressed handler/framing/emoji rpc pass fail",
		"new handler/framing/emoji subprocess  pass",
		"fixed handler/framing/tabs rpc fail pass",
	}
	if diff := cmp.Diff(want, lines(d.Cases)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"fixed P3/any-whitespace  fail pass", "regressed P3/utf8  pass fail"}, lines(d.Requirements)); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
	require.Equal(t, 5, d.Common)
	require.True(t, d.HasRegressed())
	a, b := twoRuns(t)
	require.True(t, Compare(b, a).HasRegressed(), "what was fixed is broken again")
}

func TestDiffLooksAsRecorded(t *testing.T) {
	d := Compare(twoRuns(t))
	var text, markdown, json bytes.Buffer
	require.NoError(t, d.WriteText(&text))
	require.NoError(t, d.WriteMarkdown(&markdown))
	require.NoError(t, d.WriteJSON(&json))
	golden(t, "diff.txt", text.String())
	golden(t, "diff.md", markdown.String())
	golden(t, "diff.json", json.String())
	require.NoError(t, schema.ValidateDiff(json.Bytes()))
}

// A case that only the newer suite has makes a requirement fail, not regress.
func TestOtherSuitesAreComparedOnWhatBothHave(t *testing.T) {
	a, b := one(t, result.Pass), one(t, result.Pass)
	b.Suite = result.Suite{Version: "2.0.0", Cases: "sha256:" + strings.Repeat("1b", 32)}
	b.Requirements[0].Verdict = result.Fail
	b.Requirements[0].Cases = []string{"handler/a/b", "handler/a/new"}
	b.Cases = append(b.Cases, result.Case{ID: "handler/a/new", Transport: "rpc", Verdict: result.Fail,
		Checks: []result.Check{{ID: "x", Requirement: "P3/utf8", Verdict: result.Fail}}})
	d := Compare(a, b)
	require.False(t, d.HasRegressed())
	require.Equal(t, []string{"the suites differ: only the results that both runs have are compared"}, d.Notes)
	require.Equal(t, []string{"changed P3/utf8  pass fail"}, lines(d.Requirements))
	require.Equal(t, "by results that only one of the runs has", d.Requirements[0].Is)
	require.Equal(t, []string{"new handler/a/new rpc  fail"}, lines(d.Cases))

	// The same with a common case that fails of another requirement now.
	a.Cases[0].Verdict, b.Cases[0].Verdict = result.Fail, result.Fail
	b.Cases[0].Checks = []result.Check{{ID: "y", Requirement: "P3/utf8", Verdict: result.Fail}}
	require.True(t, Compare(a, b).HasRegressed())
}

func TestDiffSaysWhatStandsInItsWay(t *testing.T) {
	a, b := one(t, result.Pass), one(t, result.Pass)
	b.Subject.Name, b.Subject.Kinds = "other\x1b", []string{"runtime"}
	b.Suite.Version = "1.0.1"
	b.Selection = result.Selection{All: true, Shard: "1/2"}
	want := []string{
		`the subjects differ: my-sdk and other\x1b`,
		"the subjects are of different kinds: handler and runtime",
		"the versions of the suites differ, and the case files do not: only the results that both runs have are compared",
		"the second run is of a selection: shard 1/2",
	}
	if diff := cmp.Diff(want, Compare(a, b).Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	failed, gone := one(t, result.Fail), one(t, result.Pass)
	gone.Cases = nil
	note := "1 result gone, though both runs are of the same suite and choice of cases: the second subject offers less"
	require.Equal(t, []string{note}, Compare(failed, gone).Notes)
	require.Equal(t, []string{note + "; 1 of them passed, which counts as regressed"}, Compare(a, gone).Notes)
}

// withoutHTTP is a run of a subject on two transports, and one of a subject that has
// dropped one of them.
func withoutHTTP(t testing.TB, v result.Verdict) (a, b *result.Run) {
	before, after := newMaker(t), newMaker(t)
	for _, m := range []*maker{before, after} {
		m.requirement("P3/utf8", v, "handler/a/b")
	}
	c := result.Case{ID: "handler/a/b", Verdict: v, Reason: string(v)}
	before.add(c, "subprocess", "http")
	after.add(c, "subprocess")
	return before.run, after.run
}

func TestAResultThatPassedAndIsGoneIsRegressed(t *testing.T) {
	for v, want := range map[result.Verdict]string{
		result.Pass: "regressed handler/a/b http pass",
		result.Warn: "regressed handler/a/b http warn",
		result.Fail: "gone handler/a/b http fail",
		// What was skipped before has not become worse.
		result.NotApplicable: "gone handler/a/b http not-applicable",
		result.NotTestable:   "gone handler/a/b http not-testable",
	} {
		d := Compare(withoutHTTP(t, v))
		require.Equal(t, []string{want}, lines(d.Cases))
		require.Equal(t, strings.HasPrefix(want, "regressed"), d.HasRegressed(), v)
	}
	a, b := withoutHTTP(t, result.Pass)
	a.Selection = result.Selection{Patterns: []string{"handler/a/*"}, Shard: "1/1"}
	b.Selection = a.Selection
	require.True(t, Compare(a, b).HasRegressed(), "the same filter on both")

	var text bytes.Buffer
	require.NoError(t, Compare(withoutHTTP(t, result.Pass)).WriteText(&text))
	require.Contains(t, text.String(), "\nRESULTS REGRESSED: GONE\n  handler/a/b on http  pass -> gone\n    is: the second run has no such result, though it is of the same suite and choice of cases\n")
}

func TestWhatElseCanBeTheReasonIsGoneOnly(t *testing.T) {
	for name, other := range map[string]func(a, b *result.Run){
		"another suite":   func(a, b *result.Run) { b.Suite.Cases = "sha256:" + strings.Repeat("1b", 32) },
		"another version": func(a, b *result.Run) { b.Suite.Version = "1.0.1" },
		"a filter": func(a, b *result.Run) {
			b.Selection.All, b.Selection.Patterns = false, []string{"--transport subprocess"}
		},
		"a shard":            func(a, b *result.Run) { b.Selection.Shard = "1/2" },
		"a filter before it": func(a, b *result.Run) { a.Selection.All = false },
		"the same shard":     func(a, b *result.Run) { a.Selection.Shard, b.Selection.Shard = "1/2", "1/2" },
		"what failed before": func(a, b *result.Run) {
			s := result.Selection{Patterns: []string{"--failed-from=report.json"}, Shard: "1/1"}
			a.Selection, b.Selection = s, s
		},
		"other kinds": func(a, b *result.Run) { b.Subject.Kinds = []string{"handler", "runtime"} },
	} {
		a, b := withoutHTTP(t, result.Pass)
		other(a, b)
		d := Compare(a, b)
		require.Equal(t, []string{"gone handler/a/b http pass"}, lines(d.Cases), name)
		require.False(t, d.HasRegressed(), name)
	}
}

func TestWhatOnlyOneRunHasIsShownInShort(t *testing.T) {
	a, b := newMaker(t), newMaker(t)
	for i := range 30 {
		a.add(result.Case{ID: fmt.Sprintf("handler/a/%02d", i), Verdict: result.Pass}, "rpc")
		b.add(result.Case{ID: fmt.Sprintf("handler/b/%02d", i), Verdict: result.Pass}, "rpc")
	}
	d := Compare(a.run, b.run)
	var text, markdown bytes.Buffer
	require.NoError(t, d.WriteText(&text))
	require.NoError(t, d.WriteMarkdown(&markdown))
	for _, shown := range []string{text.String(), markdown.String()} {
		require.Equal(t, 40, strings.Count(shown, "handler/"))
		require.Equal(t, 2, strings.Count(shown, "and 10 more, all in the JSON"))
	}
	require.Len(t, d.Cases, 60)
}

func TestNothingInADiffActs(t *testing.T) {
	markdown := func(d *Diff) string {
		var b bytes.Buffer
		require.NoError(t, d.WriteMarkdown(&b))
		return b.String()
	}
	hostileRuns := func(s string) *Diff {
		a, b := hostileRun(t, s), hostileRun(t, s)
		b.Cases, b.Requirements = nil, nil
		b.Subject.Name = s + "!"
		return Compare(b, a)
	}
	want, _, err := outline(markdown(hostileRuns("x")))
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		d := hostileRuns("x" + texts().Draw(rt, "text"))
		source := markdown(d)
		got, prose, err := outline(source)
		require.NoError(rt, err, source)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("structure (-want +got):\n%s\n%s", diff, source)
		}
		require.Empty(rt, acts.FindString(prose))
		var text bytes.Buffer
		require.NoError(rt, d.WriteText(&text))
		for _, line := range strings.Split(text.String(), "\n") {
			require.Equal(rt, clean(line), line)
		}
	})
}

func TestAnEntryThatIsGoneIsCountedInTextsAndNamedInJSON(t *testing.T) {
	gate := func(entries bool) *result.Run {
		m := newMaker(t)
		excused := func(with, without result.Verdict) result.Verdict {
			if entries {
				return with
			}
			return without
		}
		failing := func(got string) []result.Check {
			return []result.Check{{ID: "exit", Requirement: "P3/utf8", Verdict: result.Fail, Got: got}}
		}
		for i := range 20 {
			m.add(result.Case{ID: fmt.Sprintf("handler/a/%02d", i), Verdict: excused(result.UnexpectedPass, result.Pass)}, "rpc")
		}
		still := excused(result.KnownFailure, result.Fail)
		m.add(result.Case{ID: "handler/b/same", Verdict: still, Reason: string(still), Checks: failing("port 40123")}, "rpc")
		other := failing("port 40124, and more")
		if entries {
			other = failing("port 40123")
		}
		m.add(result.Case{ID: "handler/b/other", Verdict: still, Reason: string(still), Checks: other}, "rpc")
		return m.run
	}
	d := Compare(gate(true), gate(false))
	require.False(t, d.HasRegressed())
	var text, markdown, stored bytes.Buffer
	require.NoError(t, d.WriteText(&text))
	require.NoError(t, d.WriteMarkdown(&markdown))
	require.NoError(t, d.WriteJSON(&stored))
	require.Contains(t, text.String(), `RESULTS CHANGED
  handler/b/other on rpc  known-failure -> fail
    was: known-failure: known-failure
    is: P3/utf8: got port 40124, and more
    rerun: pugmark-conform run --subject my-sdk --transport rpc handler/b/other
  1 result known-failure -> fail: the entry that excused it is gone
  20 results unexpected-pass -> pass: the entry that excused them is gone

results: 22 in both, 22 changed; requirements: none changed
`)
	require.Contains(t, markdown.String(), "\n- 20 results unexpected-pass -> pass: the entry that excused them is gone\n")
	require.NotContains(t, text.String()+markdown.String(), "handler/a/00")
	require.Contains(t, stored.String(), `"id": "handler/a/00"`)
	require.NotContains(t, stored.String(), "gone")
	require.NoError(t, schema.ValidateDiff(stored.Bytes()))
}
