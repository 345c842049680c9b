// Package subject is what is under test: the file that describes it, its setup,
// the start and stop of its processes, and what the harness asks of any runtime.
//
// It must not know cases or verdicts.
//
// The way from a name to something that can be tested has three steps. [Find]
// turns a name or a path into a [File] and its folder, [Open] does the set-up,
// once per content, and gives an [Opened] whose commands are ready to start, and
// then a handler is started by its [Command] or as a [Service], a runtime is
// driven through its [Runtime].
//
// Whatever is started here is a list of arguments, never a shell line, and gets
// [Environment]: the user's, without what only an invocation may set.
//
// Start reading at [File], then [Runtime]; placeholder.go has the words that
// argument lists may use.
package subject
