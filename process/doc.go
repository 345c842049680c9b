// Package process is the one place of the harness where a program is started,
// watched and ended. It knows nothing of the protocol.
//
// Three promises, each of them wanted by a fault that projects of this kind
// have shipped:
//
//   - Wait returns when the program itself has ended, whatever its children
//     hold open (F10). Its output is read on without end, so that a program
//     that writes much never blocks on the harness (F12).
//   - End leaves nothing behind: not the program, not its group, and on Linux
//     not its descendants in other groups and sessions either (F10, F15). It
//     says how many it found and how many are left.
//   - A program that can't be started gets an error that says which of the
//     few common causes it was, so that nobody takes it for a verdict. The
//     one cause that is nobody's fault, a file still open for writing in a
//     child that is being forked, is tried again (F13).
//
// # How descendants are found
//
// Every program gets a session of its own (setsid), and with it a group of
// its own, whose number is the program's pid. That catches all but those
// that call setsid themselves, as daemons do. The parent pid is no help with
// these: when the program ends, the kernel gives its children to another
// parent, and the trace is lost. An environment variable would be inherited,
// but a handler has to see exactly the environment of its case.
//
// So on Linux a program inherits a mark that has no effect and that only we
// look for: the soft RLIMIT_LOCKS. No kernel since 2.4.25 enforces it, its
// value has 64 bits, fork, exec and setsid keep it, and prlimit(2) reads it
// from outside. Each program's mark is a random number. It is set in the
// harness around the fork, under a lock, and so is there before the first
// instruction of the program: there is no moment at which a descendant could
// be born without it.
//
// Adopt makes the harness the parent of orphans, so that they can be reaped
// too and nothing depends on what pid 1 does.
//
// # Limits
//
//   - A descendant that both changes its RLIMIT_LOCKS and leaves the session
//     isn't found. Neither is one that another user's pid limits hide from
//     prlimit(2), once it has left the session.
//   - Where RLIMIT_LOCKS can't be set (a hard limit is set, a sandbox refuses),
//     and on macOS, only the program's group and, on Linux, its session are
//     ended. Adopt reports it.
//   - If the harness dies by SIGKILL nobody ends anything.
//   - Programs that the harness starts with os/exec are left alone, their
//     exit status is never taken; but their orphans stay zombies after Adopt
//     until the harness ends. Start programs here.
//   - Windows is out of scope: there the package has nothing but Capture.
//
// Start reading at Set, Command and Process; End is in end.go, the search for
// descendants in members_linux.go.
package process
