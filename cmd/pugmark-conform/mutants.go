package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/mutants"
	"pugmark.dev/conform/runner"
)

// mutantFlags is what mutants was asked for.
type mutantFlags struct {
	cases    string
	parallel int
	full     bool
}

func (a *app) mutantsCommand() *cobra.Command {
	var f mutantFlags
	c := &cobra.Command{
		Use:   "mutants [PATTERN...]",
		Short: "Show that the cases can fail, and that they do not fail too much",
		Long: `mutants plays the cases to handlers and runtimes that are wrong in one place, each
of which must be caught by a check of the requirement that it breaks; to correct but
unusual ones, which no check may fail; and to subjects that do nothing, which may
pass nothing.

PATTERN is a glob on their IDs, such as handler/writes-*; without one it is all.
Exit status: 0 when all that holds, 1 when something does not.`,
		RunE: func(c *cobra.Command, patterns []string) error {
			return a.mutants(c, f, patterns)
		},
	}
	casesFlag(c, &f.cases)
	c.Flags().IntVar(&f.parallel, "parallel", 0, "`N` subjects at the same time; 0 is twice the number of processors (default 0)")
	c.Flags().BoolVar(&f.full, "full", false, "every case on every transport, in place of those that cover what is broken (default false)")
	return c
}

func (a *app) mutants(c *cobra.Command, f mutantFlags, patterns []string) error {
	s, err := a.loadSuite(f.cases)
	if err != nil {
		return err
	}
	fake, err := a.scriptedHandler()
	if err != nil {
		return err
	}
	o := mutants.Options{
		Registry: s.registry, Cases: s.cases, Fake: fake, Programs: a.Programs, Parallel: f.parallel, Full: f.full,
		Handler: []string{fake.Command[0], mutantVerb},
	}
	if len(patterns) == 0 {
		// Only with all of them can it be said that no mutant fails a case.
		o.Known = mutants.Known()
	}
	for _, p := range patterns {
		before := len(o.Mutants) + len(o.Twins) + len(o.Idlers)
		o.Mutants = append(o.Mutants, matching(mutants.All(), p, func(m mutants.Mutant) string { return m.ID })...)
		o.Twins = append(o.Twins, matching(mutants.Twins(), p, func(t mutants.Twin) string { return t.ID })...)
		o.Idlers = append(o.Idlers, matching(mutants.Idlers(), p, func(i mutants.Idler) string { return i.ID })...)
		if len(o.Mutants)+len(o.Twins)+len(o.Idlers) == before {
			return fmt.Errorf("%q matches no mutant, twin or idler; `pugmark-conform mutants` without a pattern runs and lists them all", p)
		}
	}
	matrix, err := mutants.Kill(c.Context(), o)
	if err != nil {
		return err
	}
	if err := matrix.Text(a.Out); err != nil {
		return err
	}
	if !matrix.Holds() {
		return statusCode(statusNotConformant)
	}
	return nil
}

// matching is the values whose IDs match a glob.
func matching[T any](all []T, pattern string, id func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !runner.Match(pattern, id(v)) })
}

// mutantsThat names the wrong subjects that break a requirement.
func (a *app) mutantsThat(requirement string) {
	fmt.Fprintln(a.Out, "\nmutants:")
	none := true
	for _, m := range mutants.All() {
		if m.Requirement == requirement {
			none = false
			fmt.Fprintf(a.Out, "  %s  %s\n", m.ID, m.Sentence)
		}
	}
	if none {
		fmt.Fprintln(a.Out, "  none yet")
	}
}
