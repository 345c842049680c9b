package coverage_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// small is a registry of one requirement of each kind.
func small(t *testing.T) *spec.Spec {
	t.Helper()
	requirement := func(id, level, side, more string) string {
		return "  - id: " + id + "\n    section: \"3\"\n    level: " + level + "\n    side: " + side + "\n    text: A peer does one thing.\n" + more
	}
	s, err := spec.LoadFS(fstest.MapFS{
		"sections.yaml": {Data: []byte("sections:\n  - {number: \"3\", title: Three}\n")},
		"readings.yaml": {Data: []byte("readings:\n  - id: R1\n    section: \"3\"\n    question: Is it so?\n    reading: It is so indeed.\n")},
		"requirements/p.yaml": {Data: []byte("requirements:\n" +
			requirement("P3/both", "MUST", "both", "") +
			requirement("P3/handler", "DESC", "handler", "") +
			requirement("P3/runtime", "MUST", "runtime", "") +
			requirement("P3/should", "SHOULD", "handler", "") +
			requirement("P3/may", "MAY", "handler", "") +
			requirement("P3/hidden", "MUST", "handler", "    unobservable: Nobody can see it.\n"))},
		"requirements/k.yaml": {Data: []byte("requirements:\n" + requirement("K1/page", "DESC", "handler", "    page: Minimal handler\n"))},
	})
	require.NoError(t, err)
	return s
}

func cases() []*casefile.Case {
	return []*casefile.Case{
		{ID: "handler/b", Kind: "handler", Covers: []string{"P3/both", "P3/handler"}},
		{ID: "handler/a", Kind: "handler", Covers: []string{"P3/both"}},
		{ID: "handler/page", Kind: "handler", Covers: []string{"K1/page"}},
		{ID: "runtime/a", Kind: "runtime", Covers: []string{"P3/both"}},
	}
}

func TestTheMatrixShowsCasesAndGaps(t *testing.T) {
	rows := coverage.Matrix(small(t), cases())
	type row struct {
		id      string
		cases   []string
		gap     bool
		missing []spec.Side
	}
	var got []row
	for _, r := range rows {
		got = append(got, row{r.Requirement.ID, r.Cases(), r.IsGap(), r.Missing()})
	}
	want := []row{
		{"P3/both", []string{"handler/a", "handler/b", "runtime/a"}, false, nil},
		{"P3/handler", []string{"handler/b"}, false, nil},
		{"P3/runtime", nil, true, []spec.Side{spec.SideRuntime}},
		{"P3/should", nil, false, []spec.Side{spec.SideHandler}},
		{"P3/may", nil, false, []spec.Side{spec.SideHandler}},
		{"P3/hidden", nil, false, []spec.Side{spec.SideHandler}},
		{"K1/page", []string{"handler/page"}, false, nil},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	gaps := coverage.Gaps(rows)
	require.Len(t, gaps, 1)
	if gaps[0].Requirement.ID != "P3/runtime" {
		t.Errorf("gap %s, want P3/runtime", gaps[0].Requirement.ID)
	}
}

// check is one check of a requirement.
func check(requirement string, v result.Verdict) result.Check {
	return result.Check{ID: requirement, Requirement: requirement, Verdict: v}
}

func played(id string, v result.Verdict, checks ...result.Check) result.Case {
	return result.Case{ID: id, Transport: "subprocess", Verdict: v, Checks: checks}
}

func handlerRun(features []string, cases ...result.Case) *result.Run {
	return &result.Run{Subject: result.Subject{Kinds: []string{"handler"}, Features: features}, Cases: cases}
}

func verdicts(r *result.Run) map[string]result.Verdict {
	m := map[string]result.Verdict{}
	for _, q := range r.Requirements {
		m[q.ID] = q.Verdict
	}
	return m
}

func TestVerdictsOfRequirements(t *testing.T) {
	const (
		both    = "P3/both"
		handler = "P3/handler"
		should  = "P3/should"
	)
	for _, c := range []struct {
		name                   string
		cases                  []result.Case
		both, handler, theRest result.Verdict // theRest is P3/should
		run                    result.Verdict
	}{
		{"pass", []result.Case{played("handler/b", "pass", check(both, "pass"), check(handler, "pass"))}, "pass", "pass", "untested", "conformant"},
		{"a failure counts against its own requirement", []result.Case{played("handler/b", "fail", check(both, "fail"), check(handler, "pass"))}, "fail", "pass", "untested", "not-conformant"},
		{"and what it kept from running was not run", []result.Case{played("handler/b", "fail", check(both, "fail"), check(handler, "not-run"))}, "fail", "not-run", "untested", "not-conformant"},
		{"a rule that the case does not cover", []result.Case{played("handler/a", "fail", check(should, "warn"), check(handler, "fail"), check(both, "not-run"))}, "not-run", "fail", "warn", "not-conformant"},
		{"crash", []result.Case{played("handler/b", "crash", check(both, "not-run"), check(handler, "not-run"))}, "crash", "crash", "untested", "not-conformant"},
		{"hang, with a rule broken before it", []result.Case{played("handler/b", "hang", check(both, "fail"), check(handler, "not-run"))}, "fail", "hang", "untested", "not-conformant"},
		{"harness error", []result.Case{played("handler/b", "harness-error", check(both, "not-run"), check(handler, "not-run")), played("handler/a", "pass", check(both, "pass"))},
			"harness-error", "harness-error", "untested", "incomplete"},
		{"not testable", []result.Case{played("handler/b", "not-testable", check(both, "pass"), check(handler, "not-run"))}, "pass", "not-testable", "untested", "incomplete"},
		{"not testable beats pass", []result.Case{played("handler/a", "pass", check(both, "pass")), played("handler/b", "not-testable", check(both, "not-run"), check(handler, "not-run"))},
			"not-testable", "not-testable", "untested", "incomplete"},
		{"pass beats not applicable", []result.Case{played("handler/b", "not-applicable"), played("handler/a", "pass", check(both, "pass"))}, "pass", "not-applicable", "untested", "conformant"},
		{"warn", []result.Case{played("handler/b", "warn", check(both, "pass"), check(handler, "pass"), check(should, "warn"))}, "pass", "pass", "warn", "conformant"},
		{"interrupted", []result.Case{played("handler/b", "not-run", check(both, "not-run"), check(handler, "not-run"))}, "not-run", "not-run", "untested", "incomplete"},
		{"known failure", []result.Case{played("handler/b", "known-failure", check(both, "fail"), check(handler, "pass"))}, "known-failure", "pass", "untested", "as-expected"},
		{"unexpected pass", []result.Case{played("handler/b", "unexpected-pass", check(both, "pass"), check(handler, "pass"))}, "unexpected-pass", "unexpected-pass", "untested", "not-conformant"},
		{"flaky", []result.Case{played("handler/b", "flaky", check(both, "pass"), check(handler, "fail"))}, "flaky", "flaky", "untested", "not-conformant"},
		{"nothing but not applicable", []result.Case{played("handler/b", "not-applicable")}, "not-applicable", "not-applicable", "untested", "incomplete"},
		{"nothing", nil, "untested", "untested", "untested", "incomplete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := handlerRun(nil, c.cases...)
			coverage.Complete(run, small(t), cases())
			want := map[string]result.Verdict{both: c.both, handler: c.handler, should: c.theRest, "P3/may": "untested", "P3/hidden": "untested", "K1/page": "not-applicable"}
			if diff := cmp.Diff(want, verdicts(run)); diff != "" {
				t.Errorf("requirements (-want +got):\n%s", diff)
			}
			if run.Verdict != c.run {
				t.Errorf("run %s, want %s", run.Verdict, c.run)
			}
		})
	}
}

func TestAnEntryThatDoesNotHoldIsRed(t *testing.T) {
	for problem, want := range map[string]result.Verdict{"": result.AsExpected, "matches nothing": result.NotConformant} {
		run := handlerRun(nil, played("handler/b", "known-failure", check("P3/both", "fail")))
		run.Known = &result.Excuses{Entries: []result.Excuse{{Case: "handler/b"}, {Case: "handler/c", Problem: problem}}}
		coverage.Complete(run, small(t), cases())
		if run.Verdict != want {
			t.Errorf("problem %q: run %s, want %s", problem, run.Verdict, want)
		}
	}
}

func TestThePageCountsForWhoClaimsIt(t *testing.T) {
	run := handlerRun([]string{"sdk-page"}, played("handler/a", "pass", check("P3/both", "pass")), played("handler/page", "fail", check("K1/page", "fail")))
	coverage.Complete(run, small(t), cases())
	if got := verdicts(run)["K1/page"]; got != result.Fail || run.Verdict != result.NotConformant {
		t.Errorf("K1/page %s, run %s", got, run.Verdict)
	}
}

func TestSidesFollowTheKindsOfTheSubject(t *testing.T) {
	run := &result.Run{Subject: result.Subject{Kinds: []string{"runtime"}}, Cases: []result.Case{played("runtime/a", "pass", check("P3/both", "pass"))}}
	coverage.Complete(run, small(t), cases())
	if diff := cmp.Diff(map[string]result.Verdict{"P3/both": "pass", "P3/runtime": "untested"}, verdicts(run)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"runtime/a"}, run.Requirements[0].Cases); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

func TestTotalsHaveEveryVerdict(t *testing.T) {
	got := coverage.Totals([]result.Case{played("a", "pass"), played("b", "pass"), played("c", "hang")})
	want := map[string]int{"cases": 3, "pass": 2, "hang": 1, "warn": 0, "fail": 0, "crash": 0, "not-applicable": 0, "not-testable": 0,
		"harness-error": 0, "known-failure": 0, "unexpected-pass": 0, "flaky": 0, "not-run": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
