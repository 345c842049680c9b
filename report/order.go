package report

import (
	"cmp"
	"maps"
	"slices"

	"pugmark.dev/conform/result"
)

// ordered returns the run as every format shows it: cases by ID and transport,
// the cases of a requirement by ID, texts of subjects bounded. Requirements stay
// in the order of the registry, in which they are given. The run itself is not
// changed.
func ordered(run *result.Run) *result.Run {
	r := *run
	r.Schema = result.SchemaV1
	r.Subject.Name = result.Clip(result.Visible(r.Subject.Name), result.MaxText)
	r.Subject.Version = result.Clip(result.Visible(r.Subject.Version), result.MaxText)
	r.Totals = maps.Clone(run.Totals)
	r.Requirements = slices.Clone(run.Requirements)
	for i := range r.Requirements {
		q := &r.Requirements[i]
		q.Cases = slices.Compact(slices.Sorted(slices.Values(q.Cases)))
	}
	r.Cases = slices.Clone(run.Cases)
	for i := range r.Cases {
		r.Cases[i] = r.Cases[i].Bounded()
	}
	slices.SortFunc(r.Cases, func(a, b result.Case) int {
		return cmp.Or(
			cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Transport, b.Transport),
			// One case runs once on a transport; should a run hold more, the order is
			// still one.
			cmp.Compare(a.Verdict, b.Verdict),
			cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Evidence, b.Evidence),
			cmp.Compare(a.DurationMS, b.DurationMS),
		)
	})
	return &r
}

// verdicts returns every verdict of requirements and cases, in the order in which
// counts of them are shown: what is well, what is not, what was not seen.
func verdicts() []result.Verdict {
	return []result.Verdict{
		result.Pass, result.Fail, result.Crash, result.Hang, result.Flaky, result.UnexpectedPass,
		result.KnownFailure, result.Warn, result.NotTestable, result.NotRun, result.HarnessError,
		result.NotApplicable, result.Untested,
	}
}

// isFailing reports whether a case with the verdict speaks against its subject,
// or can't be trusted to speak for it.
func isFailing(v result.Verdict) bool {
	switch v {
	case result.Fail, result.Crash, result.Hang, result.Flaky, result.UnexpectedPass, result.HarnessError:
		return true
	}
	return false
}
