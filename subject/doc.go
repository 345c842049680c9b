// Package subject is what is under test: the file that describes it, its setup,
// the start and stop of its processes, and what the harness asks of any runtime.
//
// It must not know cases or verdicts.
//
// Start reading at [File], then [Runtime].
package subject
