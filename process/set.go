//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// busyTime is how long a start is tried again on ETXTBSY. The descriptor that
// causes it lives in a child between fork and exec: microseconds, or
// milliseconds on a machine with too much to do.
const busyTime = 2 * time.Second

// Set is the programs that a harness has running, so that all of them can be
// ended when the harness itself is (F15). The zero value is ready. A nil *Set
// starts programs too; those are ended by their own End alone. A Set must not
// be copied.
type Set struct {
	// mu is held while a program is started, so that EndAll sees every program
	// that was.
	mu    sync.Mutex
	ended bool
	live  map[*Process]bool
}

// Start starts c outside of any Set.
func Start(c Command) (*Process, error) { return (*Set)(nil).Start(c) }

// Start starts c in a session and group of its own. The files of c stay the
// caller's: close those that were meant for the program alone, or its pipes
// never end. The error is a *StartError. Every Process is to be ended with
// End, also one whose program has ended by itself.
func (s *Set) Start(c Command) (*Process, error) { return s.start(c, busyTime) }

// StartPiped is Start with a new pipe for each stream of c that is nil. The
// caller closes the Pipes.
func (s *Set) StartPiped(c Command) (*Process, Pipes, error) {
	var ours Pipes
	var theirs []*os.File
	open := func(err error) error {
		closeAll(theirs)
		ours.Close()
		return err
	}
	if c.Stdin == nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, Pipes{}, open(c.failure(nil, err, ""))
		}
		c.Stdin, ours.Stdin, theirs = r, w, append(theirs, r)
	}
	if c.Stdout == nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, Pipes{}, open(c.failure(nil, err, ""))
		}
		c.Stdout, ours.Stdout, theirs = w, r, append(theirs, w)
	}
	if c.Stderr == nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, Pipes{}, open(c.failure(nil, err, ""))
		}
		c.Stderr, ours.Stderr, theirs = w, r, append(theirs, w)
	}
	p, err := s.Start(c)
	if err != nil {
		return nil, Pipes{}, open(err)
	}
	closeAll(theirs)
	return p, ours, nil
}

// Result is what came of Run.
type Result struct {
	Exit   Exit
	Report Report
}

// Run starts c, waits for it, and ends what it left behind; when ctx ends
// first, it ends the program too, with that grace, and the error wraps the
// cause of ctx. An exit status is no error. When Run returns, the writers of c
// have everything that was written.
func (s *Set) Run(ctx context.Context, c Command, grace time.Duration) (Result, error) {
	p, err := s.Start(c)
	if err != nil {
		return Result{Exit: unknownExit}, err
	}
	var cause error
	select {
	case <-p.Done():
	case <-ctx.Done():
		cause = fmt.Errorf("run %q: %w", c.Args[0], context.Cause(ctx))
	}
	result := Result{Report: p.End(grace), Exit: unknownExit}
	select {
	case <-p.Done():
		result.Exit = p.Wait()
	default: // not even SIGKILL ended it; Report.Left says so
	}
	return result, cause
}

// EndAll ends every program of the set, all at the same time, and lets no
// other start: from now on Start gives ErrEnded. It is safe to call from a
// signal's goroutine while others start, wait for and end programs; an End
// that is under way with a longer grace is cut to this one. The Report is the
// sum. A second call tries again what the first left.
func (s *Set) EndAll(grace time.Duration) Report {
	s.mu.Lock()
	s.ended = true
	var list []*Process
	for p := range s.live {
		list = append(list, p)
	}
	s.mu.Unlock()

	reports := make([]Report, len(list))
	var wg sync.WaitGroup
	for i, p := range list {
		wg.Go(func() { reports[i] = p.End(grace) })
	}
	wg.Wait()

	var sum Report
	for _, r := range reports {
		sum.Group += r.Group
		sum.Strays += r.Strays
		sum.Left += r.Left
		sum.Forced = sum.Forced || r.Forced
	}
	return sum
}

func (s *Set) start(c Command, busy time.Duration) (*Process, error) {
	path, err := c.resolve()
	if err != nil {
		return nil, err
	}
	io, err := openStdio(c)
	if err != nil {
		return nil, c.failure(nil, err, "")
	}
	giveUp := time.Now().Add(busy)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		p, err := s.fork(path, c, io)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, syscall.ETXTBSY) || time.Now().After(giveUp) {
			io.abandon()
			return nil, err
		}
		time.Sleep(pause)
	}
}

// fork tries once.
func (s *Set) fork(path string, c Command, io *stdio) (*Process, error) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended {
			return nil, c.failure(ErrEnded, nil, "")
		}
	}
	env := c.Env
	if env == nil {
		env = []string{} // nil would be the harness's own
	}
	child, mark, err := startMarked(func() (*os.Process, error) {
		return os.StartProcess(path, c.Args, &os.ProcAttr{
			Dir: c.Dir, Env: env, Files: io.files,
			Sys: &syscall.SysProcAttr{Setsid: true},
		})
	})
	if err != nil {
		return nil, c.explain(path, err)
	}
	io.started()
	p := &Process{pid: child.Pid, mark: mark, done: make(chan struct{}), streams: io.streams, set: s}
	go p.watch(child)
	if s != nil {
		if s.live == nil {
			s.live = map[*Process]bool{}
		}
		s.live[p] = true
	}
	return p, nil
}

func (s *Set) forget(p *Process) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, p)
}
