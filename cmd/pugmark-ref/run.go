package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// runFlags are the flags of run.
type runFlags struct {
	session  string
	once     bool
	start    bool
	rpc      bool
	url      string
	handlers namedHandlers
	allowed  []string
	json     bool
}

func (a *app) runCommand() *cobra.Command {
	var flags runFlags
	command := &cobra.Command{
		Use:   "run [flags] [--] [COMMAND...]",
		Short: "Invoke a session's handler until the session pauses or is idle",
		Long: `Invoke a session's handler until the session pauses, an invocation adds nothing,
or one fails. COMMAND is the default handler; a session that names a handler gets
the one of that name and no other. A sleep is waited out, unless something is pushed
meanwhile; standard error says so, and Ctrl-C ends the wait, and a handler that runs,
with nothing half done. A session that is paused with nothing new is left alone.

A handler is a program that reads its session's log on standard input and writes new
entries to standard output; with --rpc it is one that serves HTTP on the socket it
inherits as descriptor 3, and with --url a service that runs already. Commands are
split into words as a shell splits them, but nothing in them is expanded.

Bodies by uri are taken from the store itself, and from files below the folders that
--allow-uri names.`,
		Example: `  pugmark-ref run --once -- python handler.py
  pugmark-ref run --handler python='python agent.py' --handler bash='bash worker.sh' --start
  pugmark-ref run --rpc -- python server.py
  pugmark-ref run --url http://127.0.0.1:8000/`,
		RunE: func(command *cobra.Command, args []string) error {
			return a.run(command, flags, args)
		},
	}
	set := command.Flags()
	set.SetInterspersed(false) // what follows the command's name belongs to it
	sessionFlag(command, &flags.session)
	set.BoolVar(&flags.once, "once", false, "invoke the handler once")
	set.BoolVar(&flags.start, "start", false, "start a session first, and print its ID; it runs with the default handler, or without one with the first that is named")
	set.BoolVar(&flags.rpc, "rpc", false, "commands serve HTTP on descriptor 3 instead of reading standard input")
	set.Func("url", "the default handler is an HTTP service at this `URL`", serviceValue(&flags.url))
	set.Func("handler", "a named handler, `name='command'` or name=http://...; may be given again", handlerValue(&flags.handlers))
	set.Func("allow-uri", "a `folder` that outputs may take bodies from by file:// URI, beside the store; may be given again", foldersValue(&flags.allowed))
	set.BoolVar(&flags.json, "json", false, "print the result as JSON")
	return command
}

func (a *app) run(command *cobra.Command, flags runFlags, args []string) error {
	if flags.start && flags.session != "" {
		return hint(errors.New("--start makes a session and --session takes one"), "give only one of them")
	}
	handlers, closeHandlers, err := a.handlers(flags, args)
	if err != nil {
		return err
	}
	defer closeHandlers()
	return a.withStore(command.Context(), flags.start, func(runtime *reference.Runtime, store *openStore) error {
		store.allow(flags.allowed...)
		tracer, flush := a.startTracing(command.Context(), os.Getenv)
		defer flush()
		runtime.Tracer = tracer
		session, err := a.sessionToRun(command, flags, runtime, store)
		if err != nil {
			return err
		}
		waiting := &waiting{app: a, runtime: runtime, session: session}
		defer waiting.handlerEnds()
		runtime.Clock = waiting
		options := reference.RunOptions{Handlers: hintedHandlers{handlers, waiting}, Trace: protocol.TraceContextFromEnviron(os.Getenv)}
		runSession := runtime.Run
		if flags.once {
			runSession = runtime.RunOnce
		}
		result, err := runSession(command.Context(), session, options)
		if err != nil {
			return err
		}
		return a.printResult(result, flags.json)
	})
}

func (a *app) sessionToRun(command *cobra.Command, flags runFlags, runtime *reference.Runtime, store *openStore) (string, error) {
	if !flags.start {
		return store.session(flags.session)
	}
	var manifest storage.Manifest
	if flags.url == "" && command.Flags().NArg() == 0 {
		manifest.Handler = flags.handlers.first
	}
	started, err := runtime.StartSession(command.Context(), manifest)
	if err != nil {
		return "", err
	}
	if err := store.setCurrent(started.Session); err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(a.out, started.Session)
	return started.Session, err
}

// handlers makes the registry that the flags and the command describe.
func (a *app) handlers(flags runFlags, args []string) (reference.Registry, func(), error) {
	var closers []func() error
	closeAll := func() {
		for _, closeOne := range closers {
			_ = closeOne()
		}
	}
	transport := func(command []string) reference.Transport {
		if !flags.rpc {
			return reference.Subprocess{Command: command, Stderr: a.err}
		}
		process := &reference.RPC{Command: command, Stderr: a.err}
		closers = append(closers, process.Close)
		return process
	}
	var registry reference.Registry
	switch {
	case flags.url != "" && len(args) > 0:
		return registry, nil, hint(errors.New("--url and a command are both given"), "give one of them, since a session has one default handler")
	case flags.rpc && len(args) == 0 && !flags.hasCommand():
		return registry, nil, hint(errors.New("--rpc is given and no command"), "name one after --, or leave --rpc out for a service that runs already")
	case flags.url != "":
		registry.Default = reference.HTTP{URL: flags.url}
	case len(args) > 0:
		registry.Default = transport(args)
	case len(flags.handlers.byName) == 0:
		return registry, nil, hint(errors.New("no handler is given"), "name its command after --, as in `pugmark-ref run -- python handler.py`")
	}
	registry.Named = make(map[string]reference.Transport, len(flags.handlers.byName))
	for name, handler := range flags.handlers.byName {
		if handler.url != "" {
			registry.Named[name] = reference.HTTP{URL: handler.url}
			continue
		}
		registry.Named[name] = transport(handler.words)
	}
	return registry, closeAll, nil
}

// hasCommand reports whether a named handler is a command.
func (f runFlags) hasCommand() bool {
	for _, handler := range f.handlers.byName {
		if handler.url == "" {
			return true
		}
	}
	return false
}

// printedResult is a result as JSON.
type printedResult struct {
	Session     string          `json:"session"`
	Version     int64           `json:"version"`
	State       reference.State `json:"state"`
	Invocations int             `json:"invocations"`
}

func (a *app) printResult(result reference.Result, asJSON bool) error {
	if asJSON {
		return a.printJSON(printedResult(result), "")
	}
	text := map[reference.State]string{
		reference.StateRan:    "it may have more to do",
		reference.StateIdle:   "the handler added nothing",
		reference.StatePaused: "it is paused",
	}[result.State]
	_, err := fmt.Fprintf(a.out, "session %s is at version %d; %s\n", result.Session, result.Version, text)
	return err
}
