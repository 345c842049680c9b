package main

import (
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
	"pugmark.dev/conform/report/html"
	"pugmark.dev/conform/result"
)

// output is a report to be written.
type output struct{ format, path string }

func outputFlag(c *cobra.Command, into *[]string) {
	c.Flags().StringArrayVar(into, "output", nil, "write a report, as `FORMAT=PATH`; json or html, - is stdout; repeats (default none)")
}

// parseOutputs reads what --output says, and makes sure that the reports can be
// written: a run is long, and its result should not be lost at its end.
func parseOutputs(words []string) (outputs []output, err error) {
	formats := []string{"json", "html"}
	for _, w := range words {
		format, path, ok := strings.Cut(w, "=")
		if !ok || path == "" {
			return nil, fmt.Errorf("--output %s: FORMAT=PATH is wanted, with - for stdout", w)
		}
		if !slices.Contains(formats, format) {
			return nil, fmt.Errorf("--output %s: the format %q is not known; there is %s", w, format, strings.Join(formats, ", "))
		}
		if slices.ContainsFunc(outputs, func(o output) bool { return o.path == path }) {
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

// check is an error when the report can't be written.
func (o output) check() error {
	if o.path == "-" {
		return nil
	}
	if info, err := os.Stat(o.path); err == nil && info.IsDir() {
		return fmt.Errorf("--output %s=%s: it is a folder", o.format, o.path)
	}
	f, err := o.temporary()
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
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
// when a report has that.
func (a *app) terminal(outputs []output) *report.Terminal {
	out := a.Out
	if slices.ContainsFunc(outputs, func(o output) bool { return o.path == "-" }) {
		out = a.Err
	}
	if f, ok := out.(*os.File); ok {
		return report.NewTerminal(f, os.Getenv)
	}
	return &report.Terminal{Out: out}
}

// conclude shows a run, writes its reports, and returns its exit status. A report
// that can't be written takes nothing away from what is shown.
func (a *app) conclude(done *result.Run, s *suite, terminal *report.Terminal, outputs []output) error {
	errs := []error{terminal.Summary(done, s.registry)}
	for _, o := range outputs {
		errs = append(errs, a.write(o, func(w io.Writer) error {
			if o.format == "html" {
				return html.Render(w, done, s.registry, terminal.Evidence)
			}
			return report.WriteJSON(w, done)
		}))
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

// write writes one report. A file is replaced whole or not at all.
func (a *app) write(o output, render func(io.Writer) error) error {
	if o.path == "-" {
		return render(a.Out)
	}
	temporary, err := o.temporary()
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	err = render(temporary)
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(temporary.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(temporary.Name(), o.path)
	}
	if err != nil {
		return fmt.Errorf("--output %s=%s: %w", o.format, o.path, err)
	}
	return nil
}
