package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // an invocation failed by its handler
	exitOther  = 2 // wrong usage, an interruption, or anything else
)

// streams are the standard streams of the program.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run is the program: it returns the exit status.
func run(ctx context.Context, args []string, std streams) int {
	std.out, std.err = readOutput{std.out}, &lockedWriter{w: std.err}
	return (&app{streams: std, patience: patience}).execute(ctx, args)
}

func (a *app) execute(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = a.refusal
	}
	if err != nil {
		return a.complain(ctx, err)
	}
	return exitOK
}

// app is what the verbs share.
type app struct {
	streams
	store   string
	verbose bool
	// patience is how long a handler runs before a run says that it waits for it.
	patience time.Duration
	// refusal is what was wrong with the usage where the library takes no error.
	refusal error
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "pugmark-ref",
		Short: "Run pugmark handlers on sessions in a store of your own",
		Long: `pugmark-ref is the reference runtime of the pugmark handler protocol, version 1. It
keeps sessions in a store, runs handlers on them, and shows what became of them.

A store is a folder, .pugmark in the working folder unless -b names another, or a
bucket: -b s3://BUCKET/PREFIX. The bucket must exist; ?endpoint=URL and ?region=NAME
name a server other than Amazon's, and credentials come from the environment as for
AWS's own tools. Several runtimes may work on one store at a time.

Verbs that take a session take the current one, the one that was started last,
unless --session names another.

Exit status: 0 when all is well, 1 when an invocation failed by its handler, 2 for
wrong usage, an interruption and everything else. Standard error then has one line
with what is wrong and what to do.`,
		Example: `  pugmark-ref start
  pugmark-ref push <<<'{"kind":"input","text":"hello"}'
  pugmark-ref run --once -- python handler.py
  pugmark-ref log -A`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          onlyVerbs,
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	flags := root.PersistentFlags()
	flags.StringVarP(&a.store, "store", "b", defaultStore, "store: a folder, or a file:// or s3:// URL")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "say more on standard error")
	root.AddCommand(a.startCommand(), a.pushCommand(), a.runCommand(), a.logCommand(), a.inspectCommand(),
		a.memoryCommand(), a.driverCommand(), a.versionCommand(), statusTopic(), environmentTopic())
	a.checkUsage(root)
	return root
}

// with opens the store, hands the runtime on it to do, and closes it.
func (a *app) with(ctx context.Context, do func(*reference.Runtime, *openStore) error) error {
	return a.withStore(ctx, false, do)
}

// withStore is with for a verb that may make the store.
func (a *app) withStore(ctx context.Context, create bool, do func(*reference.Runtime, *openStore) error) error {
	store, err := openStoreAt(ctx, a.store, create)
	if err != nil {
		return err
	}
	runtime := &reference.Runtime{
		Store:   &storage.Store{Bucket: store.bucket},
		Logger:  a.logger(),
		Sources: hintedSources{store.sources},
	}
	return errors.Join(do(runtime, store), store.close())
}

func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime}))
}

// withoutTime leaves the time out of log lines: they are read as they come.
func withoutTime(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) == 0 && attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}

// sessionFlag adds the flag by which a verb takes a session other than the current.
func sessionFlag(command *cobra.Command, session *string) {
	command.Flags().Func("session", "session `ID`, 32 hex digits (default: the one that was started last)", sessionValue(session))
}
