package report

import (
	"slices"

	"pugmark.dev/conform/result"
)

// The exit statuses of a run. Where several hold: ExitError, then
// ExitNotConformant, then ExitIncomplete.
const (
	// ExitConformant: conformant, or as the known-failures file expects.
	ExitConformant = 0
	// ExitNotConformant: a MUST or a DESC does not hold.
	ExitNotConformant = 1
	// ExitError: the harness is at fault, it was called wrongly, or nothing was
	// selected.
	ExitError = 2
	// ExitIncomplete: something that had to be tested could not be.
	ExitIncomplete = 3
)

// ExitStatus returns the status that a program which made the run exits with. A
// run without cases, with a case that the harness could not judge, or with a
// verdict that no run has is an error, whatever else it says.
func ExitStatus(run *result.Run) int {
	inError := func(c result.Case) bool { return c.Verdict == result.HarnessError }
	if len(run.Cases) == 0 || slices.ContainsFunc(run.Cases, inError) {
		return ExitError
	}
	switch run.Verdict {
	case result.Conformant, result.AsExpected:
		return ExitConformant
	case result.NotConformant:
		return ExitNotConformant
	case result.Incomplete:
		return ExitIncomplete
	}
	return ExitError
}
