package html

import (
	"fmt"
	"slices"
	"strings"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
)

// verdicts is every verdict of a case or a requirement, the most urgent first.
func verdicts() []result.Verdict {
	return []result.Verdict{
		result.Fail, result.Crash, result.Hang, result.HarnessError, result.Flaky, result.UnexpectedPass,
		result.NotTestable, result.NotRun, result.KnownFailure, result.Warn, result.Pass, result.NotApplicable, result.Untested,
	}
}

// urgency is the place of a verdict among the verdicts.
func urgency(v result.Verdict) int {
	if i := slices.Index(verdicts(), v); i >= 0 {
		return i
	}
	return len(verdicts())
}

// tone is the class that a verdict is shown in. The word always stands beside it.
func tone(v result.Verdict) string {
	switch v {
	case result.Fail, result.Crash, result.Hang, result.Flaky, result.UnexpectedPass, result.NotConformant, result.HarnessError:
		return "bad"
	case result.Pass, result.Conformant:
		return "good"
	case result.Warn, result.KnownFailure, result.AsExpected:
		return "odd"
	case result.NotTestable, result.NotRun, result.Incomplete:
		return "open"
	}
	return "none"
}

// word is a verdict as people say it.
func word(v result.Verdict) string { return strings.ReplaceAll(line(string(v), 40), "-", " ") }

// needsLooking reports whether a case with the verdict is shown whole.
func needsLooking(v result.Verdict) bool {
	return v != result.Pass && v != result.NotApplicable
}

// isRed reports whether a result makes a run not conformant by itself.
func isRed(v result.Verdict) bool { return tone(v) == "bad" }

// heading is what the page says of a whole run.
type heading struct {
	Word, Tone string
	Exit       int
	Meaning    string
	Sentence   string
}

func headingOf(run *result.Run) heading {
	h := heading{Word: word(run.Verdict), Tone: tone(run.Verdict), Exit: report.ExitStatus(run)}
	harness, known := 0, 0
	for _, c := range run.Cases {
		switch c.Verdict {
		case result.HarnessError:
			harness++
		case result.KnownFailure:
			known++
		}
	}
	switch {
	case len(run.Cases) == 0:
		h.Word, h.Tone = "nothing was run", "bad"
	case harness > 0:
		h.Word, h.Tone = "error of the harness", "bad"
	case run.Verdict == result.AsExpected:
		h.Word += ", with known failures in " + count(known, "result")
	}
	if !run.Selection.IsWhole() {
		h.Word += ", of the selection"
	}
	switch h.Exit {
	case report.ExitConformant:
		h.Meaning = "everything that was put to the test, and must hold, holds"
		if run.Verdict == result.AsExpected {
			h.Meaning = "only what the known-failures file lists fails"
		}
	case report.ExitNotConformant:
		h.Meaning = "something that the protocol demands does not hold"
		if run.Known.HasProblem() && !slices.ContainsFunc(run.Cases, func(c result.Case) bool { return isRed(c.Verdict) }) {
			h.Meaning = "the known-failures file says what is not so"
		}
	case report.ExitIncomplete:
		h.Meaning = "something that had to be tested could not be"
	default:
		h.Meaning = "the harness is at fault, or nothing was selected"
	}
	h.Sentence = sentence(run)
	return h
}

// sentence counts the requirements that were put to the test.
func sentence(run *result.Run) string {
	n, tested := map[result.Verdict]int{}, 0
	for _, q := range run.Requirements {
		if q.Verdict != result.Untested && q.Verdict != result.NotApplicable {
			n[q.Verdict]++
			tested++
		}
	}
	if tested == 0 {
		return "No requirement was put to the test."
	}
	var all []string
	for _, v := range verdicts() {
		if n[v] > 0 {
			all = append(all, fmt.Sprintf("%d %s", n[v], word(v)))
		}
	}
	return fmt.Sprintf("Of %s that were put to the test: %s.", count(tested, "requirement"), strings.Join(all, ", "))
}
