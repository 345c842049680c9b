// Package reference is a runtime of the pugmark handler protocol, version 1: it
// materialises a session's log, serves bodies and memory, invokes a handler over
// a transport, and commits what the handler wrote.
//
// # One invocation
//
// [Runtime.RunOnce] is one invocation and [Runtime.Run] goes on until the session
// pauses or is idle; both are turns of turn.go. A turn
//
//  1. prepares (prepare.go): makes the children and delivers the writes that the
//     latest invocations recorded and may not have carried out, then looks at what
//     the head of the latest version says of the log: is it paused, asleep, woken,
//     new;
//  2. starts the object and the memory server (servers.go, index.go) and has the
//     transport (subprocess.go, rpc.go, http.go) feed the log to the handler, one
//     entry at a time (replay.go, log.go);
//  3. takes the handler's outputs as they come (outputs.go, sources.go): bodies are
//     stored at once, under their digests, where nobody finds them yet; all else
//     waits;
//  4. commits (commit.go, control.go): one file, created only if the version is
//     still free, holds everything that the invocation did. If something else became
//     that version, the outputs are dropped and the turn begins again on the newer
//     log. What the file says about other sessions and memory is carried out after
//     it, and again by the next turn's first step if need be.
//
// The last step is what makes it safe: before that file exists nothing has
// happened, and once it exists everything will. There is no lock, no repair and no
// state outside the store; any number of runtimes may work on one store.
//
// # What it reads and writes otherwise
//
// session.go starts sessions and pushes to them, inspect.go shows what is stored,
// memory.go reads and writes memory from outside, tracing.go makes spans. Errors
// are of three kinds: [*InvocationError] is the handler's doing and leaves nothing,
// [*RequestError] is the caller's and changes nothing, and any other is the
// runtime's own trouble, most often its store's.
//
// # Limits
//
//   - Memory writes and nothing else add no version (P8.4/no-version), so no file holds
//     them all: each namespace is committed by itself, the names of one together. A
//     crash, or a store that fails, between two namespaces leaves the first one written
//     and no record of the other. S3/atomic-snapshot then holds within a namespace only;
//     reading R54 holds, since all of it comes after the handler's success. Nothing was
//     committed to the session, so its handler is invoked on the same version again, and
//     writes both (P1/replay-tolerant). With anything for the session's log beside them, memory writes
//     are recorded in its snapshot and completed from there.
//   - An answer with neither Content-Length nor chunks is whole when its connection ends,
//     and a server that dies ends its connections just so. On RPC the status of the
//     process tells the two apart, if the process is not one of several that answer. Over
//     HTTP nothing does. A reset in place of an end is one only when the request can't have been
//     read whole; a small request lies whole in the server's system, read or not. So a
//     server that reads nothing, says no length and resets does not always get what
//     reading R19 promises.
//   - A record may nest 10,000 levels deep, and 1 MiB is kept of a pause's reason.
//
// # Seams
//
// The package must not know the harness that judges runtimes with its help; it
// could ship alone. What a test or a wrong runtime wants to change, it changes at a
// seam that has a reason of its own: the [storage.Bucket] below the store, [Clock],
// [IDs], [Transport], [Wire], [Handlers], [Sources], and the decorators of the two
// HTTP handlers.
//
// Start reading at [Runtime], then turn.go.
package reference
