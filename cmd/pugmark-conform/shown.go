package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// shown is a stream that a verb writes to. Whoever reads it may go away, as head does,
// and a disk may be full: the verb goes on to its end, since what can't be shown must
// not cost what is written elsewhere, and the program says afterwards that it was lost.
type shown struct {
	name string
	to   io.Writer

	mu       sync.Mutex
	err      error
	whenLost func()
}

// Write writes until it fails once; from then on everything is taken and dropped.
func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return len(p), nil
	}
	if _, err := s.to.Write(p); err != nil {
		var cause *os.PathError
		if errors.As(err, &cause) {
			err = cause.Err // the name of a stream is none of a file that the user knows
		}
		s.err = err
		if s.whenLost != nil {
			s.whenLost()
		}
	}
	return len(p), nil
}

// ifLost has do called when a write fails; if one has failed already, at once.
func (s *shown) ifLost(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whenLost = do
	if s.err != nil {
		do()
	}
}

// lost is why something of the stream was not shown, or nil.
func (s *shown) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.name, s.err)
}

// fileOf is the file that a stream of the program is, or nil.
func fileOf(w io.Writer) *os.File {
	if s, ok := w.(*shown); ok {
		w = s.to
	}
	f, _ := w.(*os.File)
	return f
}

// isUnread reports whether an error says no more than that the reader of a pipe has
// gone, which the one who did it knows.
func isUnread(err error) bool { return errors.Is(err, syscall.EPIPE) }
