// Package transcript is the record of everything that went over a wire and of
// every process event, with times. Both fakes write one; evidence stores it; the
// judge reads it. It imports nothing of the project, so that the two fakes can
// share the vocabulary of what happened without sharing a reading of the protocol.
//
// It must not interpret what it holds: bytes are bytes.
//
// Start reading at [Event], then [Recorder].
package transcript
