package reference

import (
	"errors"
	"time"
)

// endedWith fails an answer that ended with its connection, if that ended because the
// process did, and not well: the end of a process closes its connections as it would
// have, so only its status tells a whole answer from one cut short (P2.2/status-200,
// P16/failure). With status 0 the process ended its answer by exiting, and an answer that
// says its length, or is in chunks, is whole whatever becomes of the process.
//
// That a process of several answers by one of them can't be seen: there only the
// first one's end counts.
func (s *server) endedWith(grace time.Duration) error {
	if !s.ending() {
		return nil
	}
	select {
	case <-s.exited:
	case <-time.After(grace): // it lives on: only its first thread has ended
		return nil
	}
	if s.command.ProcessState.Success() {
		return nil
	}
	return s.failure(errors.New("it ended with its answer, which had no length, so nothing shows that it is whole"))
}

// ending reports whether the process has ended or is about to, after one of its
// connections was closed.
func (s *server) ending() bool {
	select {
	case <-s.exited:
		return true
	default:
		return exiting(s.command.Process.Pid, s.exited)
	}
}

// exitSoon is how long the end of a process is waited for where the system does not
// show that it is ending.
const exitSoon = 50 * time.Millisecond

func soon(exited <-chan struct{}) bool {
	select {
	case <-exited:
		return true
	case <-time.After(exitSoon):
		return false
	}
}
