//go:build unix

package process

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"time"
)

// Command says what to start. The zero value of every field but Args is
// usable.
type Command struct {
	// Args is the program and its arguments. A name without a slash is looked
	// up in the PATH of Env, or in the harness's own when Env has none;
	// relative folders of a PATH are passed over. A relative name with a
	// slash starts at Dir. There is never a shell.
	Args []string

	// Dir is the working folder; empty means the harness's own.
	Dir string

	// Env is the whole environment, as NAME=value. Nil is the empty one: the
	// harness's environment reaches a program only by being named here (F43).
	Env []string

	// Stdin is what the program reads; nil is the null device.
	Stdin *os.File

	// Stdout and Stderr take what the program writes; nil is the null device.
	// An *os.File is handed over as it is. Any other writer is fed from a
	// pipe, which is read on after the writer has failed, so that the program
	// never gets EPIPE from us; End waits for the last of it, so a writer must
	// not block. The same writer in both gets one pipe, and so the program's
	// own order.
	Stdout, Stderr io.Writer

	// ExtraFiles become descriptors 3 and up.
	ExtraFiles []*os.File
}

// Pipes are the harness's ends of a program's three streams; see
// Set.StartPiped. They take deadlines. The caller closes them.
type Pipes struct {
	// Stdin is written to; closing it is the program's end of input.
	Stdin *os.File
	// Stdout and Stderr are read from. They end when every process that holds
	// the other end is gone, which can be long after the program itself.
	Stdout, Stderr *os.File
}

// Close closes those ends that are there. Closing twice does no harm.
func (p Pipes) Close() {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// stdio is what one start needs: the program's descriptors, those that are
// ours to close once it has started, and the pipes that we read for it.
type stdio struct {
	files   []*os.File
	close   []*os.File
	streams []*stream
}

// stream copies one pipe to a writer until the pipe ends.
type stream struct {
	from *os.File
	to   io.Writer
	done chan struct{}
}

// openStdio turns the streams of c into descriptors. On an error nothing stays
// open.
func openStdio(c Command) (*stdio, error) {
	s := &stdio{}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, null)

	in := c.Stdin
	if in == nil {
		in = null
	}
	out, err := s.output(c.Stdout, null)
	if err != nil {
		s.abandon()
		return nil, err
	}
	errs := out
	if !sameWriter(c.Stdout, c.Stderr) {
		if errs, err = s.output(c.Stderr, null); err != nil {
			s.abandon()
			return nil, err
		}
	}
	s.files = append([]*os.File{in, out, errs}, c.ExtraFiles...)
	return s, nil
}

func (s *stdio) output(w io.Writer, null *os.File) (*os.File, error) {
	if w == nil {
		return null, nil
	}
	if f, ok := w.(*os.File); ok {
		if f == nil {
			return null, nil
		}
		return f, nil
	}
	r, child, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	s.close = append(s.close, child)
	s.streams = append(s.streams, &stream{from: r, to: w, done: make(chan struct{})})
	return child, nil
}

// started closes the program's ends and begins to copy.
func (s *stdio) started() {
	closeAll(s.close)
	for _, st := range s.streams {
		go st.copy()
	}
}

// abandon is for a start that failed.
func (s *stdio) abandon() {
	closeAll(s.close)
	for _, st := range s.streams {
		st.from.Close()
	}
}

func (st *stream) copy() {
	defer close(st.done)
	defer st.from.Close()
	if _, err := io.Copy(writerOnly{st.to}, st.from); err != nil {
		// The writer failed, or the deadline of finish has passed; in the
		// latter case this returns at once too.
		io.Copy(io.Discard, st.from)
	}
}

// finish waits for the end of the pipe, and gives up after limit: whatever
// still holds the other end then is none of the processes that we know.
func (st *stream) finish(limit time.Duration) {
	st.from.SetReadDeadline(time.Now().Add(limit))
	<-st.done
}

// writerOnly hides ReadFrom: a writer's own copy loop might end at its first
// failure to write with bytes taken from the pipe that are counted nowhere.
type writerOnly struct{ io.Writer }

// sameWriter tells whether both streams go to one writer. Writers of types
// that can't be compared are different.
func sameWriter(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
