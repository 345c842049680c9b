package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

func (a *app) diffCommand() *cobra.Command {
	formats := []string{"markdown", "json"}
	var outputs []string
	c := &cobra.Command{
		Use: "diff A B", Short: "Say what changed from one report to another",
		Long: `diff says what changed from report A to report B: what regressed, what was fixed, what
changed otherwise, and what only one of them has, for each case and transport and for each
requirement. Reports of different suites are compared on what both have.

Exit status: 0 nothing regressed, 1 something did, 2 a report can't be read.`,
		Args: takes(2, 2, "two reports"),
		RunE: func(_ *cobra.Command, args []string) error {
			outs, err := parseOutputsOf(outputs, formats)
			if err != nil {
				return err
			}
			before, e1 := openReport(args[0])
			after, e2 := openReport(args[1])
			if err := errors.Join(e1, e2); err != nil {
				return err
			}
			d := report.Compare(before.run, after.run)
			text := a.Out
			if onStdout(outs) {
				text = a.Err
			}
			err = d.WriteText(text)
			for _, o := range outs {
				render := d.WriteJSON
				if o.format == "markdown" {
					render = d.WriteMarkdown
				}
				err = errors.Join(err, a.write(o, render))
			}
			if err == nil && d.HasRegressed() {
				return statusCode(statusNotConformant)
			}
			return err
		},
	}
	outputFlagOf(c, &outputs, formats)
	return c
}

func (a *app) matrixCommand() *cobra.Command {
	formats := []string{"html", "markdown"}
	var outputs []string
	c := &cobra.Command{
		Use: "matrix A B...", Short: "Put implementations side by side",
		Long: `matrix shows what became of each requirement in each of the reports, and which
requirements only one implementation fails. Without --output it prints Markdown.`,
		Args: takes(2, -1, "two reports or more"),
		RunE: func(_ *cobra.Command, args []string) error {
			outs, err := parseOutputsOf(outputs, formats)
			if err != nil {
				return err
			}
			if len(outs) == 0 {
				outs = []output{{"markdown", "-"}}
			}
			var runs []*result.Run
			var errs []error
			for _, name := range args {
				o, err := openReport(name)
				errs = append(errs, err)
				runs = append(runs, o.run)
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			registry, err := spec.Load()
			if err != nil {
				return err
			}
			m := report.NewMatrix(runs, registry)
			for _, o := range outs {
				var render func(io.Writer) error = m.WriteMarkdown
				if o.format == "html" {
					render = m.WriteHTML
				}
				err = errors.Join(err, a.write(o, render))
			}
			return err
		},
	}
	outputFlagOf(c, &outputs, formats)
	return c
}
