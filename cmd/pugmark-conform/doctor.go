package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/subject"
	"pugmark.dev/conform/subjects"
)

// The times that a subject has, before --time-scale: for its set-up, which may fetch
// packages, and for one case.
const (
	doctorSetup = 10 * time.Minute
	doctorCase  = 10 * time.Second
)

// checkup is one call of doctor. Each line that it prints is ok, a note, or a problem
// with what to do.
type checkup struct {
	*app
	bare      *app // without a mask
	ctx       context.Context
	name      string // as the user names the subject
	timeScale float64
	suite     *suite
	pool      *stage.Pool
	scratch   string
	problems  int
}

func (a *app) doctorCommand() *cobra.Command {
	var name string
	var timeScale float64
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check that a subject is plugged in right, and say what to do where it is not",
		Long: `doctor looks at a subject step by step: its file, its set-up, its programs, whether
each transport or operation answers, and whether each claimed feature works at all.
It is no judgement of the subject: that is what run is for.

Exit status: 0 all is well, 1 there is a problem, 2 the subject can't be looked at, 3 it
was interrupted.`,
		Args: takesFlags,
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), name, timeScale) },
	}
	c.Flags().StringVar(&name, "subject", referenceName, "`NAME` of a subject that is shipped, or path of a subject file")
	c.Flags().Float64Var(&timeScale, "time-scale", 1, "`FACTOR` on every time limit, for slow machines")
	return c
}

func (a *app) doctor(ctx context.Context, name string, timeScale float64) (err error) {
	if !(timeScale > 0) {
		return fmt.Errorf("--time-scale %g: a factor over 0 is wanted", timeScale)
	}
	s, err := a.loadSuite("")
	if err != nil {
		return err
	}
	interrupted := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a.shown.ifLost(stop) // nobody reads on
	scratch, err := os.MkdirTemp("", "pugmark-conform-doctor-")
	if err != nil {
		return err
	}
	d := &checkup{app: a, bare: a, ctx: ctx, name: name, timeScale: timeScale, suite: s, scratch: scratch}
	if _, err := d.masked("", nil); err != nil {
		return errors.Join(err, os.RemoveAll(scratch))
	}
	d.pool = &stage.Pool{Programs: a.Programs, Ready: d.scaled(doctorCase)}
	defer func() {
		d.pool.Close()
		err = errors.Join(err, os.RemoveAll(scratch))
	}()
	err = d.look()
	switch {
	case interrupted.Err() != nil:
		return errInterrupted
	case ctx.Err() != nil:
		return nil // what was lost is said in one place
	case err != nil:
		return err
	case d.problems > 0:
		fmt.Fprintf(a.Out, "\n%s; mend the first one first, others may follow from it\n", count(d.problems, "problem"))
		return statusCode(statusNotConformant)
	}
	_, err = fmt.Fprintf(a.Out, "\nall is well; to put it to the test: pugmark-conform run%s\n", subjectArgument(name))
	return err
}

// masked has secrets taken out of what is printed, which often ends in the log of a job,
// and makes inert what it quotes. It returns a line for each variable that is not masked
// though its name looks secret. The subject's name and list are those of its file, once
// it was read.
func (d *checkup) masked(name string, listed []string) (spared []string, err error) {
	secrets, spared, err := maskWants{d.environ(), nil, listed, d.suite.publicWords(d.name, name)}.secrets()
	if err != nil {
		return nil, err
	}
	mask, quiet := result.NewMask(secrets), *d.bare
	quiet.Out, quiet.Err = quotingWriter{d.bare.Out, mask}, quotingWriter{d.bare.Err, mask}
	d.app = &quiet
	return spared, nil
}

// tellSpared masks, and says what is not masked.
func (d *checkup) tellSpared(name string, listed []string) error {
	spared, err := d.masked(name, listed)
	for _, line := range spared {
		d.note("mask", "%s", line)
	}
	return err
}

// subjectArgument is how a command line names the subject.
func subjectArgument(name string) string {
	if name == referenceName {
		return ""
	}
	return " --subject " + shellQuoted(name)
}

func (d *checkup) scaled(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * d.timeScale)
}

// ok says that something is as it should be.
func (d *checkup) ok(what, format string, args ...any) { d.line("ok", what, format, args...) }

// note says what is no problem and good to know.
func (d *checkup) note(what, format string, args ...any) { d.line("note", what, format, args...) }

func (d *checkup) line(word, what, format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	fmt.Fprintf(d.Out, "%-8s %s: %s\n", word, what, strings.ReplaceAll(visibleLines(text), "\n", "\n         "))
}

// problem says what is wrong, and what to do.
func (d *checkup) problem(what, wrong, do string) {
	d.problems++
	d.line("problem", what, "%s", wrong)
	fmt.Fprintf(d.Out, "         what to do: %s\n", do)
}

// visibleLines is what a subject wrote as lines that do nothing to a terminal.
func visibleLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// look goes from one thing to what rests on it, and stops at what all that follows
// rests on.
func (d *checkup) look() error {
	if d.name == referenceName {
		if err := d.tellSpared(referenceName, nil); err != nil {
			return err
		}
		s, err := d.reference()
		if err != nil {
			return err
		}
		d.ok("file", "none is needed: %s is built in", referenceName)
		return d.sides(opened{Subject: s})
	}
	file, dir, ok, err := d.file()
	if err != nil || !ok {
		return err
	}
	if err := d.tellSpared(file.Name, file.Mask); err != nil {
		d.problem("file", err.Error(), "correct `mask`, or set the variable")
		return nil
	}
	if !d.open(file, dir) {
		return nil
	}
	if file.Kind == subject.KindHandler && file.Transports.HTTP != nil && file.Transports.HTTP.Command == nil {
		c := subject.ResolvedCommand{URL: file.Transports.HTTP.URL}
		if _, err := subject.StartService(d.ctx, c, subject.ServiceOptions{Ready: d.scaled(doctorCase)}); err != nil && d.ctx.Err() == nil {
			d.problem("http", err.Error(), "start your service, or give the transport a `command` that does")
			return nil
		}
	}
	under, err := d.openSubject(d.ctx, d.name, 1)
	if err != nil {
		return err
	}
	return errors.Join(d.sides(under), under.Close())
}

// file looks at the subject file.
func (d *checkup) file() (f *subject.File, dir string, ok bool, err error) {
	cache, err := subject.DefaultCache()
	if err != nil {
		return nil, "", false, err
	}
	f, dir, err = subject.Find(d.name, subjects.Files(), cache)
	var unknown *subject.UnknownError
	var wrong *subject.FileError
	switch {
	case errors.As(err, &unknown):
		unknown.Known = append([]string{referenceName}, unknown.Known...)
		return nil, "", false, err
	case errors.As(err, &wrong):
		d.problem("file", wrong.Error(), "put each place right; CONFORMANCE.md has the whole file, subject/subject.schema.json its schema")
		return nil, "", false, nil
	case err != nil:
		return nil, "", false, err
	}
	d.ok("file", "it is valid: %s, a %s", f.Name, f.Kind)
	if len(f.Features) == 0 {
		d.note("features", "none is claimed, so what needs one is not put to the test")
	}
	return f, dir, true, nil
}

// open does the set-up, and looks for the programs and the version.
func (d *checkup) open(f *subject.File, dir string) bool {
	cache, err := subject.DefaultCache()
	if err != nil {
		d.problem("set-up", err.Error(), "set HOME or XDG_CACHE_HOME")
		return false
	}
	ctx, cancel := context.WithTimeoutCause(d.ctx, d.scaled(doctorSetup), fmt.Errorf("it was not done within %v", d.scaled(doctorSetup)))
	defer cancel()
	ready, err := subject.Open(ctx, f, dir, cache, func(line string) { fmt.Fprintln(d.Err, line) })
	var setup *subject.SetupError
	var start *process.StartError
	switch {
	case err == nil:
		defer ready.Close()
	case d.ctx.Err() != nil:
		return false // the subject is not to blame
	case errors.As(err, &setup):
		d.problem("set-up", err.Error(), "run that command by hand in an empty folder until it works; each item is one argument, no shell reads it")
	case errors.As(err, &start):
		d.problem("programs", err.Error(), "install it, or correct the path: a relative one is seen from the subject file's folder, and {dir} and {cache} name folders")
	case strings.Contains(err.Error(), "`version`"):
		d.problem("version", err.Error(), "let `version` print one line and end with status 0, within 10 s; or leave it out")
	default:
		d.problem("set-up", err.Error(), "put the cause right and call doctor again")
	}
	if err != nil {
		return false
	}
	if len(f.Setup) > 0 {
		d.ok("set-up", "%s of `setup` went through; they are not run again until `setup`, or a file that it names, changes", count(len(f.Setup), "line"))
	}
	d.ok("programs", "those that the file names are there")
	if ready.Version == "" {
		d.note("version", "the file has no `version` command, so reports won't say which version was tested")
	} else {
		d.ok("version", "%s", ready.Version)
	}
	if ready.KnownFailures != "" {
		if _, err := os.Stat(ready.KnownFailures); err != nil {
			d.problem("known failures", err.Error(), "write it with `pugmark-conform run"+subjectArgument(d.name)+" --write-known-failures FILE`, or leave `known-failures` out")
		}
	}
	return true
}
