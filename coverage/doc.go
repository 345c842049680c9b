// Package coverage joins requirements, cases and results: which cases put a
// requirement to the test, what became of each requirement in a run, and the
// verdict of the run.
//
// It must not judge evidence, and must not decide what becomes of a case.
//
// Start reading at [Matrix], then [Complete].
package coverage
