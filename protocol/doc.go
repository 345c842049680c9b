// Package protocol is the wire of the pugmark handler protocol, version 1: the
// records of both directions, a strict streaming decoder, an encoder that obeys
// section 3, and the small grammars that stand beside them (durations, content
// codings, trace context, the environment and the request of an invocation).
//
// It must not know sessions, storage, cases or verdicts: both sides of the
// protocol and the harness build on it.
//
// Start reading at [Input] and [Output], then [Decoder].
package protocol
