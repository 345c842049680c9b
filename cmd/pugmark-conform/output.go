package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// output is a report to be written.
type output struct{ format, path string }

// outputFlag is the flag of the verbs that show a run.
func outputFlag(c *cobra.Command, into *[]string) { outputFlagOf(c, into, runFormats()) }

func outputFlagOf(c *cobra.Command, into *[]string, formats []string) {
	last := len(formats) - 1
	c.Flags().StringArrayVar(into, "output", nil, fmt.Sprintf("write a report, as `FORMAT=PATH`: %s or %s; - is stdout; repeats (default none)",
		strings.Join(formats[:last], ", "), formats[last]))
}

// parseOutputs reads what --output says of a run.
func parseOutputs(words []string) ([]output, error) { return parseOutputsOf(words, runFormats()) }

// parseOutputsOf reads what --output says, and makes sure that the reports can be
// written: a run is long, and its result should not be lost at its end.
func parseOutputsOf(words, formats []string) (outputs []output, err error) {
	for _, w := range words {
		format, path, ok := strings.Cut(w, "=")
		if !ok || path == "" {
			return nil, fmt.Errorf("--output %s: FORMAT=PATH is wanted, with - for stdout", w)
		}
		if !slices.Contains(formats, format) {
			return nil, fmt.Errorf("--output %s: the format %q is not known; there is %s", w, format, strings.Join(formats, ", "))
		}
		if slices.ContainsFunc(outputs, func(o output) bool { return samePlace(o.path, path) }) {
			return nil, fmt.Errorf("--output %s: two reports can't be written to %s", w, path)
		}
		outputs = append(outputs, output{format, path})
	}
	for _, o := range outputs {
		if err := o.check(); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// onStdout reports whether one of the reports goes to standard output.
func onStdout(outputs []output) bool {
	return slices.ContainsFunc(outputs, func(o output) bool { return o.path == "-" })
}

// check is an error when the report can't be written.
func (o output) check() error {
	if o.path == "-" {
		return nil
	}
	if info, err := os.Stat(o.path); err == nil && info.IsDir() {
		return fmt.Errorf("--output %s=%s: it is a folder", o.format, o.path)
	}
	if o.isInPlace() {
		return nil
	}
	f, err := o.temporary()
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// isInPlace reports whether the report is written into what is there: a link, a
// device or a pipe must not be replaced by a file.
func (o output) isInPlace() bool {
	info, err := os.Lstat(o.path)
	return err == nil && !info.Mode().IsRegular()
}

// temporary makes the file that becomes the report, beside it.
func (o output) temporary() (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(o.path), ".report-*")
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err // the name is ours, and would only confuse
		}
		return nil, fmt.Errorf("--output %s=%s: write in %s: %w", o.format, o.path, filepath.Dir(o.path), err)
	}
	return f, nil
}

// terminal is where progress and findings go: standard output, or standard error
// when a report has that. What is no terminal has its progress on standard error, a
// line now and then.
func (a *app) terminal(outputs []output) *report.Terminal {
	out := a.Out
	if onStdout(outputs) {
		out = a.Err
	}
	t := &report.Terminal{Out: out}
	if f := fileOf(out); f != nil {
		t = report.NewTerminal(f, os.Getenv)
		t.Out = out
	}
	t.Log = a.Err
	return t
}

// conclude shows a run, writes its reports, and returns its exit status. A report
// that can't be written takes nothing away from what is shown.
func (a *app) conclude(done *result.Run, registry *spec.Spec, terminal *report.Terminal, outputs []output) error {
	a.judged = true
	errs := []error{terminal.Summary(done, registry)}
	r := rendering{done, registry, terminal.Evidence}
	for _, o := range outputs {
		errs = append(errs, a.write(o, func(w io.Writer) error { return r.write(w, o.format) }))
	}
	var status error
	if code := report.ExitStatus(done); code != statusConformant {
		status = statusCode(code)
	}
	if err := errors.Join(errs...); err != nil {
		return harnessError(status, err)
	}
	return status
}

// harnessError is a fault of the harness, which counts for more than whatever the
// verb would have ended with.
func harnessError(before, err error) error {
	var status statusCode
	if before == nil || errors.As(before, &status) {
		return err
	}
	return errors.Join(before, err)
}

func (o output) writeInPlace(render func(io.Writer) error) error {
	f, err := os.OpenFile(o.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err == nil {
		err = errors.Join(render(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("--output %s=%s: %w", o.format, o.path, err)
	}
	return nil
}

// write writes one report. A file is replaced whole or not at all.
func (a *app) write(o output, render func(io.Writer) error) error {
	if o.path == "-" {
		if err := render(a.Out); err != nil {
			return fmt.Errorf("--output %s=-: %w", o.format, err)
		}
		return nil
	}
	if o.isInPlace() {
		if err := o.writeInPlace(render); err != nil {
			return err
		}
		a.noted(followed(o.path))
		return a.Written.put(o.path, func() error { return nil })
	}
	// Made before it is written: what it is made of may take long to read, and who ends
	// the program then would find a part of a report.
	var text bytes.Buffer
	if err := render(&text); err != nil {
		return fmt.Errorf("--output %s=%s: %w", o.format, o.path, err)
	}
	temporary, err := o.temporary()
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(text.Bytes())
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(temporary.Name(), 0o644)
	}
	if err == nil {
		err = a.Written.put(o.path, func() error { return os.Rename(temporary.Name(), o.path) })
		a.noted(o.path)
	}
	if err != nil {
		return fmt.Errorf("--output %s=%s: %w", o.format, o.path, err)
	}
	return nil
}
