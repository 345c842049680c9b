package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/coverage"
)

func (a *app) coverageCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "coverage", Short: "Show which cases cover each requirement, and which requirements have none", Args: takesFlags,
		RunE: func(*cobra.Command, []string) error { return a.coverage(dir) },
	}
	casesFlag(c, &dir)
	return c
}

func (a *app) coverage(dir string) error {
	s, err := a.loadSuite(dir)
	if err != nil {
		return err
	}
	rows := coverage.Matrix(s.registry, s.cases)
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	mandatory, covered := 0, 0
	for _, row := range rows {
		r := row.Requirement
		if r.IsMandatory() {
			mandatory++
			if !row.IsGap() {
				covered++
			}
		}
		what := strings.Join(row.Cases(), " ")
		switch {
		case !r.IsObservable():
			what = "can't be observed: " + r.Unobservable
		case what == "":
			what = "no case"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Level, r.Side.Letter(), what)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "\n%d of %d requirements of level MUST or DESC have a case or a written reason\n", covered, mandatory)
	if gaps := coverage.Gaps(rows); len(gaps) > 0 {
		return statusCode(statusNotConformant)
	}
	return nil
}
