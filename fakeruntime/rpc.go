package fakeruntime

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"
	"syscall"
	"time"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/transcript"
)

// Server is a handler's process in RPC mode (sections 2.2, 13 and 15): it serves
// on a socket that it inherits, and can serve many invocations, also several at a
// time. Its methods are safe for concurrent use.
type Server struct {
	program *process.Process
	pipes   process.Pipes
	spawn   []transcript.Event // what was started, for every transcript
	url     string
	readers sync.WaitGroup
	stopped sync.Once

	mu       sync.Mutex
	attached map[*attachment]bool
	unheard  map[string]*process.Capture // what was written outside of any invocation
	ended    bool                        // no more invocations
}

// attachment is an invocation that a server is busy with.
type attachment struct {
	log    *transcript.Recorder
	meters map[string]*meter
	flood  chan string
}

// StartRPC starts a program in RPC mode: descriptor 3 is a socket that listens on
// 127.0.0.1, PUGMARK_RPC_URL says so, and no identity is in the environment unless
// the target's Variables have one (R32). The socket takes connections from now
// on, so there is nothing to wait for. The error is a [process.StartError] when the
// program could not be started. The caller ends the server with Stop; ctx bounds
// the start alone.
func StartRPC(ctx context.Context, t Target) (*Server, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	socket, err := process.Listen()
	if err != nil {
		return nil, err
	}
	defer socket.Close() // ours; from then on connections fail when the program is gone
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	env, ours := environment(t.Env, map[string]string{protocol.EnvRPCURL: protocol.RPCURL}, t.Variables)
	program, pipes, err := t.Programs.StartPiped(process.Command{
		Args: t.Command, Dir: t.Dir, Env: env, Stdin: null, ExtraFiles: []*os.File{socket.File},
	})
	if err != nil {
		return nil, err
	}
	s := &Server{
		program: program, pipes: pipes, url: "http://" + socket.Addr.String() + "/",
		spawn: []transcript.Event{
			{Kind: transcript.Environment, Variables: maps.Clone(ours)},
			{Kind: transcript.Spawn, Text: shellQuoted(t.Command)},
		},
		attached: map[*attachment]bool{},
		unheard:  map[string]*process.Capture{transcript.Stdout: {}, transcript.Stderr: {}},
	}
	s.readers.Add(2)
	go s.read(pipes.Stdout, transcript.Stdout)
	go s.read(pipes.Stderr, transcript.Stderr)
	return s, nil
}

// Target is the server as the target of an invocation.
func (s *Server) Target() Target { return Target{server: s} }

// Usable reports whether the server can take another invocation: its program
// lives, and was not ended after a hang or a flood.
func (s *Server) Usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended && !done(s.program.Done())
}

// Stop ends the program and all that it left: SIGTERM, and after the grace SIGKILL.
// It returns what it found; called again, it returns the same, and a shorter grace
// cuts that of a Stop under way.
func (s *Server) Stop(grace time.Duration) process.Report {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	report := s.program.End(grace)
	s.stopped.Do(func() {
		past := time.Now()
		if report.Left == 0 {
			past = past.Add(DefaultGrace) // the pipes end by themselves
		}
		s.pipes.Stdout.SetReadDeadline(past)
		s.pipes.Stderr.SetReadDeadline(past)
		s.readers.Wait()
		s.pipes.Close()
	})
	return report
}

// read hands on what the program writes to one of its outputs. The read itself
// happens under the lock, so that hear can tell that nothing is on its way.
func (s *Server) read(from *os.File, name string) {
	defer s.readers.Done()
	raw, err := from.SyscallConn()
	if err != nil {
		return
	}
	buffer := make([]byte, 64<<10)
	var drops dropper
	raw.Read(func(fd uintptr) bool {
		for {
			n, err := s.readOnce(int(fd), name, buffer)
			if err != nil {
				return err != syscall.EAGAIN // else until there is more
			}
			drops.gather(n)
		}
	})
}

// hear hands on what the program has written up to now. A handler that wrote a
// diagnostic and then answered has it in the invocation's transcript.
func (s *Server) hear() {
	const most = 64 // reads; a program that writes without end is not waited for
	buffer := make([]byte, 64<<10)
	for name, from := range map[string]*os.File{transcript.Stdout: s.pipes.Stdout, transcript.Stderr: s.pipes.Stderr} {
		raw, err := from.SyscallConn()
		if err != nil {
			continue
		}
		raw.Control(func(fd uintptr) {
			for range most {
				if _, err := s.readOnce(int(fd), name, buffer); err != nil {
					return
				}
			}
		})
	}
}

// readOnce does one read(2) and hands on what it brought; io.EOF is the end.
func (s *Server) readOnce(fd int, name string, buffer []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := syscall.Read(fd, buffer)
	for err == syscall.EINTR {
		n, err = syscall.Read(fd, buffer)
	}
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	if len(s.attached) == 0 {
		s.unheard[name].Write(buffer[:n])
	}
	for a := range s.attached {
		a.log.Add(transcript.Event{Kind: transcript.Received, Stream: name, Data: buffer[:n]})
		if a.meters[name].passed(n) {
			a.flood <- name
		}
	}
	return n, nil
}

// attach makes the server's output part of an invocation's transcript. With
// several invocations at a time each gets all of it: there is no telling whose it
// is.
func (s *Server) attach(p *player) (*attachment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, ErrServerEnded
	}
	for _, e := range s.spawn {
		p.log.Add(e)
	}
	for _, name := range []string{transcript.Stdout, transcript.Stderr} {
		if c := s.unheard[name].Captured(); len(c.Head) > 0 {
			p.log.Add(transcript.Event{Kind: transcript.Note, Stream: name, Text: "written before this invocation", Data: transcript.Bytes(c.String())})
			s.unheard[name] = &process.Capture{}
		}
	}
	a := &attachment{log: p.log, flood: make(chan string, 2), meters: map[string]*meter{
		transcript.Stdout: {limit: p.OutputLimit}, transcript.Stderr: {limit: p.OutputLimit},
	}}
	s.attached[a] = true
	return a, nil
}

// detach ends an invocation's part. With last, the server is ended: at once, or
// when the other invocations under way are done with it. The second result says
// that it was ended now.
func (s *Server) detach(a *attachment, last bool) (process.Report, bool) {
	s.hear()
	s.mu.Lock()
	delete(s.attached, a)
	s.ended = s.ended || last
	now := s.ended && len(s.attached) == 0
	s.mu.Unlock()
	if !now {
		return process.Report{}, false
	}
	return s.Stop(0), true
}

// rpc plays the invocation to a process in RPC mode.
func (p *player) rpc(ctx context.Context) error {
	s := p.Target.server
	a, err := s.attach(p)
	if err != nil {
		return err
	}
	if done(s.program.Done()) {
		s.detach(a, false)
		p.log.Add(transcript.Event{Kind: transcript.Exited, Ended: p.gone(transcript.Ended{How: transcript.HowNotStarted}, "before this invocation")})
		return nil
	}
	ended, f, err := p.post(ctx, s.url, watched{done: s.program.Done(), flood: a.flood})
	if err != nil {
		s.detach(a, false)
		return err
	}
	if f.how == "" && ended.How != transcript.HowAnswer {
		wait(p.Grace, s.program.Done()) // the connection goes before its process is seen dead
	}
	died := done(s.program.Done())
	report, now := s.detach(a, f.how != "" || died)
	if now {
		ended.Group, ended.Left = report.Group, report.Left
		if !died && ended.Group > 0 {
			ended.Group-- // the program itself
		}
	}
	switch {
	case f.how != "":
		p.log.Add(transcript.Event{Kind: transcript.Exited, Ended: &ended})
	case !died:
		p.log.Add(transcript.Event{Kind: transcript.Closed, Stream: transcript.Answer, Text: answerEnd(ended), Ended: &ended})
	case ended.How == transcript.HowAnswer: // what it says after a whole answer doesn't take it back
		p.note("the program ended after its answer: %v", s.program.Wait())
		p.log.Add(transcript.Event{Kind: transcript.Closed, Stream: transcript.Answer, Text: answerEnd(ended), Ended: &ended})
	default:
		p.log.Add(transcript.Event{Kind: transcript.Exited, Ended: p.gone(ended, "during this invocation")})
	}
	return f.cause
}

// gone is the end of an invocation whose process has died.
func (p *player) gone(e transcript.Ended, when string) *transcript.Ended {
	exit := p.Target.server.program.Wait()
	if e.Detail != "" {
		e.Detail += "; "
	}
	e.Detail += fmt.Sprintf("the program ended %s: %v", when, exit)
	e.Code = exit.Code
	if exit.Signal != 0 {
		e.Signal, e.Name = exit.Signal, exit.SignalName
		if e.How != transcript.HowNotStarted {
			e.How = transcript.HowSignal
		}
	}
	return &e
}
