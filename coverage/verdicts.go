package coverage

import (
	"slices"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// order is how the verdict of a requirement is found: the first that occurs.
func order() []result.Verdict {
	return []result.Verdict{
		result.HarnessError, result.Crash, result.Hang, result.Fail, result.Flaky, result.UnexpectedPass,
		result.KnownFailure, result.NotTestable, result.NotRun, result.Warn, result.Pass, result.NotApplicable, result.Untested,
	}
}

// CaseVerdicts is every verdict that a case can have, in the order in which
// totals list them.
func CaseVerdicts() []result.Verdict {
	return []result.Verdict{
		result.Pass, result.Warn, result.Fail, result.Crash, result.Hang, result.NotApplicable, result.NotTestable,
		result.HarnessError, result.KnownFailure, result.UnexpectedPass, result.Flaky, result.NotRun,
	}
}

// Complete fills in what follows from the cases of a run: the verdicts of the
// requirements that bind the subject, the totals, and the verdict of the run.
func Complete(run *result.Run, s *spec.Spec, cases []*casefile.Case) {
	run.Requirements = Requirements(run, s, cases)
	run.Totals = Totals(run.Cases)
	run.Verdict = Verdict(run)
}

// Totals counts the cases by verdict. Every verdict of a case has its key, and
// `cases` is the number of all.
func Totals(cases []result.Case) map[string]int {
	totals := map[string]int{"cases": len(cases)}
	for _, v := range CaseVerdicts() {
		totals[string(v)] = 0
	}
	for _, c := range cases {
		totals[string(c.Verdict)]++
	}
	return totals
}

// Requirements gives a verdict to every requirement that binds a subject of the
// run's kinds, in document order. Those of the SDK page are not-applicable unless
// the subject claims it.
//
// A case counts against the requirements whose checks failed. For a check that was
// not run, and for a covered requirement without a check, the case's verdict says
// why; when that is a failure of another requirement, this one was not run.
func Requirements(run *result.Run, s *spec.Spec, cases []*casefile.Case) []result.Requirement {
	covers := map[string][]string{}
	for _, c := range cases {
		covers[c.ID] = c.Covers
	}
	verdicts, named := map[string][]result.Verdict{}, map[string][]string{}
	for _, c := range run.Cases {
		for id, list := range contributions(c, covers[c.ID]) {
			verdicts[id] = append(verdicts[id], list...)
			named[id] = append(named[id], c.ID)
		}
	}
	all := []result.Requirement{}
	for _, r := range s.Requirements() {
		if !binds(r, run.Subject.Kinds) {
			continue
		}
		out := result.Requirement{
			ID: r.ID, Level: string(r.Level), Side: r.Side.Letter(), Section: string(r.Section), Text: r.Text,
			Verdict: First(verdicts[r.ID]), Cases: []string{},
		}
		if ids := named[r.ID]; len(ids) > 0 {
			slices.Sort(ids)
			out.Cases = slices.Compact(ids)
		}
		if claim := r.Claim(); claim != "" && !slices.Contains(run.Subject.Features, claim) {
			out.Verdict = result.NotApplicable
		}
		all = append(all, out)
	}
	return all
}

// contributions is what one case says of each requirement that it touches.
func contributions(c result.Case, covers []string) map[string][]result.Verdict {
	said := map[string][]result.Verdict{}
	for _, k := range c.Checks {
		said[k.Requirement] = append(said[k.Requirement], Of(k.Verdict, c.Verdict))
	}
	for _, id := range covers {
		if _, ok := said[id]; !ok {
			said[id] = []result.Verdict{Of(result.NotRun, c.Verdict)}
		}
	}
	return said
}

// Of is what a check's verdict comes to in a case of that verdict.
func Of(check, whole result.Verdict) result.Verdict {
	switch whole {
	case result.Flaky:
		return result.Flaky
	case result.KnownFailure:
		if check == result.Fail || check == result.NotRun {
			return result.KnownFailure
		}
	case result.UnexpectedPass:
		if check == result.Pass || check == result.Warn {
			return result.UnexpectedPass
		}
	case result.HarnessError, result.Crash, result.Hang, result.NotTestable, result.NotApplicable:
		if check == result.NotRun {
			return whole
		}
	}
	return check
}

func binds(r spec.Requirement, kinds []string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return r.Side.Binds(spec.Side(kind)) })
}

// First is what several verdicts of one requirement come to: the first of the order
// that occurs, and untested when none does.
func First(occurring []result.Verdict) result.Verdict {
	for _, v := range order() {
		if slices.Contains(occurring, v) {
			return v
		}
	}
	return result.Untested
}

// Verdict is the verdict of a run whose requirements have theirs. Failures, and entries
// of the known-failures file that don't hold, come first, then what had to be tested and was not, then known failures. A run in
// which nothing passed shows nothing, and is incomplete.
//
// That a case ended in harness-error makes a run incomplete at the least; the exit
// status says it louder.
func Verdict(run *result.Run) result.Verdict {
	seen := map[result.Verdict]bool{}
	for _, c := range run.Cases {
		seen[c.Verdict] = true
	}
	for _, r := range run.Requirements {
		// A SHOULD warns and a MAY can't fail; what a case says of them counts by the
		// case's own verdict alone.
		if spec.Level(r.Level).IsMandatory() {
			seen[r.Verdict] = true
		}
	}
	any := func(verdicts ...result.Verdict) bool {
		return slices.ContainsFunc(verdicts, func(v result.Verdict) bool { return seen[v] })
	}
	switch {
	case run.Known.HasProblem(), any(result.Fail, result.Crash, result.Hang, result.Flaky, result.UnexpectedPass):
		return result.NotConformant
	case any(result.HarnessError, result.NotTestable, result.NotRun):
		return result.Incomplete
	case any(result.KnownFailure):
		return result.AsExpected
	case !any(result.Pass, result.Warn):
		return result.Incomplete
	}
	return result.Conformant
}
