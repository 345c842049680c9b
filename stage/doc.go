// Package stage is the world of one case: it brings a subject and a fake of the
// other side together, does what the case says, and returns the evidence. Every
// verb that acts on a world is here, whether a YAML case implies it or a story
// writes it.
//
// It must not judge: an unexpected outcome is a recorded step, not an error.
// Errors are faults of the harness or of the case.
//
// Start reading at [Stage], then [World].
package stage
