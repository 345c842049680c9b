// Package fakehandler holds two handlers: one that plays a script, and one that
// follows the agreement.
//
// The scripted handler ([Main], [Handler]) is what a runtime under test is told to
// run. It does what its [Script] says, right or wrong, and records everything that
// it saw and did, event by event, in a folder ([ReadRecords]). It gets all that it
// needs from its argument list: the runtime owes it no environment, no shell and
// no working folder. Its rendering of Outputs is that of package script, apart
// from protocol's encoder.
//
// The other handler ([Agreement]) follows the entry conform/instructions, as the
// agreement with a handler subject has it. It is the handler side of the built-in
// subject `reference`, so it is right by the text in everything that concerns a
// handler. What a mutant or a twin changes, it changes by wrapping a field of
// [Agreement]. Below its code stands what an SDK offers ([Session]); another code on
// it is the smallest handler of the SDK's page ([Minimal]).
//
// The package must not know the reference runtime, the storage or the stage: it is
// a second reading of the protocol. It must not judge.
//
// Start reading at [Script], then [Main] and the player; for the other handler at
// [Agreement].
package fakehandler
