// Package script holds the words that the scripts of both fakes share: bodies,
// framing, durations, prepared answers of a server. A script can say wrong things
// as easily as right ones: nothing here refuses what the protocol forbids.
//
// It must not read records: each fake reads the peer's side of the wire in its
// own way. Its rendering of records is written apart from the encoder of package
// protocol, so that a misreading in one is caught by the other.
//
// Start reading at [Body], [Framing] and [Fields].
package script
