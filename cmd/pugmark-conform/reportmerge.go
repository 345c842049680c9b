package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/spec"
)

func (a *app) mergeCommand() *cobra.Command {
	var outputs []string
	var evidence string
	c := &cobra.Command{
		Use: "merge A B...", Short: "Put the reports of all shards of a run together",
		Long: `merge makes one report of those of all shards of a run, and one evidence folder of
theirs, as if the run had not been split. It refuses shards that are not all there, each
once, or not of one run. It shows the whole and ends with its exit status, as run does.`,
		Args: takes(1, -1, "the reports of all shards"),
		RunE: func(_ *cobra.Command, args []string) error { return a.merge(args, evidence, outputs) },
	}
	outputFlag(c, &outputs)
	c.Flags().StringVar(&evidence, "evidence", "", "`FOLDER` for the merged report and evidence, emptied of an earlier run's (default evidence/SUBJECT, or evidence/SUBJECT.selection)")
	return c
}

func (a *app) merge(names []string, evidence string, words []string) error {
	outputs, err := parseOutputs(words)
	if err != nil {
		return err
	}
	var shards []report.Shard
	var errs []error
	for _, name := range names {
		o, err := openReport(name)
		errs = append(errs, err)
		shards = append(shards, report.Shard{Run: o.run, Name: name, Evidence: o.evidence})
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	done, err := report.Merge(shards)
	if err != nil {
		return err
	}
	if evidence == "" {
		if !filepath.IsLocal(filepath.Join("x", done.Subject.Name)) || filepath.Base(done.Subject.Name) != done.Subject.Name {
			return fmt.Errorf("the subject's name, %q, is no name of a folder; say where with --evidence", done.Subject.Name)
		}
		evidence = filepath.Join("evidence", done.Subject.Name)
		if !done.Selection.All {
			evidence += selectionSuffix
		}
	}
	for _, s := range shards {
		if holds(evidence, s.Evidence) {
			return fmt.Errorf("--evidence %s: it is or holds the folder of %s, which must not be emptied; name another", evidence, s.Name)
		}
	}
	registry, err := spec.Load()
	if err != nil {
		return err
	}
	if err := a.apart(outputs, evidence); err != nil {
		return err
	}
	if err := freshFolder(evidence); err != nil {
		return err
	}
	if err := report.CopyEvidence(evidence, shards); err != nil {
		return err
	}
	terminal := a.terminal(outputs)
	terminal.Evidence = evidence
	return a.conclude(done, registry, terminal, append(outputs, output{"json", filepath.Join(evidence, storedReport)}))
}

// holds reports whether the second folder is the first, or lies in it.
func holds(outer, inner string) bool {
	rel, err := filepath.Rel(resolved(outer), resolved(inner))
	return err == nil && filepath.IsLocal(rel)
}

// resolved is a folder's path without links, as far as it exists.
func resolved(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	rest := ""
	for at := abs; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return abs
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
