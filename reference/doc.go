// Package reference is a runtime of the pugmark handler protocol, version 1: it
// materialises a session's log, serves bodies and memory, invokes a handler over
// a transport, and commits what the handler wrote.
//
// It must not know the harness that judges runtimes with its help; it could ship
// alone. What a test or a wrong runtime wants to change, it changes at a seam that
// has a reason of its own: the [storage.Bucket] below the store, [Clock], [IDs],
// [Transport], [Wire], [Handlers], and the decorators of the two HTTP handlers.
//
// Start reading at [Runtime], then turn.go, which is one invocation from its
// beginning to its end: prepare.go (settle what earlier invocations left, then
// look at the log), replay.go, outputs.go, commit.go.
package reference
