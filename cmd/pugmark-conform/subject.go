package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/subject"
	"pugmark.dev/conform/subjects"
)

// referenceName is the built-in subject: the reference runtime, and the scripted
// handler's program following the agreement with handler subjects.
const referenceName = "reference"

// opened is a subject that is ready to be put to the test.
type opened struct {
	runner.Subject
	close func() error
	// known is the path of its known-failures file, empty for none; mask is the variables
	// that its file lists as secrets.
	known string
	mask  []string
}

// Close ends what the subject keeps running.
func (o opened) Close() error {
	if o.close == nil {
		return nil
	}
	return o.close()
}

// openSubject finds, sets up and resolves a subject. What goes wrong here is an
// error of the harness or of the subject file, never a verdict. parallel is how many
// cases run at the same time, each of which may want a driver; zero is as many as run
// when the user says nothing. When ctx ends first the error is [errInterrupted], what
// was interrupted was said, and the subject can be described but not started.
func (a *app) openSubject(ctx context.Context, name string, parallel int) (opened, error) {
	if name == referenceName {
		s, err := a.reference()
		return opened{Subject: s}, err
	}
	cache, err := subject.DefaultCache()
	if err != nil {
		return opened{}, err
	}
	file, dir, err := subject.Find(name, subjects.Files(), cache)
	if err != nil {
		var unknown *subject.UnknownError
		if errors.As(err, &unknown) {
			unknown.Known = append([]string{referenceName}, unknown.Known...)
		}
		return opened{}, err
	}
	o, err := a.openFile(ctx, file, dir, parallel)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(a.Err, "pugmark-conform: interrupted before %s was ready: %v\n", file.Name, err)
		return declared(subject.Declared(file, dir)), errInterrupted
	}
	return o, err
}

// openFile is openSubject of a subject file that stands in dir.
func (a *app) openFile(ctx context.Context, file *subject.File, dir string, parallel int) (opened, error) {
	cache, err := subject.DefaultCache()
	if err != nil {
		return opened{}, err
	}
	ready, err := subject.Open(ctx, file, dir, cache, func(line string) { fmt.Fprintln(a.Err, line) })
	if err != nil {
		return opened{}, err
	}
	ready.Drivers = parallel
	o := declared(ready)
	o.close = ready.Close
	if o.Runtime != nil {
		ops, err := ready.Runtime()
		if err != nil {
			return opened{}, errors.Join(err, ready.Close())
		}
		o.Runtime.Ops = ops
		o.close = func() error { return errors.Join(ops.Close(), ready.Close()) }
		return o, nil
	}
	if service, ok := ready.Handler[protocol.TransportHTTP]; ok && len(service.Args) == 0 {
		// The user runs it: when it is not there, no case has anything to say.
		if _, err := subject.StartService(ctx, service, subject.ServiceOptions{}); err != nil {
			return opened{}, errors.Join(fmt.Errorf("subject %s: %w", ready.Name, err), ready.Close())
		}
	}
	return o, nil
}

// declared is a subject as its file has it. A runtime is without its operations.
func declared(ready *subject.Opened) opened {
	o := opened{Subject: runner.Subject{Name: ready.Name, Version: ready.Version}, known: ready.KnownFailures, mask: ready.Mask}
	if ready.Kind == subject.KindRuntime {
		o.Runtime = &runner.RuntimeSide{RuntimeSubject: stage.RuntimeSubject{Name: ready.Name}, Features: ready.Features}
		return o
	}
	o.Handler = &runner.HandlerSide{HandlerSubject: stage.HandlerSubject{Name: ready.Name}, Features: ready.Features}
	for transport, t := range ready.Handler {
		switch transport {
		case protocol.TransportSubprocess:
			o.Handler.Subprocess = &t
		case protocol.TransportRPC:
			o.Handler.RPC = &t
		case protocol.TransportHTTP:
			o.Handler.HTTP = &t
		}
	}
	return o
}

// reference is the built-in subject.
func (s Streams) reference() (runner.Subject, error) {
	self, err := s.self()
	if err != nil {
		return runner.Subject{}, fmt.Errorf("finding this program, which is the reference handler too: %w", err)
	}
	command := func(args ...string) *subject.ResolvedCommand {
		return &subject.ResolvedCommand{
			Args: append([]string{self, conformVerb}, args...), Env: subject.Environment(os.Environ()), URL: "http://127.0.0.1:{port}/",
		}
	}
	ops := &stage.Reference{}
	return runner.Subject{
		Name: referenceName, Version: version(),
		Handler: &runner.HandlerSide{
			HandlerSubject: stage.HandlerSubject{
				Name: referenceName, Subprocess: command(), RPC: command(),
				HTTP: command("127.0.0.1:{port}"),
			},
			Features: slices.DeleteFunc(spec.Features(spec.SideHandler), func(f string) bool { return f == "minimal-handler" }),
		},
		Runtime: &runner.RuntimeSide{
			RuntimeSubject: stage.RuntimeSubject{Name: referenceName, Ops: ops}, Features: ops.Features(),
		},
	}, nil
}
