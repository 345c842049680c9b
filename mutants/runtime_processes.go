package mutants

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"syscall"
	"time"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/subject"
)

// runtimeProcesses start handlers without care. They take effect on the subprocess
// transport alone.
func runtimeProcesses() []Mutant {
	starting := func(id, requirement, sentence string, with careless) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Transports: []string{protocol.TransportSubprocess},
			Runtime: transported(func(t reference.Transport) reference.Transport {
				s, ok := t.(reference.Subprocess)
				if !ok {
					return t
				}
				with := with // one for each run
				with.command = s.Command
				return with
			}),
		}
	}
	return []Mutant{
		starting("leaves-stderr-in-its-pipe", "P2.1/stderr-free",
			"Nobody reads a handler's standard error while it runs.",
			careless{stderr: func(*os.File, context.Context) error { return nil }}),
		starting("reads-stderr-line-by-line", "P2.1/stderr-free",
			"A long line on a handler's standard error fails the invocation.",
			careless{stderr: scanned}),
		starting("merges-stderr-into-stdout", "P2.1/stderr-free",
			"A handler's standard error goes where its standard output goes.",
			careless{merged: true}),
		starting("gives-no-input", "P2.1/stdio",
			"A handler's standard input is empty.",
			careless{feed: func(in *os.File, _ iter.Seq2[protocol.Input, error]) error { return in.Close() }}),
		starting("waits-for-whoever-holds-stdout", "P2.1/stdio",
			"An invocation lasts until every process has closed the handler's standard output.",
			careless{}),
		starting("keeps-the-input-open", "P16/closes-input",
			"A handler's standard input is never closed.",
			careless{feed: func(in *os.File, inputs iter.Seq2[protocol.Input, error]) error {
				return reference.JSONWire{}.WriteInputs(in, inputs)
			}}),
		{
			ID: "runtime/wants-its-input-read", Requirement: "P16/early-exit",
			Sentence:   "A handler that does not read its input has failed.",
			Transports: []string{protocol.TransportSubprocess},
			Runtime:    wired(insistent{}),
		},
	}
}

// patience is how long an invocation of a careless runtime takes at the most: it
// gives up where others would hang, so that what is wrong with it shows.
const patience = 1500 * time.Millisecond

// careless runs a handler as programs do that were not thought through. The zero
// value is right but for one thing: it waits for the end of the handler's standard
// output, whoever holds it.
type careless struct {
	command []string
	// feed writes the Inputs; nil writes them and closes the stream.
	feed func(in *os.File, inputs iter.Seq2[protocol.Input, error]) error
	// stderr reads the standard error; nil reads it to its end. It returns when the
	// context ends.
	stderr func(from *os.File, ctx context.Context) error
	// merged gives the handler one pipe for both streams.
	merged bool
}

// Invoke implements [reference.Transport].
func (c careless) Invoke(ctx context.Context, invocation reference.Invocation) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	own, err := invocation.Identity.Environ()
	if err != nil {
		return err
	}
	env := append(append(subject.Environment(os.Environ()), own...), invocation.Trace.Environ()...)
	p, pipes, err := c.start(env)
	if err != nil {
		return &reference.InvocationError{Reason: reference.ReasonStart, Err: err}
	}
	defer pipes.Close()
	defer p.End(0)
	stop := context.AfterFunc(ctx, func() {
		p.End(0)
		pipes.Close()
	})
	defer stop()

	feed := c.feed
	if feed == nil {
		feed = feedAndClose
	}
	go feed(pipes.Stdin, invocation.Inputs)
	diagnosed := make(chan error, 1)
	go func() { diagnosed <- c.diagnose(ctx, pipes) }()
	err = reference.JSONWire{}.ReadOutputs(pipes.Stdout, invocation.Output)
	if ctx.Err() != nil {
		return &reference.InvocationError{Reason: reference.ReasonConnection, Err: errors.New("the handler did not come to its end")}
	}
	exit := p.Wait()
	if err == nil {
		err = <-diagnosed
	}
	switch {
	case err != nil:
		return &reference.InvocationError{Reason: reference.ReasonStream, Err: err}
	case !exit.OK():
		return &reference.InvocationError{Reason: reference.ReasonExit, Exit: exit.Code, Signal: syscall.Signal(exit.Signal)}
	}
	return nil
}

func (c careless) start(env []string) (*process.Process, process.Pipes, error) {
	command := process.Command{Args: c.command, Env: env}
	var none *process.Set
	if !c.merged {
		return none.StartPiped(command)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, process.Pipes{}, err
	}
	defer w.Close()
	command.Stdout, command.Stderr = w, w
	p, pipes, err := none.StartPiped(command)
	pipes.Stdout = r
	return p, pipes, err
}

func (c careless) diagnose(ctx context.Context, pipes process.Pipes) error {
	switch {
	case pipes.Stderr == nil:
		return nil
	case c.stderr != nil:
		return c.stderr(pipes.Stderr, ctx)
	}
	_, _ = io.Copy(io.Discard, pipes.Stderr)
	return nil
}

func feedAndClose(in *os.File, inputs iter.Seq2[protocol.Input, error]) error {
	defer in.Close()
	return reference.JSONWire{}.WriteInputs(in, inputs)
}

// scanned reads lines with a buffer of 64 KiB.
func scanned(from *os.File, _ context.Context) error {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
	}
	err := lines.Err()
	_, _ = io.Copy(io.Discard, from)
	return err
}

// insistent takes it for a failure when the handler does not read its input.
type insistent struct{ reference.JSONWire }

func (w insistent) WriteInputs(to io.Writer, inputs iter.Seq2[protocol.Input, error]) error {
	err := w.JSONWire.WriteInputs(to, inputs)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrDeadlineExceeded) {
		return &reference.InvocationError{Reason: reference.ReasonConnection, Err: errors.New("the handler closed its input")}
	}
	return err
}
