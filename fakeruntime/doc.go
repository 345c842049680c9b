// Package fakeruntime is the scripted runtime: it plays one invocation's streams
// and servers to a handler under test, byte for byte as a [Script] says, on each
// of the three transports, and records everything both ways in a
// [transcript.Transcript].
//
// It must not judge: whatever the handler does, wrong or right, ends up in the
// transcript, and an error is only ever a fault of the script or of the machine.
// It must not use the encoder of package protocol or know of the reference
// runtime: it is a second reading of the protocol, so that a misreading in one is
// caught by the other.
//
// Start reading at [Invocation.Play]; [Compose] says how a script becomes bytes,
// and servers.go what the object and the memory server answer.
package fakeruntime
