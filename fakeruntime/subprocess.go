package fakeruntime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/transcript"
)

// subprocess plays the invocation to a program of its own (section 2.1).
func (p *player) subprocess(ctx context.Context) error {
	program, pipes, err := p.start()
	if program == nil {
		return err
	}
	s := &subprocess{player: p, program: program, pipes: pipes, stop: make(chan struct{}), flood: make(chan string, 2)}
	return s.run(ctx)
}

// start starts the program. One that is not there, or can't be run, is a fact
// about the subject; every other trouble is one of the machine.
func (p *player) start() (*process.Process, process.Pipes, error) {
	env, ours := environment(p.Target.Env, Variables(p.Identity, p.Trace), p.Target.Variables)
	p.log.Add(transcript.Event{Kind: transcript.Environment, Variables: ours})
	p.log.Add(transcript.Event{Kind: transcript.Spawn, Text: shellQuoted(p.Target.Command)})
	program, pipes, err := p.Target.Programs.StartPiped(process.Command{Args: p.Target.Command, Dir: p.Target.Dir, Env: env})
	switch {
	case err == nil:
		return program, pipes, nil
	case subjectsFault(err):
		p.log.Add(transcript.Event{Kind: transcript.Exited, Ended: &transcript.Ended{How: transcript.HowNotStarted, Detail: err.Error()}})
		return nil, pipes, nil
	}
	return nil, pipes, err
}

func subjectsFault(err error) bool {
	return errors.Is(err, process.ErrNotFound) || errors.Is(err, process.ErrNotExecutable) || errors.Is(err, process.ErrNoFolder)
}

// subprocess is a program that is being played to.
type subprocess struct {
	*player
	program *process.Process
	pipes   process.Pipes

	stop    chan struct{} // no more input is wanted
	flood   chan string   // names of streams past the limit
	readers sync.WaitGroup
}

func (s *subprocess) run(ctx context.Context) error {
	defer s.pipes.Close()
	fed := make(chan bool, 1)
	go func() { fed <- s.input() }()
	read := make(chan struct{})
	s.readers.Add(2)
	go s.output(s.pipes.Stdout, transcript.Stdout)
	go s.output(s.pipes.Stderr, transcript.Stderr)
	go func() { s.readers.Wait(); close(read) }()

	forced := s.await(ctx)
	if done(s.program.Done()) && forced.how != transcript.HowFlood {
		s.note("the program ended: %v", s.program.Wait())
		s.release()
		forced = s.settle(ctx, read)
	}
	ended := s.end(forced)

	// Nothing of the group lives, so the pipes have ended; but for a process that
	// got away from the group or can't be killed.
	timer := time.NewTimer(s.Grace)
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
		past := time.Now()
		s.pipes.Stdout.SetReadDeadline(past)
		s.pipes.Stderr.SetReadDeadline(past)
		<-read
	}
	select {
	case name := <-s.flood: // seen only when the rest was read
		if forced.how == "" {
			ended.How, ended.Detail = transcript.HowFlood, s.floodText(name)
		}
	default:
	}
	closed := <-fed
	s.log.Add(transcript.Event{Kind: transcript.Exited, Ended: &ended})
	if !closed {
		s.closed(transcript.Stdin, byUs, "the handler had ended")
	}
	return forced.cause
}

// forced is why the harness ends a handler; the zero value is that it did not
// have to.
type forced struct {
	how   string // a How constant
	why   string
	cause error // of the context, when that was the reason
}

func cancelled(ctx context.Context) forced {
	cause := context.Cause(ctx)
	return forced{transcript.HowCancelled, "the run was ended: " + cause.Error(), cause}
}

func (p *player) flooded(name string) forced {
	return forced{how: transcript.HowFlood, why: p.floodText(name)}
}

func (p *player) hung() forced {
	return forced{how: transcript.HowHang, why: fmt.Sprintf("the time limit of %v passed", p.Limit)}
}

// await waits until the program has ended or has to be ended.
func (s *subprocess) await(ctx context.Context) forced {
	limit := time.NewTimer(s.Limit)
	defer limit.Stop()
	select {
	case <-s.program.Done():
		return forced{}
	case name := <-s.flood:
		return s.flooded(name)
	case <-limit.C:
		return s.hung()
	case <-ctx.Done():
		return cancelled(ctx)
	}
}

// settle gives what the program has left behind the grace (R22): it returns once
// both outputs have ended and no process is left, or when the grace is over.
func (s *subprocess) settle(ctx context.Context, read <-chan struct{}) forced {
	grace := time.NewTimer(s.Grace)
	defer grace.Stop()
	select {
	case <-read:
	case <-grace.C:
		return forced{}
	case name := <-s.flood:
		return s.flooded(name)
	case <-ctx.Done():
		return cancelled(ctx)
	}
	// Nobody tells us when a process ends that is not our child.
	for pause := 200 * time.Microsecond; s.program.Members() > 0; pause = min(2*pause, 10*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-grace.C:
			return forced{}
		case <-ctx.Done():
			return cancelled(ctx)
		}
	}
	return forced{}
}

// end ends the program's group and says how the program ended.
func (s *subprocess) end(f forced) transcript.Ended {
	if f.how != "" {
		s.log.Add(transcript.Event{Kind: transcript.Killed, Text: f.why})
	}
	self := done(s.program.Done())
	report := s.program.End(0)
	s.release()
	ended := transcript.Ended{How: f.how, Detail: f.why, Group: report.Group, Left: report.Left}
	if !self && ended.Group > 0 {
		ended.Group-- // the program itself
	}
	if f.how == "" && ended.Group > 0 {
		s.log.Add(transcript.Event{Kind: transcript.Killed, Text: fmt.Sprintf("%d processes outlived the handler", ended.Group)})
	}
	if report.Left > 0 && !done(s.program.Done()) {
		return ended // not even SIGKILL ended it
	}
	exit := s.program.Wait()
	ended.Code = exit.Code
	switch {
	case f.how != "":
	case exit.Signal != 0:
		ended.How, ended.Signal, ended.Name = transcript.HowSignal, exit.Signal, exit.SignalName
	default:
		ended.How = transcript.HowExit
	}
	return ended
}

// release ends the feeding of input, wherever it is.
func (s *subprocess) release() {
	if !done(s.stop) {
		close(s.stop)
	}
	s.pipes.Stdin.SetWriteDeadline(time.Now())
}

// input feeds the program and reports whether its stdin was closed. It is left
// open when the program ended first: what is recorded as closed before the end
// was closed before the end. The event comes before the act, so that nothing that
// the act causes is recorded before it.
func (s *subprocess) input() bool {
	err := s.feed(s.pipes.Stdin, transcript.Stdin, s.stop)
	switch {
	case err == nil:
		if !wait(time.Duration(s.Script.Hold), s.stop) && s.Script.Hold > 0 {
			return false
		}
		s.closed(transcript.Stdin, byUs, "")
	case errors.Is(err, errStopped), errors.Is(err, os.ErrDeadlineExceeded):
		return false
	default: // P16/early-exit: a handler that does not read is no fault
		s.broken(transcript.Stdin, err)
	}
	s.pipes.Stdin.Close()
	return true
}

// output reads one of the program's outputs to its end.
func (s *subprocess) output(from *os.File, name string) {
	defer s.readers.Done()
	m := meter{limit: s.OutputLimit}
	var drops dropper
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			s.log.Add(transcript.Event{Kind: transcript.Received, Stream: name, Data: buffer[:n]})
			if m.passed(n) {
				s.flood <- name
			}
			drops.gather(n)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			s.closed(name, byPeer, "")
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.closed(name, byUs, "a process that outlived the handler holds it open")
			return
		default:
			s.closed(name, byUs, reason(err))
			return
		}
	}
}

func (p *player) floodText(name string) string {
	return fmt.Sprintf("more than %d bytes on %s", p.OutputLimit, name)
}

// meter counts what a stream brings.
type meter struct {
	limit int64
	total int64
}

// passed counts a read of n bytes and reports whether it is the one that passes
// the limit.
func (m *meter) passed(n int) bool {
	before := m.total
	m.total += int64(n)
	return before <= m.limit && m.total > m.limit
}

// The reads after which a stream that comes in drops is read more slowly, and
// what counts as a drop.
const (
	manyReads = 4096
	smallRead = 4096 // bytes
)

// dropper slows down the reading of a stream that brings very many small reads,
// so that it can gather: an event is many times larger than a byte, and a writer
// of single bytes could fill the memory with events below any limit on bytes.
type dropper struct{ small int }

// gather counts a read of n bytes, and waits when there were many small ones.
func (d *dropper) gather(n int) {
	if n >= smallRead {
		return
	}
	if d.small++; d.small > manyReads {
		time.Sleep(time.Millisecond)
	}
}

// done reports whether a channel was closed.
func done(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
