// Package result is the record of a run: verdicts, checks, findings, and the
// evidence that they rest on. It is what the stage writes, the judge fills in and
// the reports render.
//
// It must not decide anything: verdicts of cases come from package judge, those
// of requirements from package coverage.
//
// Start reading at [Evidence], then [Case] and [Run].
package result
