package coverage

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// agreeing is made-up cases and a run of them on two transports: one that passes, one
// that warns, one that fails, one of another shape for each verdict that needs no check.
func agreeing(t testing.TB) (*result.Run, []*casefile.Case, *spec.Spec) {
	s, err := spec.Load()
	require.NoError(t, err)
	check := func(id, requirement string, v result.Verdict) result.Check {
		return result.Check{ID: id, Requirement: requirement, Verdict: v}
	}
	run := &result.Run{
		Subject:   result.Subject{Name: "x", Kinds: []string{"handler"}, Features: []string{"instructions"}},
		Selection: result.Selection{All: true, Shard: "1/1"},
		Known:     &result.Excuses{File: "known.yaml"},
	}
	var cases []*casefile.Case
	add := func(id string, v result.Verdict, covers []string, checks ...result.Check) {
		cases = append(cases, &casefile.Case{ID: id, Covers: covers})
		for _, transport := range []string{"rpc", "subprocess"} {
			run.Cases = append(run.Cases, result.Case{ID: id, Transport: transport, Verdict: v, Checks: slices.Clone(checks)})
		}
	}
	add("a/pass", result.Pass, []string{"P3/utf8"}, check("utf8", "P3/utf8", result.Pass))
	add("a/warn", result.Warn, []string{"P3/trailing-lf"}, check("lf", "P3/trailing-lf", result.Warn))
	add("a/fail", result.Fail, []string{"P3/any-whitespace", "P3/utf8"}, check("ws", "P3/any-whitespace", result.Fail))
	add("a/crash", result.Crash, []string{"P3/no-op-record"}, check("no-op", "P3/no-op-record", result.NotRun))
	add("a/left-out", result.NotApplicable, []string{"P8.3/read"})
	add("a/known", result.KnownFailure, []string{"P7/non-2xx-error"}, check("error", "P7/non-2xx-error", result.Fail))
	add("a/mended", result.UnexpectedPass, []string{"P7/non-2xx-error"}, check("error", "P7/non-2xx-error", result.Pass))
	add("a/page", result.Pass, []string{"K2/text"}, check("page", "P3/utf8", result.Pass))
	return run, cases, s
}

func TestARunAsItWasCompletedAgrees(t *testing.T) {
	run, cases, s := agreeing(t)
	Complete(run, s, cases)
	require.NoError(t, Disagreement(run))
	require.NoError(t, Disagreement(&result.Run{Verdict: result.Incomplete}), "nothing was run")

	// A rule of every case, broken on one transport only: the case does not cover it.
	run.Cases[0].Checks = slices.Insert(run.Cases[0].Checks, 0, result.Check{ID: "always/read-only", Requirement: "P7/read-only", Verdict: result.Fail})
	run.Cases[0].Verdict = result.Fail
	Complete(run, s, cases)
	require.NoError(t, Disagreement(run))
	// The same of a case that does cover it: the other transport did not run it.
	cases[0].Covers = append(cases[0].Covers, "P7/read-only")
	run.Cases[0].Checks[0].Verdict, run.Cases[0].Verdict = result.Warn, result.Warn
	Complete(run, s, cases)
	i := slices.IndexFunc(run.Requirements, func(r result.Requirement) bool { return r.ID == "P7/read-only" })
	require.Equal(t, result.NotRun, run.Requirements[i].Verdict)
	require.NoError(t, Disagreement(run))
}

func TestEveryRunAsItWasCompletedAgrees(t *testing.T) {
	s, err := spec.Load()
	require.NoError(t, err)
	requirements := s.Requirements()
	rapid.Check(t, func(rt *rapid.T) {
		run := &result.Run{Subject: result.Subject{Kinds: []string{"handler", "runtime"}}, Known: &result.Excuses{}}
		if rapid.Bool().Draw(rt, "page") {
			run.Subject.Features = []string{spec.ClaimSDKPage}
		}
		var cases []*casefile.Case
		for i := range rapid.IntRange(0, 8).Draw(rt, "cases") {
			requirement := func() string { return requirements[rapid.IntRange(0, 9).Draw(rt, "requirement")*17].ID }
			c := &casefile.Case{ID: strings.Repeat("x", i+1), Covers: []string{requirement(), requirement()}}
			cases = append(cases, c)
			for _, transport := range []string{"rpc", "http"} {
				out := result.Case{ID: c.ID, Transport: transport}
				one := func(id, requirement string, of ...result.Verdict) {
					out.Checks = append(out.Checks, result.Check{ID: id, Requirement: requirement, Verdict: rapid.SampledFrom(of).Draw(rt, "check")})
				}
				out.Verdict = rapid.SampledFrom(CaseVerdicts()).Draw(rt, "verdict")
				switch out.Verdict {
				case result.Pass:
					one("a", c.Covers[0], result.Pass)
				case result.Warn:
					one("a", c.Covers[0], result.Pass, result.Warn)
					one("always/b", requirement(), result.Warn)
				case result.UnexpectedPass:
					one("a", c.Covers[0], result.Pass, result.Warn)
				case result.Fail:
					one("a", c.Covers[0], result.Pass, result.NotRun, result.Warn)
					one("always/b", requirement(), result.Fail)
				case result.NotApplicable, result.NotTestable, result.NotRun:
					one("a", c.Covers[0], result.NotRun)
				default:
					one("a", c.Covers[0], result.Pass, result.Fail, result.NotRun)
				}
				run.Cases = append(run.Cases, out)
			}
		}
		Complete(run, s, cases)
		require.NoError(rt, Disagreement(run))
	})
}

func TestWhatARunDidNotComeToIsToldOnce(t *testing.T) {
	at := func(r *result.Run, id string) *result.Requirement {
		i := slices.IndexFunc(r.Requirements, func(q result.Requirement) bool { return q.ID == id })
		require.GreaterOrEqual(t, i, 0, id)
		return &r.Requirements[i]
	}
	for name, c := range map[string]struct {
		forge func(r *result.Run)
		want  string
	}{
		"the verdict": {func(r *result.Run) { r.Verdict = result.Conformant },
			"its verdict is conformant, and its cases and requirements come to not-conformant"},
		"a total": {func(r *result.Run) { r.Totals["pass"] = 999 },
			`its totals count 999 under "pass", and it lists 4`},
		"a total of no verdict": {func(r *result.Run) { r.Totals["splendid"] = 1 },
			`its totals count 1 under "splendid", and it lists 0`},
		"a case that fails": {func(r *result.Run) { r.Cases[4].Verdict, r.Totals["fail"], r.Totals["pass"] = result.Pass, 1, 5 },
			"a/fail on rpc is pass and has a check that is fail"},
		"a case that warns": {func(r *result.Run) { r.Cases[2].Verdict, r.Totals["warn"], r.Totals["pass"] = result.Pass, 1, 5 },
			"a/warn on rpc is pass and has a check that is warn"},
		"a case that passes": {func(r *result.Run) { r.Cases[0].Verdict, r.Totals["fail"], r.Totals["pass"] = result.Fail, 3, 3 },
			"a/pass on rpc is fail and has no check that is"},
		"a check": {func(r *result.Run) { r.Cases[4].Checks[0].Verdict = result.Pass },
			"a/fail on rpc is fail and has no check that is"},
		"a check that said it": {func(r *result.Run) {
			for i := range r.Cases {
				if r.Cases[i].ID == "a/fail" {
					r.Cases[i].Checks[0].Verdict, r.Cases[i].Verdict = result.Pass, result.Pass
				}
			}
			r.Totals["fail"], r.Totals["pass"] = 0, 6
		}, "the requirement P3/any-whitespace is fail, and its cases come to pass"},
		"a requirement": {func(r *result.Run) { at(r, "P3/any-whitespace").Verdict = result.Pass },
			"the requirement P3/any-whitespace is pass, and its cases come to fail"},
		"a requirement without a case": {func(r *result.Run) { at(r, "P3.1/no-line-breaks").Verdict = result.Pass },
			"the requirement P3.1/no-line-breaks is pass, and its cases come to untested"},
		"a requirement that is not claimed": {func(r *result.Run) { at(r, "K2/text").Verdict = result.Pass },
			"the requirement K2/text is pass, and the subject does not claim sdk-page"},
		"a case that is gone": {func(r *result.Run) {
			r.Cases = slices.DeleteFunc(r.Cases, func(c result.Case) bool { return c.ID == "a/crash" })
			r.Totals = Totals(r.Cases)
		}, "P3/no-op-record names the case a/crash, which it does not list"},
		"a case that is not named": {func(r *result.Run) { at(r, "P3/no-op-record").Cases = nil },
			"a/crash has a check of P3/no-op-record, which does not name it"},
		"a case on one transport": {func(r *result.Run) { r.Cases = r.Cases[1:]; r.Totals["pass"], r.Totals["cases"] = 3, 16 },
			`its totals count 16 under "cases", and it lists 15`},
		"a case twice": {func(r *result.Run) { r.Cases = append(r.Cases, r.Cases[0]); r.Totals = Totals(r.Cases) },
			"a/pass on rpc is there twice"},
		"a check twice": {func(r *result.Run) { r.Cases[0].Checks = append(r.Cases[0].Checks, r.Cases[0].Checks[0]) },
			"a/pass on rpc has the check utf8 twice"},
		"a requirement twice": {func(r *result.Run) { r.Requirements = append(r.Requirements, *at(r, "P3/utf8")) },
			"the requirement P3/utf8 is there twice"},
		"a known failure without a file": {func(r *result.Run) {
			r.Known = nil
			r.Cases = slices.DeleteFunc(r.Cases, func(c result.Case) bool { return c.ID == "a/mended" || c.ID == "a/known" && c.Transport == "rpc" })
			r.Totals = Totals(r.Cases)
			q := at(r, "P7/non-2xx-error")
			q.Cases, q.Verdict = []string{"a/known"}, result.KnownFailure
		}, "a/known on subprocess is known-failure, and the run was held against no known-failures file"},
	} {
		t.Run(name, func(t *testing.T) {
			run, cases, s := agreeing(t)
			Complete(run, s, cases)
			c.forge(run)
			err := Disagreement(run)
			require.Error(t, err)
			require.Contains(t, err.Error(), c.want)
			require.NotContains(t, err.Error(), "\x1b")
		})
	}
}

func TestADisagreementIsShortAndInert(t *testing.T) {
	run := &result.Run{}
	for range 50 {
		run.Cases = append(run.Cases, result.Case{ID: "\x1b[2J" + strings.Repeat("x", 1<<20), Verdict: result.Pass})
	}
	err := Disagreement(run)
	require.Error(t, err)
	require.Less(t, len(err.Error()), 2000)
	require.NotContains(t, err.Error(), "\x1b")
	require.Contains(t, err.Error(), "; and ")
}
