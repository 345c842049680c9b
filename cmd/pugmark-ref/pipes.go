package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// surviveUnreadPipes has a write to a pipe that nobody reads fail, also on standard
// output and error. Without it Go ends the program there, and handlers that run would
// live on. They get the signal's usual action, which they would not if it were ignored.
func surviveUnreadPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// errUnread is what becomes of output that nobody reads, as behind head. Whoever stopped
// reading knows, so there is nothing to say.
var errUnread = errors.New("nobody reads the output")

// readOutput is standard output.
type readOutput struct{ io.Writer }

// Write implements [io.Writer].
func (o readOutput) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		err = errUnread
	}
	return n, err
}
