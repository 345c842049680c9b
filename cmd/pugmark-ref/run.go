package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
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
	handlers []string
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
meanwhile. A session that is paused with nothing new is left alone.

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
	set.BoolVar(&flags.start, "start", false, "start a session first, and print its ID")
	set.BoolVar(&flags.rpc, "rpc", false, "commands serve HTTP on descriptor 3 instead of reading standard input")
	set.StringVar(&flags.url, "url", "", "the default handler is an HTTP service at this URL")
	set.StringArrayVar(&flags.handlers, "handler", nil, "a named handler: name='command', or name=http://...; may be given again")
	set.StringArrayVar(&flags.allowed, "allow-uri", nil, "a folder that outputs may take bodies from by file:// URI, beside the store; may be given again")
	set.BoolVar(&flags.json, "json", false, "print the result as JSON")
	return command
}

func (a *app) run(command *cobra.Command, flags runFlags, args []string) error {
	if flags.start && flags.session != "" {
		return errors.New("--start makes a session and --session takes one; give only one of them")
	}
	handlers, closeHandlers, err := a.handlers(flags, args)
	if err != nil {
		return err
	}
	defer closeHandlers()
	return a.withStore(command.Context(), flags.start, func(runtime *reference.Runtime, store *openStore) error {
		if err := store.allow(flags.allowed); err != nil {
			return err
		}
		tracer, flush := a.startTracing(command.Context(), os.Getenv)
		defer flush()
		runtime.Tracer = tracer
		session, err := a.sessionToRun(command, flags, runtime, store)
		if err != nil {
			return err
		}
		options := reference.RunOptions{Handlers: handlers, Trace: protocol.TraceContextFromEnviron(os.Getenv)}
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
	started, err := runtime.StartSession(command.Context(), storage.Manifest{})
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
		return registry, nil, errors.New("--url and a command are both given; a session has one default handler")
	case flags.url != "":
		registry.Default = reference.HTTP{URL: flags.url}
	case len(args) > 0:
		registry.Default = transport(args)
	case len(flags.handlers) == 0:
		return registry, nil, errors.New("no handler is given; name its command after --, as in `pugmark-ref run -- python handler.py`")
	}
	for _, flag := range flags.handlers {
		name, text, found := strings.Cut(flag, "=")
		if !found || name == "" {
			return registry, nil, fmt.Errorf("--handler %.80q is not name='command'", flag)
		}
		if registry.Named == nil {
			registry.Named = make(map[string]reference.Transport)
		}
		if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
			registry.Named[name] = reference.HTTP{URL: text}
			continue
		}
		words, err := splitWords(text)
		if err != nil {
			return registry, nil, fmt.Errorf("--handler %s: %w", name, err)
		}
		registry.Named[name] = transport(words)
	}
	return registry, closeAll, nil
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
		data, err := json.Marshal(printedResult(result))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "%s\n", data)
		return err
	}
	text := map[reference.State]string{
		reference.StateRan:    "it may have more to do",
		reference.StateIdle:   "the handler added nothing",
		reference.StatePaused: "it is paused",
	}[result.State]
	_, err := fmt.Fprintf(a.out, "session %s is at version %d; %s\n", result.Session, result.Version, text)
	return err
}
