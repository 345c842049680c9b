// Command pugmark-conform puts handlers and runtimes of the pugmark handler
// protocol to the test and reports what it found.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/mutants"
	"pugmark.dev/conform/process"
	"pugmark.dev/conform/report"
)

// The hidden verbs that make this program the handler of a case. They are
// dispatched before anything else starts up: the harness starts them hundreds of
// times in a run.
const (
	scriptedVerb = "scripted-handler"
	conformVerb  = "conform-handler"
	mutantVerb   = "mutant-handler"
)

// The exit statuses.
const (
	statusConformant    = 0 // or as expected by the known-failures file
	statusNotConformant = 1
	statusError         = 2 // of usage or of the harness, or nothing was selected
	statusIncomplete    = 3 // something that had to be tested could not be
)

func main() {
	if status, ok := hidden(os.Args); ok {
		os.Exit(status)
	}
	os.Exit(start())
}

// hidden plays a hidden verb, if the arguments have one.
func hidden(args []string) (status int, ok bool) {
	if len(args) > 1 {
		switch args[1] {
		case scriptedVerb:
			return fakehandler.Main(args[2:]), true
		case conformVerb:
			return fakehandler.ConformMain(args[2:]), true
		case mutantVerb:
			if len(args) > 2 {
				return mutants.Main(args[2], args[3:]), true
			}
		}
	}
	return 0, false
}

// endGrace is how long a program that has to end has between SIGTERM and SIGKILL.
const endGrace = 2 * time.Second

// start runs the program with what the operating system gives it, and leaves no
// process behind, whatever way it ends (F15).
func start() int {
	surviveUnreadPipes()
	programs, done := &process.Set{}, &written{}
	ctx, stop := interrupted(programs, os.Stderr, done)
	defer stop()
	// Without this, what a subject leaves behind is found later, not never.
	_ = process.Adopt()
	defer programs.EndAll(endGrace)
	return Run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Programs: programs, Written: done})
}

// Streams is what a verb reads and writes, and the set that it starts programs in.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Programs *process.Set
	// Written is told of reports that are there; nil is told nothing.
	Written *written
	// Now is the time by which known failures expire; nil is [time.Now].
	Now func() time.Time
	// Environ is where secrets are looked for, as NAME=value; nil is [os.Environ].
	Environ func() []string
	// Self is the program that plays the handlers of ours by its hidden verbs; empty is
	// the one that runs.
	Self string
}

// Run runs one verb and returns the exit status. Tests call it in process.
func Run(ctx context.Context, args []string, s Streams) int {
	out, errs := &shown{name: "standard output", to: s.Out}, &shown{name: "standard error", to: s.Err}
	s.Out, s.Err = out, errs
	app := &app{Streams: s, args: args, shown: out}
	root := app.root()
	if args == nil {
		args = []string{} // nil would be os.Args to cobra
	}
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	var status statusCode
	quiet := false
	for _, stream := range []*shown{errs, out} {
		if lost := stream.lost(); lost != nil {
			// Whoever closed a pipe knows; that a result was not shown is said in any event.
			quiet = isUnread(lost) && !app.judged && (err == nil || quiet || errors.As(err, &status))
			err = harnessError(err, lost)
		}
	}
	switch {
	case err == nil:
		return statusConformant
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(s.Err, "pugmark-conform: interrupted")
		return statusIncomplete
	case !quiet:
		fmt.Fprintln(s.Err, "pugmark-conform:", report.Inert(err.Error())) // it may quote a subject
	}
	return statusError
}

func (s Streams) self() (string, error) {
	if s.Self != "" {
		return s.Self, nil
	}
	return os.Executable()
}

func (s Streams) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

func (s Streams) environ() []string {
	if s.Environ == nil {
		return os.Environ()
	}
	return s.Environ()
}

// statusCode ends a verb that has said all there is to say with a status.
type statusCode int

func (s statusCode) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// app is one call of the program.
type app struct {
	Streams
	args []string
	// shown is standard output; judged is set when what it should have shown is the
	// result of a run.
	shown  *shown
	judged bool
}

// command is the command line, for the report.
func (a *app) command() []string { return append([]string{"pugmark-conform"}, a.args...) }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "pugmark-conform",
		Short: "Conformance harness of the pugmark handler protocol",
		Long: `pugmark-conform runs case files against a handler, an SDK or a runtime of the
pugmark handler protocol, and reports which requirements hold.

Exit status: 0 conformant or as expected, 1 not conformant, 2 usage or harness error, nothing
selected, or output that could not be written, 3 incomplete: something that had to be tested
could not be, or the run was interrupted.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.RunE = func(*cobra.Command, []string) error {
		root.SetOut(a.Err)
		return errors.Join(root.Help(), statusCode(statusError)) // a job that lost its arguments has not passed
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		a.runCommand(), a.listCommand(), a.showCommand(), a.explainCommand(), a.lintCommand(),
		a.coverageCommand(), a.mutantsCommand(), a.judgeCommand(), a.reproCommand(), a.reportCommand(),
		a.initCommand(), a.doctorCommand(), a.newCaseCommand(), a.versionCommand(),
	)
	checkHelp(root)
	return root
}
