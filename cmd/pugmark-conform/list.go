package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
)

func casesFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "cases", "", "`FOLDER` of case files (default the built-in ones)")
}

func (a *app) listCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "list [CASE...]", Short: "List the cases and what they cover",
		RunE: func(_ *cobra.Command, patterns []string) error {
			s, err := a.loadSuite(dir)
			if err != nil {
				return err
			}
			chosen, err := pick(s.cases, patterns)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			for _, c := range chosen {
				fmt.Fprintf(w, "%s\t%s\n", c.ID, strings.Join(append(slices.Clone(c.Covers), c.Readings...), " "))
			}
			return w.Flush()
		},
	}
	casesFlag(c, &dir)
	return c
}

// pick is the cases whose IDs match one of the patterns; each must match.
func pick(cases []*casefile.Case, patterns []string) ([]*casefile.Case, error) {
	if len(patterns) == 0 {
		return cases, nil
	}
	kept := map[*casefile.Case]bool{}
	for _, p := range patterns {
		matched := false
		for _, c := range cases {
			if runner.Match(p, c.ID) {
				kept[c], matched = true, true
			}
		}
		if !matched {
			return nil, hinted(fmt.Errorf("%q matches no case; `pugmark-conform list` shows what there is", p), cases, p)
		}
	}
	return slices.DeleteFunc(slices.Clone(cases), func(c *casefile.Case) bool { return !kept[c] }), nil
}

func (a *app) showCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "show CASE", Short: "Show a case: why it is, what it covers, and its file", Args: takes(1, 1, "the ID of one case, or one glob"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.loadSuite(dir)
			if err != nil {
				return err
			}
			chosen, err := pick(s.cases, args)
			if err != nil {
				return err
			}
			for i, c := range chosen {
				if i > 0 {
					fmt.Fprintln(a.Out)
				}
				if err := a.show(s, c); err != nil {
					return err
				}
			}
			return nil
		},
	}
	casesFlag(c, &dir)
	return c
}

func (a *app) show(s *suite, c *casefile.Case) error {
	fmt.Fprintf(a.Out, "%s\n%s\n\n", c.ID, c.Why)
	for _, id := range c.Covers {
		r, _ := s.registry.Requirement(id)
		fmt.Fprintf(a.Out, "covers %s (%s, section %s): %s\n", r.ID, r.Level, r.Section, r.Text)
	}
	for _, id := range c.Readings {
		r, _ := s.registry.Reading(id)
		fmt.Fprintf(a.Out, "rests on reading %s: %s\n", r.ID, r.Reading)
	}
	if len(c.Needs) > 0 {
		fmt.Fprintf(a.Out, "needs %s\n", strings.Join(c.Needs, ", "))
	}
	transports := c.Transports
	if len(transports) == 0 {
		transports = casefile.Transports()
	}
	fmt.Fprintf(a.Out, "on %s, within %s\n\n", strings.Join(transports, ", "), c.LimitOrDefault())
	for _, extension := range []string{".yaml", ".txtar"} {
		if text, err := fs.ReadFile(s.files, c.ID+extension); err == nil {
			fmt.Fprintf(a.Out, "%s:\n%s", c.File, text)
		}
	}
	return nil
}

func (a *app) explainCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "explain REQUIREMENT", Short: "Explain a requirement or a reading, and name the cases that rest on it", Args: takes(1, 1, "the ID of one requirement or reading"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.loadSuite(dir)
			if err != nil {
				return err
			}
			return a.explain(s, args[0])
		},
	}
	casesFlag(c, &dir)
	return c
}

func (a *app) explain(s *suite, id string) error {
	if reading, ok := s.registry.Reading(id); ok {
		fmt.Fprintf(a.Out, "reading %s, section %s\n\nquestion  %s\nreading   %s\n", reading.ID, reading.Section, reading.Question, reading.Reading)
		if reading.Accepts != "" {
			fmt.Fprintf(a.Out, "accepted  %s\n", reading.Accepts)
		}
		a.casesThat(s, func(c *casefile.Case) bool { return slices.Contains(c.Readings, id) })
		return nil
	}
	r, ok := s.registry.Requirement(id)
	if !ok {
		if slices.ContainsFunc(s.cases, func(c *casefile.Case) bool { return c.ID == id }) {
			return fmt.Errorf("%s is a case: `pugmark-conform show %s` shows it, and the requirements that it covers", id, id)
		}
		if hint := sectionHint(s.registry, id); hint != "" {
			return errors.New(hint)
		}
		if hint := wrongSubject(id); hint != "" {
			return fmt.Errorf("%s is no requirement; %s", id, hint)
		}
		return unknownRequirement(s.registry, id)
	}
	fmt.Fprintf(a.Out, "%s: %s, section %s, side %s\n\n%s\n", r.ID, r.Word(), r.Section, r.Side, r.Text)
	for _, id := range r.Readings {
		if reading, ok := s.registry.Reading(id); ok {
			fmt.Fprintf(a.Out, "\nreading %s: %s\n", reading.ID, reading.Reading)
		}
	}
	if r.Note != "" {
		fmt.Fprintf(a.Out, "\nnote: %s\n", r.Note)
	}
	if !r.IsObservable() {
		fmt.Fprintf(a.Out, "\ncan't be observed from outside: %s\n", r.Unobservable)
	}
	a.casesThat(s, func(c *casefile.Case) bool { return slices.Contains(c.Covers, id) })
	a.mutantsThat(id)
	return nil
}

// unknownRequirement is the error of an ID that is none, with one that is near.
func unknownRequirement(registry *spec.Spec, id string) error {
	if near, ok := registry.Suggest(id); ok {
		return fmt.Errorf("no requirement or reading is called %q; did you mean %s?", id, near)
	}
	return fmt.Errorf("no requirement or reading is called %q", id)
}

func (a *app) casesThat(s *suite, rest func(*casefile.Case) bool) {
	fmt.Fprintln(a.Out, "\ncases:")
	none := true
	for _, c := range s.cases {
		if rest(c) {
			none = false
			fmt.Fprintf(a.Out, "  %s  %s\n", c.ID, c.Why)
		}
	}
	if none {
		fmt.Fprintln(a.Out, "  none yet")
	}
}
