//go:build unix

package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pugmark.dev/conform/process"
)

// versionTime is how long the version command may take.
const versionTime = 10 * time.Second

// ResolvedCommand is a command that can be started as it is: its placeholders
// have their values, all but {port}, which a service gets when it starts.
type ResolvedCommand struct {
	// Args is the program and its arguments; none for a service that the user
	// runs.
	Args []string
	// Dir is the folder of the subject file.
	Dir string
	// Env is the whole environment; see Environment. What an invocation sets
	// comes on top.
	Env []string
	// URL is where an HTTP service answers, with {port} if that is chosen anew
	// for each start.
	URL string
}

// Opened is a subject that is set up: what its file says, ready to start.
type Opened struct {
	Name, Kind string
	// Version is what the version command printed, in one line; empty if the
	// file has none.
	Version  string
	Features []string
	// Handler is how a handler is reached, by transport. The subprocess command
	// is started for each invocation, the rpc command on a listening descriptor
	// 3, the http command by StartService.
	Handler map[string]ResolvedCommand
	// KnownFailures is the path of the known-failures file, or empty.
	KnownFailures string
	// Mask is names of variables whose values are secrets.
	Mask []string
	// Dir is the folder of the subject file, Cache is its {cache}.
	Dir, Cache string
	// Drivers is how many processes of a runtime's driver may run at the same
	// time; 0 means twice GOMAXPROCS. See Driver.
	Drivers int

	file   *File
	env    []string
	unlock func()
}

// DefaultCache is the folder that set-ups and shipped subjects are kept in
// when the user names none.
func DefaultCache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache folder: %w", err)
	}
	return filepath.Join(dir, "pugmark-conform"), nil
}

// Open does the set-up of a subject whose file stands in dir, unless it was done
// before with the same content, asks for its version, and makes sure that its
// programs are there. progress, if not nil, is told what takes long. Set-ups are
// kept under cacheRoot and may be shared by any number of runs at the same time; of
// those of one subject file the two that were used last are kept, and those that
// somebody has open. Whoever opens a subject closes it.
//
// The error is a *SetupError when a line of setup did not go through, wraps a
// *process.StartError when a program is missing, and wraps the cause of ctx when
// that ended first.
func Open(ctx context.Context, f *File, dir, cacheRoot string, progress func(string)) (_ *Opened, err error) {
	if progress == nil {
		progress = func(string) {}
	}
	for _, path := range []*string{&dir, &cacheRoot} { // commands run elsewhere
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return nil, fmt.Errorf("subject %s: %w", f.Name, err)
		}
		*path = absolute
	}
	s, err := newSetup(f, dir, cacheRoot)
	if err != nil {
		return nil, err
	}
	s.env = Environment(os.Environ())
	unlock, err := s.run(ctx, progress)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	o := newOpened(f, dir, s.files())
	o.unlock = unlock
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("subject %s: %w%s", f.Name, err, o.advice())
	}
	if o.Version, err = o.version(ctx, versionTime); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("subject %s: `version`, %s: %w", f.Name, shown(f.Version), stopped(ctx))
		}
		return nil, fmt.Errorf("subject %s: %w%s", f.Name, err, o.advice())
	}
	return o, nil
}

// Declared is what a subject file that stands in dir says by itself: nothing is set up,
// nothing is asked, and nothing can be started.
func Declared(f *File, dir string) *Opened { return newOpened(f, dir, "") }

func newOpened(f *File, dir, cache string) *Opened {
	o := &Opened{
		Name: f.Name, Kind: f.Kind, Features: f.Features, Mask: f.Mask, Handler: map[string]ResolvedCommand{},
		Dir: dir, Cache: cache, file: f, env: Environment(os.Environ()),
	}
	if f.KnownFailures != "" {
		o.KnownFailures = f.KnownFailures
		if !filepath.IsAbs(o.KnownFailures) {
			o.KnownFailures = filepath.Join(dir, o.KnownFailures)
		}
	}
	o.resolve(f.Transports)
	return o
}

// Close lets go of the set-up, which nobody removes before. It may be called twice.
func (o *Opened) Close() error {
	if o.unlock != nil {
		o.unlock()
		o.unlock = nil
	}
	return nil
}

// Transports returns the transports that a handler offers, in the order in
// which they are shown.
func (o *Opened) Transports() []string {
	var names []string
	for _, name := range TransportNames() {
		if _, ok := o.Handler[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// Runtime is a runtime's operations, by its driver or its command templates; see
// Driver and Commands. Nothing is started before the first operation.
func (o *Opened) Runtime() (Runtime, error) {
	if o.Kind == KindRuntime && o.file.Driver != nil {
		return newDriver(o.command(o.file.Driver), o.Drivers), nil
	}
	return newCommands(o.file, o.Dir, o.Cache, o.env)
}

func (o *Opened) values() map[string]string {
	return map[string]string{"cache": o.Cache, "dir": o.Dir}
}

func (o *Opened) command(args Args) ResolvedCommand {
	return ResolvedCommand{Args: expandAll(args, o.values()), Dir: o.Dir, Env: o.env}
}

func (o *Opened) resolve(t Transports) {
	if t.Subprocess != nil {
		o.Handler[TransportSubprocess] = o.command(t.Subprocess.Command)
	}
	if t.RPC != nil {
		o.Handler[TransportRPC] = o.command(t.RPC.Command)
	}
	if t.HTTP != nil {
		c := o.command(t.HTTP.Command)
		c.URL = t.HTTP.URL
		o.Handler[TransportHTTP] = c
	}
}

// check sees to it that every program is there, so that a subject that can't be
// started is one error and not one for each case.
func (o *Opened) check() error {
	for _, name := range o.Transports() {
		if err := startable(o.Handler[name], "transports."+name); err != nil {
			return err
		}
	}
	if o.file.Driver != nil {
		if err := startable(o.command(o.file.Driver), "driver"); err != nil {
			return err
		}
	}
	for _, op := range CommandNames() {
		if args := o.file.Commands[op]; args != nil {
			if err := startable(o.command(args), "commands."+op); err != nil {
				return err
			}
		}
	}
	return nil
}

// startable checks the program of a command, if it is known by now.
func startable(c ResolvedCommand, place string) error {
	if len(c.Args) == 0 || len(scan(c.Args[0])) > 0 {
		return nil
	}
	if err := (process.Command{Args: c.Args, Dir: c.Dir, Env: c.Env}).Check(); err != nil {
		return fmt.Errorf("`%s`: %w", place, err)
	}
	return nil
}

// advice is what else may help when a command of a subject with a set-up does
// not work.
func (o *Opened) advice() string {
	if len(o.file.Setup) == 0 {
		return ""
	}
	return fmt.Sprintf(" (if it worked before, remove %s: the next run sets it up anew)", filepath.Dir(o.Cache))
}

// version runs the version command and returns the first line that it prints,
// on stderr if there is none on stdout.
func (o *Opened) version(ctx context.Context, limit time.Duration) (string, error) {
	if o.file.Version == nil {
		return "", nil
	}
	c := o.command(o.file.Version)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended within %v", limit))
	defer cancel()
	var out, errs process.Capture
	var set *process.Set
	result, err := set.Run(ctx, process.Command{Args: c.Args, Dir: c.Dir, Env: c.Env, Stdout: &out, Stderr: &errs}, endGrace)
	switch {
	case err != nil:
		return "", fmt.Errorf("`version`: %w", err)
	case !result.Exit.OK():
		return "", fmt.Errorf("`version`: %s: %v%s", shown(c.Args), result.Exit, lastOf(&errs))
	}
	for _, stream := range []*process.Capture{&out, &errs} {
		for line := range strings.Lines(string(stream.Captured().Head)) {
			if line = printable(line); line != "" {
				return line, nil
			}
		}
	}
	return "", fmt.Errorf("`version`: %s printed nothing", shown(c.Args))
}

// stopped is why ctx ended, in the words of a user who has stopped it.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return interruption{cause}
	}
	return cause
}

type interruption struct{ error }

func (interruption) Error() string { return "interrupted" }

// Unwrap gives what ended the context.
func (i interruption) Unwrap() error { return i.error }

// lastOf ends an error with the last lines of a program's stderr.
func lastOf(stderr *process.Capture) string {
	if lines := lastLines(stderr.String()); lines != "" {
		return "; it printed" + indented(lines)
	}
	return "; it printed nothing on stderr"
}
