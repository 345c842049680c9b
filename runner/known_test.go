package runner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
)

// there is every result that there is for the subject of these tests.
func there() []runner.Key {
	return []runner.Key{
		{ID: "handler/a/one", Transport: "rpc"}, {ID: "handler/a/one", Transport: "subprocess"},
		{ID: "handler/a/two", Transport: "subprocess"},
	}
}

var today = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// ended is a case with checks; those of the names that follow fail.
func ended(id, transport string, v result.Verdict, failing ...string) result.Case {
	c := result.Case{ID: id, Transport: transport, Verdict: v, Reason: "as it was"}
	for _, r := range []string{"P1/a", "P1/b"} {
		k := result.Check{ID: "of-" + r, Requirement: r, Verdict: result.Pass}
		for _, f := range failing {
			if f == r {
				k.Verdict, k.Want, k.Got = result.Fail, "this", "that"
			}
		}
		c.Checks = append(c.Checks, k)
	}
	return c
}

// at is a case that went wrong at a place: where its checks fail, or where the first
// was not run for.
func at(where string, c result.Case) result.Case {
	c.Checks = slices.Clone(c.Checks)
	if c.Verdict == result.NotTestable {
		c.Checks[0].Verdict, c.Checks[0].Where = result.NotRun, where
	}
	for i := range c.Checks {
		if c.Checks[i].Verdict == result.Fail {
			c.Checks[i].Where = where
		}
	}
	return c
}

// blocked makes an entry one of what can't be tested since a control failed.
func blocked(e *casefile.KnownFailure) {
	e.Verdict, e.Requirements, e.Where = "not-testable", nil, []string{"control, end of the handler"}
}

func entry(change func(*casefile.KnownFailure)) casefile.KnownFailure {
	e := casefile.KnownFailure{Case: "handler/a/two", Verdict: "fail", Requirements: []string{"P1/a"}, Reason: "Known.", Line: 2}
	if change != nil {
		change(&e)
	}
	return e
}

// TestResultsAreHeldAgainstWhatIsKnown: every way in which an entry can be wrong is red,
// by a verdict or by a problem of the entry, and nothing else is.
func TestResultsAreHeldAgainstWhatIsKnown(t *testing.T) {
	const two = "handler/a/two"
	for _, c := range []struct {
		name    string
		entries []casefile.KnownFailure
		results []result.Case
		want    []result.Verdict
		reason  string // of the last result
		problem []string
	}{
		{"as expected", []casefile.KnownFailure{entry(nil)}, []result.Case{ended(two, "subprocess", "fail", "P1/a")},
			[]result.Verdict{"known-failure"}, "Known.", []string{""}},
		{"with an issue", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Issue = "https://x.example/1" })},
			[]result.Case{ended(two, "subprocess", "fail", "P1/a")}, []result.Verdict{"known-failure"}, "Known. (https://x.example/1)", []string{""}},
		{"by check", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Requirements, e.Checks = nil, []string{"of-P1/a"} })},
			[]result.Case{ended(two, "subprocess", "fail", "P1/a")}, []result.Verdict{"known-failure"}, "Known.", []string{""}},
		{"an unexpected pass", []casefile.KnownFailure{entry(nil)}, []result.Case{ended(two, "subprocess", "pass")},
			[]result.Verdict{"unexpected-pass"}, "known.yaml:2 expects fail, and the case passes: remove the entry", []string{""}},
		{"a warning is a pass", []casefile.KnownFailure{entry(nil)}, []result.Case{ended(two, "subprocess", "warn")},
			[]result.Verdict{"unexpected-pass"}, "known.yaml:2 expects fail, and the case passes: remove the entry (warning: as it was)", []string{""}},
		{"another failure", []casefile.KnownFailure{entry(nil)}, []result.Case{ended(two, "subprocess", "fail", "P1/a", "P1/b")},
			[]result.Verdict{"fail"}, "known.yaml:2 does not excuse P1/b (check of-P1/b), which fails too: wanted this, got that",
			[]string{"handler/a/two on subprocess fails otherwise than excused: P1/b (check of-P1/b) fails there"}},
		{"a crash where a fail was excused", []casefile.KnownFailure{entry(nil)}, []result.Case{ended(two, "subprocess", "crash")},
			[]result.Verdict{"crash"}, "known.yaml:2 excuses fail, and this is crash: as it was", []string{"excuses fail, and handler/a/two on subprocess ends in crash"}},
		{"a hang where a fail was excused", []casefile.KnownFailure{entry(nil)}, []result.Case{ended(two, "subprocess", "hang", "P1/a")},
			[]result.Verdict{"hang"}, "known.yaml:2 excuses fail, and this is hang: as it was", []string{"excuses fail, and handler/a/two on subprocess ends in hang"}},
		{"a crash that is known", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Verdict, e.Requirements = "crash", nil })},
			[]result.Case{ended(two, "subprocess", "crash")}, []result.Verdict{"known-failure"}, "Known.", []string{""}},
		{"a crash that is known, and a rule broken before it", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Verdict, e.Requirements = "crash", nil })},
			[]result.Case{ended(two, "subprocess", "crash", "P1/b")}, []result.Verdict{"crash"},
			"known.yaml:2 does not excuse P1/b (check of-P1/b), which fails too: wanted this, got that",
			[]string{"handler/a/two on subprocess fails otherwise than excused: P1/b (check of-P1/b) fails there"}},
		{"two entries of one case", []casefile.KnownFailure{entry(nil), entry(func(e *casefile.KnownFailure) { e.Requirements = []string{"P1/b"}; e.Reason = "Too." })},
			[]result.Case{ended(two, "subprocess", "fail", "P1/a", "P1/b")}, []result.Verdict{"known-failure"}, "Known.; Too.", []string{"", ""}},
		{"at the place that is excused", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Where = []string{"stdout, a byte"} })},
			[]result.Case{at("stdout, byte 9", ended(two, "subprocess", "fail", "P1/a"))}, []result.Verdict{"known-failure"}, "Known.", []string{""}},
		{"at another place", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Where = []string{"conform/observed, entry 1, body"} })},
			[]result.Case{at("conform/observed", ended(two, "subprocess", "fail", "P1/a"))}, []result.Verdict{"fail"},
			"known.yaml:2 does not excuse P1/a at conform/observed: wanted this, got that",
			[]string{"handler/a/two on subprocess fails otherwise than excused: P1/a fails at conform/observed, which is not in its `where`"}},
		{"a place where nothing fails", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Where = []string{"here", "there"} })},
			[]result.Case{at("here", ended(two, "subprocess", "fail", "P1/a"))}, []result.Verdict{"known-failure"}, "Known.",
			[]string{"excuses what fails at there too, where nothing fails any more; take it out of the entry"}},
		{"not testable as excused", []casefile.KnownFailure{entry(blocked)},
			[]result.Case{at("control, end of the handler", ended(two, "subprocess", "not-testable"))}, []result.Verdict{"known-failure"}, "Known.", []string{""}},
		{"not testable by another control", []casefile.KnownFailure{entry(blocked)},
			[]result.Case{at("control, conform/observed", ended(two, "subprocess", "not-testable"))}, []result.Verdict{"not-testable"},
			"known.yaml:2 excuses what can't be tested for another reason: as it was",
			[]string{"handler/a/two on subprocess can't be tested for another reason than excused: at control, conform/observed, which is not in its `where`"}},
		{"not testable for want of a premise", []casefile.KnownFailure{entry(blocked)},
			[]result.Case{ended(two, "subprocess", "not-testable")}, []result.Verdict{"not-testable"},
			"known.yaml:2 excuses what can't be tested for another reason: as it was",
			[]string{"handler/a/two on subprocess can't be tested for another reason than excused: at no place that could be told, which is not in its `where`"}},
		{"two entries of one case that say otherwise", []casefile.KnownFailure{entry(nil), entry(func(e *casefile.KnownFailure) { e.Verdict, e.Requirements = "crash", nil })},
			[]result.Case{ended(two, "subprocess", "fail", "P1/a")}, []result.Verdict{"known-failure"}, "Known.",
			[]string{"", "excuses crash, and handler/a/two on subprocess ends in fail"}},
		{"a requirement that holds", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Requirements = []string{"P1/a", "P1/b"} })},
			[]result.Case{ended(two, "subprocess", "fail", "P1/a")}, []result.Verdict{"known-failure"}, "Known.",
			[]string{"excuses P1/b too, which nothing fails any more; take it out of the entry"}},
		{"one transport passes", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Case = "handler/a/one" })},
			[]result.Case{ended("handler/a/one", "rpc", "fail", "P1/a"), ended("handler/a/one", "subprocess", "pass")},
			[]result.Verdict{"known-failure", "unexpected-pass"},
			"known.yaml:2 expects fail, and the case passes: remove the entry, or give it the `transport` that it is still about", []string{""}},
		{"of one transport only", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Case, e.Transport = "handler/a/one", "rpc" })},
			[]result.Case{ended("handler/a/one", "rpc", "fail", "P1/a"), ended("handler/a/one", "subprocess", "fail", "P1/a")},
			[]result.Verdict{"known-failure", "fail"}, "as it was", []string{""}},
		{"a glob", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Case, e.Matches = "handler/a/*", 3 })},
			[]result.Case{ended("handler/a/one", "rpc", "fail", "P1/a"), ended("handler/a/one", "subprocess", "fail", "P1/a"), ended(two, "subprocess", "fail", "P1/a")},
			[]result.Verdict{"known-failure", "known-failure", "known-failure"}, "Known.", []string{""}},
		{"too many matches", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Case, e.Matches = "handler/a/*", 2 })},
			[]result.Case{ended(two, "subprocess", "fail", "P1/a")}, []result.Verdict{"known-failure"}, "Known.",
			[]string{"matches 3 results, and may match 2; narrow it, or raise `matches` if all of them are meant"}},
		{"matches nothing", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Case = "handler/a/three" })},
			[]result.Case{ended(two, "subprocess", "pass")}, []result.Verdict{"pass"}, "as it was",
			[]string{"matches nothing: there is no such case for this subject; remove the entry, or correct `case`"}},
		{"matches nothing on its transport", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Transport = "http" })},
			[]result.Case{ended(two, "subprocess", "pass")}, []result.Verdict{"pass"}, "as it was",
			[]string{"matches nothing: the subject is put to this case over subprocess only; remove the entry, or correct `transport`"}},
		{"left out by a filter", []casefile.KnownFailure{entry(nil)}, []result.Case{ended("handler/a/one", "rpc", "pass")},
			[]result.Verdict{"pass"}, "as it was", []string{""}},
		{"declared away", []casefile.KnownFailure{entry(nil)}, []result.Case{ended(two, "subprocess", "not-applicable")},
			[]result.Verdict{"not-applicable"}, "as it was", []string{"excuses nothing any more: no result ends in fail; remove the entry"}},
		{"the last day", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Expires = "2027-03-01" })},
			[]result.Case{ended(two, "subprocess", "fail", "P1/a")}, []result.Verdict{"known-failure"}, "Known.", []string{""}},
		{"expired", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Expires = "2027-02-28" })},
			[]result.Case{ended(two, "subprocess", "fail", "P1/a")}, []result.Verdict{"fail"}, "known.yaml:2 excused this until 2027-02-28: as it was",
			[]string{"expired on 2027-02-28; mend what it excuses, or say anew until when it holds"}},
		{"expired, left out by a filter", []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) { e.Expires = "2027-02-28" })},
			[]result.Case{ended("handler/a/one", "rpc", "pass")}, []result.Verdict{"pass"}, "as it was", []string{""}},
		{"flaky is never known", []casefile.KnownFailure{entry(nil)}, []result.Case{ended(two, "subprocess", "flaky", "P1/a")},
			[]result.Verdict{"flaky"}, "as it was", []string{""}},
		{"nor is what the harness could not judge", []casefile.KnownFailure{entry(nil)}, []result.Case{ended(two, "subprocess", "harness-error")},
			[]result.Verdict{"harness-error"}, "as it was", []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := runner.NewKnown("known.yaml", c.entries, there(), today)
			var got []result.Verdict
			last := ""
			for i := range c.results {
				k.Hold(&c.results[i])
				got, last = append(got, c.results[i].Verdict), c.results[i].Reason
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if last != c.reason {
				t.Errorf("reason\ngot  %s\nwant %s", last, c.reason)
			}
			var problems []string
			for _, e := range k.Excuses().Entries {
				problems = append(problems, e.Problem)
			}
			if diff := cmp.Diff(c.problem, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestShardsSayTogetherWhatTheWholeSays: an entry about two results, one in each shard.
func TestShardsSayTogetherWhatTheWholeSays(t *testing.T) {
	entries := []casefile.KnownFailure{entry(func(e *casefile.KnownFailure) {
		e.Case, e.Requirements = "handler/a/one", []string{"P1/a", "P1/b"}
	})}
	of := func(cases ...result.Case) *result.Excuses {
		k := runner.NewKnown("known.yaml", entries, there(), today)
		for i := range cases {
			k.Hold(&cases[i])
		}
		return k.Excuses()
	}
	rpc := func() result.Case { return ended("handler/a/one", "rpc", "fail", "P1/a") }
	sub := func(failing string) result.Case { return ended("handler/a/one", "subprocess", "fail", failing) }
	require.Empty(t, of(rpc()).Entries[0].Problem, "one shard can't say what the other has")

	merged, err := result.MergeExcuses([]*result.Excuses{of(rpc()), of(sub("P1/b"))})
	require.NoError(t, err)
	if diff := cmp.Diff(of(rpc(), sub("P1/b")), merged); diff != "" {
		t.Errorf("(-whole +merged):\n%s", diff)
	}
	require.Empty(t, merged.Entries[0].Problem)
	merged, err = result.MergeExcuses([]*result.Excuses{of(rpc()), of(sub("P1/a"))})
	require.NoError(t, err)
	require.Equal(t, "excuses P1/b too, which nothing fails any more; take it out of the entry", merged.Entries[0].Problem)

	_, err = result.MergeExcuses([]*result.Excuses{of(rpc()), nil})
	require.ErrorContains(t, err, "the known failures of the shards differ")
}

func TestTheFirstFileIsRefusedUntilReasonsAreWritten(t *testing.T) {
	registry, err := spec.Load()
	require.NoError(t, err)
	results := []result.Case{
		{ID: "handler/a/one", Transport: "rpc", Verdict: "fail", Checks: []result.Check{
			{ID: "2", Requirement: "P3/utf8", Verdict: "fail", Where: "stdout, record 2, byte 17"}, {ID: "1", Requirement: "P3/no-bom", Verdict: "fail", Where: "stdout: odd"},
			{ID: "3", Requirement: "P3/utf8", Verdict: "fail", Where: "stdout, record 2, byte 99"}, {ID: "4", Requirement: "P3/utf8", Verdict: "pass"}}},
		{ID: "handler/a/one", Transport: "subprocess", Verdict: "crash", Reason: "it died: \"bye\nreason: none\x1b\""},
		{ID: "handler/a/two", Transport: "subprocess", Verdict: "not-testable", Checks: []result.Check{
			{ID: "1", Requirement: "P3/utf8", Verdict: "not-run", Where: "control, end of the handler"}, {ID: "2", Requirement: "P3/utf8", Verdict: "not-run"}}},
		{ID: "handler/a/three", Transport: "subprocess", Verdict: "pass"},
	}
	data, n := runner.FirstKnown("my\nsdk", results, there())
	const want = `# The known failures of my sdk. Each entry is an assertion: the case ends so, by these
# requirements and at these places, and by no others. Write in each reason why it is
# known, and not mended.
known-failures:
  - case: handler/a/one
    transport: subprocess
    verdict: crash
    # it died: "bye reason: none "
    reason: TODO

  - case: handler/a/two
    verdict: not-testable
    where:
      - control, end of the handler
    reason: TODO

  - case: handler/a/one
    transport: rpc
    verdict: fail
    requirements: [P3/no-bom, P3/utf8]
    where:
      - stdout, record 2, a byte
      - 'stdout: odd'
    reason: TODO
`
	if diff := cmp.Diff(want, string(data)); diff != "" || n != 3 {
		t.Errorf("%d entries (-want +got):\n%s", n, diff)
	}
	_, problems := casefile.ParseKnownFailures("known.yaml", data, registry)
	require.Len(t, problems, 3, "one for each reason that is still to be written")

	empty, n := runner.FirstKnown("my-sdk", results[3:], there())
	require.Zero(t, n)
	entries, problems := casefile.ParseKnownFailures("known.yaml", empty, registry)
	require.Empty(t, problems)
	require.Empty(t, entries)
}

func TestAFileShrinksAndKeepsItsComments(t *testing.T) {
	const before = `# By the owner.
known-failures:
  # It passes now.
  - case: handler/a/two
    verdict: fail
    requirements: [P3/utf8]
    reason: Known.
  # On one of two.
  - {case: handler/a/one, verdict: fail, requirements: [P3/utf8, P3/no-bom], reason: "Known: too."} # by hand
  - case: handler/a/gone
    verdict: fail
    requirements: [P3/utf8]
    reason: Known.
`
	const want = `# By the owner.
known-failures:
  # On one of two.
  - {case: handler/a/one, transport: rpc, verdict: fail, requirements: [P3/utf8], reason: "Known: too."} # by hand
`
	registry, err := spec.Load()
	require.NoError(t, err)
	shrink := func(text string, results ...result.Case) runner.Shrunk {
		entries, problems := casefile.ParseKnownFailures("known.yaml", []byte(text), registry)
		require.Empty(t, problems)
		k := runner.NewKnown("known.yaml", entries, there(), today)
		for i := range results {
			k.Hold(&results[i])
		}
		s, err := runner.ShrinkKnown([]byte(text), k.Excuses(), results)
		require.NoError(t, err)
		return s
	}
	fails := func(id, transport string, requirements ...string) result.Case {
		c := result.Case{ID: id, Transport: transport, Verdict: "fail"}
		for _, r := range requirements {
			c.Checks = append(c.Checks, result.Check{ID: r, Requirement: r, Verdict: "fail"})
		}
		return c
	}
	s := shrink(before, fails("handler/a/one", "rpc", "P3/utf8"), result.Case{ID: "handler/a/one", Transport: "subprocess", Verdict: "pass"},
		result.Case{ID: "handler/a/two", Transport: "subprocess", Verdict: "pass"}, fails("handler/a/four", "rpc", "P3/utf8"))
	if diff := cmp.Diff(want, string(s.Data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"handler/a/two: it does not fail any more", "handler/a/one on subprocess: it does not fail any more", "handler/a/one: P3/no-bom, which holds", "handler/a/gone: it matches nothing"}, s.Removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"handler/a/four on rpc: fail"}, s.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	// Nothing more is to be taken out, until a place is right.
	s = shrink(string(s.Data), fails("handler/a/one", "rpc", "P3/utf8"))
	require.Empty(t, s.Removed)
	placed := strings.Replace(string(s.Data), "[P3/utf8]", "[P3/utf8], where: [here, there]", 1)
	one := fails("handler/a/one", "rpc", "P3/utf8")
	one.Checks[0].Where = "there"
	s = shrink(placed, one)
	require.Contains(t, string(s.Data), "where: [there], reason")
	require.Equal(t, []string{"handler/a/one on rpc: at here, where nothing fails"}, s.Removed)
	s.Data = []byte(strings.Replace(string(s.Data), ", where: [there]", "", 1))
	// What a filter left out stays.
	s = shrink(string(s.Data), result.Case{ID: "handler/a/two", Transport: "subprocess", Verdict: "pass"})
	require.Empty(t, s.Removed)
	// What others take from an entry that goes is theirs then.
	shared := shrink(`known-failures:
  - {case: handler/a/two, verdict: fail, requirements: &r [P3/utf8], reason: &why Known.}
  - {case: handler/a/one, transport: rpc, verdict: fail, requirements: *r, reason: *why}
`, fails("handler/a/one", "rpc", "P3/utf8"), result.Case{ID: "handler/a/two", Transport: "subprocess", Verdict: "pass"})
	require.Equal(t, "known-failures:\n  - {case: handler/a/one, transport: rpc, verdict: fail, requirements: [P3/utf8], reason: Known.}\n", string(shared.Data))
	// The last entry.
	s = shrink(string(s.Data), result.Case{ID: "handler/a/one", Transport: "rpc", Verdict: "pass"})
	entries, problems := casefile.ParseKnownFailures("known.yaml", s.Data, registry)
	require.Empty(t, problems)
	require.Empty(t, entries)
}

func TestTheFirstFileHasTheWordsOfAHandlerWhole(t *testing.T) {
	const why = `"RuntimeError: Failed to decode input record: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"`
	results := []result.Case{{
		ID: "handler/a/one", Transport: "rpc", Verdict: "fail", Reason: "P3/utf8: wanted " + strings.Repeat("long ", 40) + why,
		Checks: []result.Check{
			{ID: "1", Requirement: "P3/no-bom", Verdict: "pass", Got: "x" + result.StderrSays + "no"},
			{ID: "2", Requirement: "P3/utf8", Verdict: "fail", Got: "answered with HTTP status 500" + result.StderrSays + why},
		}}}
	data, _ := runner.FirstKnown("sdk", results, there())
	require.Contains(t, string(data), "    # P3/utf8: stderr says "+why+"\n")
}
