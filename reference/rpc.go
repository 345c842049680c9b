package reference

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"pugmark.dev/conform/protocol"
)

// RPC runs a command that serves invocations over HTTP on a listening socket that
// it inherits as descriptor 3 (section 13, P13/rpc-url). The process is started by
// the first invocation and serves those that follow; when it has ended, the next
// invocation starts another. Close it when done.
type RPC struct {
	// Command, Dir, Environ and Stderr are as in [Subprocess]. What the process
	// writes to its standard output is no part of the protocol here and goes where
	// its standard error goes.
	Command []string
	Dir     string
	Environ []string
	Stderr  io.Writer
	// Grace is how long an answer is waited for after the process has ended, and
	// how long the process may take to end when told to; 0 means [DefaultGrace].
	Grace time.Duration
	// Wire is the format of the streams; nil means [JSONWire].
	Wire Wire
	// Dial is as in [HTTP].
	Dial Dial

	mu      sync.Mutex
	process *server
}

// Invoke implements [Transport]. A process that ended since it answered an earlier
// invocation shows that only when it is asked; if not one byte of an answer came,
// the invocation goes to a new process.
func (p *RPC) Invoke(ctx context.Context, invocation Invocation) error {
	for {
		process, fresh, err := p.running(ctx, invocation)
		if err != nil {
			return err
		}
		err = p.ask(ctx, process, invocation)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case fresh || !errors.Is(err, errNoAnswer) || !process.hasEnded(2*p.grace()):
			return p.explain(process, err)
		}
	}
}

// ask posts an invocation to a process, for as long as there is one.
func (p *RPC) ask(ctx context.Context, process *server, invocation Invocation) error {
	posting, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		select {
		case <-posting.Done():
			return
		case <-process.ended:
		}
		// The connection ends with the process, unless a child of it holds the
		// socket; then the grace ends the wait.
		select {
		case <-posting.Done():
		case <-time.After(p.grace()):
			cancel()
		}
	}()
	lengthless, err := post(posting, process.address, exchange{wireOr(p.Wire), dialOr(p.Dial)}, invocation)
	cancel()
	<-watch
	if err == nil && lengthless {
		return process.endedWith(p.grace())
	}
	return err
}

// hasEnded reports whether the process has ended, or does so within some time: its
// connections end a little before it does.
func (s *server) hasEnded(within time.Duration) bool {
	select {
	case <-s.ended:
		return true
	case <-time.After(within):
		return false
	}
}

// explain says that the process ended, if that is why there is no answer.
func (p *RPC) explain(process *server, err error) error {
	var failure *InvocationError
	if !errors.As(err, &failure) && !errors.Is(err, context.Canceled) {
		return err
	}
	// Twice the grace, since the first may pass in draining its output.
	// So long, too, it may take for its last words to be read.
	ended := failure != nil && (failure.Reason == ReasonExit || failure.Reason == ReasonSignal)
	if (failure == nil || ended || failure.Reason == ReasonConnection) && process.hasEnded(2*p.grace()) && !ended {
		failure = process.failure(err)
	}
	if failure == nil {
		return err
	}
	failure.Stderr = process.capture
	return failure
}

// Close ends the process group, gently first. It may be called more than once.
func (p *RPC) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return nil
	}
	p.process.stop(p.grace())
	p.process = nil
	return nil
}

func (p *RPC) grace() time.Duration {
	if p.Grace == 0 {
		return DefaultGrace
	}
	return p.Grace
}

// running returns the process, started afresh if there is none.
func (p *RPC) running(ctx context.Context, invocation Invocation) (process *server, fresh bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		select {
		case <-p.process.ended:
		default:
			return p.process, false, nil
		}
	}
	// The trace context travels with each request, so none stands in the environment.
	environ, err := childEnviron(p.Environ, Invocation{Identity: invocation.Identity})
	if err != nil {
		return nil, false, &InvocationError{Reason: ReasonLimit, Err: err}
	}
	process, err = p.start(append(environ, protocol.EnvRPCURL+"="+protocol.RPCURL))
	if err != nil {
		return nil, false, err
	}
	p.process = process
	return process, true, nil
}

// server is a running RPC process.
type server struct {
	command *exec.Cmd
	address *url.URL
	capture *Capture
	// exited is closed when the process has ended, and ended when its output was
	// drained, too.
	exited, ended chan struct{}
}

func (p *RPC) start(environ []string) (*server, error) {
	if len(p.Command) == 0 {
		return nil, &InvocationError{Reason: ReasonStart, Err: errors.New("the command is empty")}
	}
	socket, address, err := inheritable()
	if err != nil {
		return nil, fmt.Errorf("starting a handler: %w", err)
	}
	// Closed here once the child has it: when the child ends, connections that
	// nobody will accept must end too.
	defer socket.Close()
	pipes, err := newPipes(1)
	if err != nil {
		return nil, fmt.Errorf("starting a handler: %w", err)
	}
	output := pipes[0]
	defer output.w.Close()

	process := &server{
		command: exec.Command(p.Command[0], p.Command[1:]...),
		address: address, capture: new(Capture), exited: make(chan struct{}), ended: make(chan struct{}),
	}
	process.command.Dir = p.Dir
	process.command.Env = environ
	process.command.ExtraFiles = []*os.File{socket} // descriptor 3
	process.command.Stdout, process.command.Stderr = output.w, output.w
	process.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := process.command.Start(); err != nil {
		_ = output.r.Close()
		return nil, &InvocationError{Reason: ReasonStart, Err: err}
	}
	var diagnostics io.Writer = process.capture
	if p.Stderr != nil {
		diagnostics = io.MultiWriter(process.capture, heedless{p.Stderr})
	}
	process.watch(&heldPipe{file: output.r, grace: p.grace()}, diagnostics)
	return process, nil
}

// inheritable returns a listening socket of the loopback (IPv4) as a file, and its
// URL.
func inheritable() (*os.File, *url.URL, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close() // the file is a descriptor of its own
	socket, err := listener.File()
	if err != nil {
		return nil, nil, err
	}
	return socket, &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/"}, nil
}

// watch drains the output and waits for the end.
func (s *server) watch(output *heldPipe, diagnostics io.Writer) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(diagnostics, output)
	}()
	go func() {
		_ = s.command.Wait()
		close(s.exited)
		output.exited()
		<-drained
		if output.held { // by a child of the handler, whose time is over
			_ = syscall.Kill(-s.command.Process.Pid, syscall.SIGKILL)
		}
		_ = output.file.Close()
		close(s.ended)
	}()
}

// stop ends the process group and waits for it.
func (s *server) stop(grace time.Duration) {
	pid := s.command.Process.Pid
	select {
	case <-s.ended:
		return
	default:
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(grace):
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		<-s.ended
	}
}

// failure says how a process that ended while it was needed did so. Even status 0
// is a failure then.
func (s *server) failure(err error) *InvocationError {
	state := s.command.ProcessState
	if status, _ := state.Sys().(syscall.WaitStatus); status.Signaled() {
		return &InvocationError{Reason: ReasonSignal, Signal: status.Signal(), Err: err}
	}
	return &InvocationError{Reason: ReasonExit, Exit: state.ExitCode(), Err: err}
}
