package reference

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"pugmark.dev/conform/protocol"
)

// DefaultGrace is how long a transport waits for a pipe that outlives its handler.
const DefaultGrace = 500 * time.Millisecond

// Subprocess runs a command for each invocation (section 2.1): Inputs on its
// standard input, Outputs from its standard output (P2.1/stdio), completion by exit
// status 0.
type Subprocess struct {
	// Command is the program and its arguments.
	Command []string
	// Dir is the working folder; empty means the runtime's own.
	Dir string
	// Environ is what the child inherits, less what the protocol sets (P13);
	// nil means the runtime's own environment.
	Environ []string
	// Stderr also gets what the handler writes there, as it comes; nil means no
	// one does. A bounded part is kept for the error in any case.
	Stderr io.Writer
	// Grace is how long a pipe that a child of the handler holds is waited for
	// after the handler's exit (reading R22); 0 means [DefaultGrace].
	Grace time.Duration
	// Wire is the format of the streams; nil means [JSONWire].
	Wire Wire
}

// Invoke implements [Transport].
func (s Subprocess) Invoke(ctx context.Context, invocation Invocation) error {
	environ, err := childEnviron(s.Environ, invocation)
	if err != nil {
		return &InvocationError{Reason: ReasonLimit, Err: err}
	}
	child, err := s.start(ctx, environ)
	if err != nil {
		return err
	}
	defer child.close()

	written := make(chan error, 1)
	go func() { written <- child.feed(wireOr(s.Wire), invocation) }()
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(child.diagnostics, child.stderr)
		close(drained)
	}()
	exited := make(chan error, 1)
	go func() { exited <- child.wait() }()

	readErr := readOutputs(s.Wire, child.stdout, invocation.Output)
	exitErr := <-exited
	writeErr := <-written
	<-drained
	if child.stdout.held || child.stderr.held {
		child.kill() // what still holds the pipes is the handler's, and its time is over
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case writeErr != nil:
		return fmt.Errorf("sending the inputs: %w", writeErr)
	}
	return child.verdict(exitErr, readErr)
}

// child is a running handler and our ends of its pipes.
type child struct {
	command     *exec.Cmd
	stdin       *os.File
	stdout      *heldPipe
	stderr      *heldPipe
	capture     *Capture
	diagnostics io.Writer
}

func (s Subprocess) start(ctx context.Context, environ []string) (*child, error) {
	if len(s.Command) == 0 {
		return nil, &InvocationError{Reason: ReasonStart, Err: errors.New("the command is empty")}
	}
	command := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	command.Dir = s.Dir
	command.Env = environ
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c := &child{command: command, capture: new(Capture)}
	c.diagnostics = c.capture
	if s.Stderr != nil {
		c.diagnostics = io.MultiWriter(c.capture, heedless{s.Stderr})
	}
	command.Cancel = func() error { c.kill(); return nil }

	pipes, err := newPipes(3)
	if err != nil {
		return nil, fmt.Errorf("starting a handler: %w", err)
	}
	in, out, diag := pipes[0], pipes[1], pipes[2]
	grace := s.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	c.stdin = in.w
	c.stdout = &heldPipe{file: out.r, grace: grace}
	c.stderr = &heldPipe{file: diag.r, grace: grace}
	command.Stdin, command.Stdout, command.Stderr = in.r, out.w, diag.w
	startErr := command.Start()
	_ = errors.Join(in.r.Close(), out.w.Close(), diag.w.Close())
	if startErr != nil {
		c.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &InvocationError{Reason: ReasonStart, Err: startErr}
	}
	return c, nil
}

// feed writes the inputs and closes the stream (P16/closes-input). That the handler does not read it
// is no error (P16/early-exit). When the inputs themselves fail, the handler is
// killed, since it could take what it got for the whole.
func (c *child) feed(wire Wire, invocation Invocation) error {
	err := wire.WriteInputs(c.stdin, invocation.Inputs)
	switch {
	case err == nil:
		err = c.stdin.Close()
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed):
		err = nil
		_ = c.stdin.Close()
	default:
		c.kill()
		_ = c.stdin.Close()
	}
	return err
}

// wait waits for the exit and starts the grace of the pipes.
func (c *child) wait() error {
	err := c.command.Wait()
	_ = c.stdin.SetWriteDeadline(time.Now()) // a child of the handler may hold it without reading
	c.stdout.exited()
	c.stderr.exited()
	return err
}

// kill ends the handler's process group.
func (c *child) kill() { _ = syscall.Kill(-c.command.Process.Pid, syscall.SIGKILL) }

func (c *child) close() {
	_ = errors.Join(c.stdin.Close(), c.stdout.file.Close(), c.stderr.file.Close())
}

// verdict puts together how the handler ended and what it wrote. The end comes
// first: a record that is cut short is most often its consequence.
func (c *child) verdict(exitErr, readErr error) error {
	failure := new(InvocationError)
	if readErr != nil && !errors.As(readErr, &failure) {
		return readErr
	}
	state := c.command.ProcessState
	status, _ := state.Sys().(syscall.WaitStatus)
	switch {
	case state.Success() && readErr == nil:
		return nil
	case state.Success():
		// failure says what was written
	case status.Signaled():
		failure = &InvocationError{Reason: ReasonSignal, Signal: status.Signal(), Err: readErr}
	default:
		failure = &InvocationError{Reason: ReasonExit, Exit: state.ExitCode(), Err: readErr}
	}
	if failure.Reason == "" {
		failure.Err = exitErr
	}
	failure.Stderr = c.capture
	return failure
}

// heedless passes writes on and ignores that they fail: a closed terminal must not
// stop the draining of a handler's stderr (P2.1/stderr-free).
type heedless struct{ w io.Writer }

func (h heedless) Write(p []byte) (int, error) {
	_, _ = h.w.Write(p)
	return len(p), nil
}

type pipe struct{ r, w *os.File }

func newPipes(count int) ([]pipe, error) {
	var pipes []pipe
	for range count {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range pipes {
				_ = errors.Join(p.r.Close(), p.w.Close())
			}
			return nil, err
		}
		pipes = append(pipes, pipe{r, w})
	}
	return pipes, nil
}

// childEnviron is what a handler's process gets (section 13): what it inherits,
// without anything that could be taken for this invocation's, then this
// invocation's own (P13/identity-variables, P14/traceparent), and no proxy between it
// and the two servers.
func childEnviron(inherited []string, invocation Invocation) ([]string, error) {
	if inherited == nil {
		inherited = os.Environ()
	}
	own, err := invocation.Identity.Environ()
	if err != nil {
		return nil, err
	}
	environ := withoutLoopbackProxy(protocol.CleanEnviron(inherited))
	environ = append(environ, own...)
	return append(environ, invocation.Trace.Environ()...), nil
}
