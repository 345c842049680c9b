// Package judge turns a case and the evidence of one run of it into checks with
// verdicts and findings. It is a pure function: no I/O, no clock, so that stored
// evidence gives the same findings whenever it is judged again.
//
// Streams are judged from their raw bytes, by a splitter and a base64 reader of
// this package, never through the decoder that peers use: what a strict decoder
// refuses, and what a lenient one lets pass, is exactly what has to be seen here.
//
// It must not know the reference. Expected values stand in the case.
//
// No check passes by absence alone: a peer that does nothing passes nothing. See
// [New], then judge.go for the order in which premises are looked at.
package judge
