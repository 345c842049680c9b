package result

// Verdict is the outcome of a check, a case, a requirement or a run.
type Verdict string

// The verdicts of a check. Pass, Fail, Warn and NotRun are also used above it.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	// Warn: a SHOULD does not hold.
	Warn Verdict = "warn"
	// NotRun: a premise did not hold, so the check says nothing.
	NotRun Verdict = "not-run"
)

// The further verdicts of a case.
const (
	// Crash: the subject died where it had to live.
	Crash Verdict = "crash"
	// Hang: the time limit of the case passed.
	Hang Verdict = "hang"
	// NotApplicable: the subject declared the feature away.
	NotApplicable Verdict = "not-applicable"
	// NotTestable: the check was demanded, but the subject gives no way to see.
	NotTestable Verdict = "not-testable"
	// HarnessError: the harness itself is at fault, or the case file.
	HarnessError Verdict = "harness-error"
	// KnownFailure and UnexpectedPass come from the known-failures file.
	KnownFailure   Verdict = "known-failure"
	UnexpectedPass Verdict = "unexpected-pass"
	// Flaky: repeated runs disagree.
	Flaky Verdict = "flaky"
	// Untested: no case of the requirement was selected.
	Untested Verdict = "untested"
)

// The verdicts of a run.
const (
	Conformant    Verdict = "conformant"
	AsExpected    Verdict = "as-expected"
	NotConformant Verdict = "not-conformant"
	Incomplete    Verdict = "incomplete"
)
