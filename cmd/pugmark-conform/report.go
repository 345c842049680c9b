package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

func (a *app) reportCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "report", Short: "Render, compare and merge reports",
		Long: `report works on stored reports. REPORT is a report in the format json, or the evidence
folder of a run, which holds one. The evidence beside a report is part of what is
rendered.`,
	}
	c.RunE = func(*cobra.Command, []string) error {
		c.SetOut(a.Err)
		return errors.Join(c.Help(), statusCode(statusError))
	}
	c.Args = cobra.NoArgs
	c.AddCommand(a.renderCommand(), a.diffCommand(), a.matrixCommand(), a.mergeCommand())
	return c
}

// openedReport is a report that was read, and the folder that holds its evidence.
type openedReport struct {
	run      *result.Run
	name     string
	evidence string
}

// openReport reads a report, by its file or by the evidence folder that holds it.
func openReport(name string) (openedReport, error) {
	o := openedReport{name: name, evidence: name}
	file := name
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		file = filepath.Join(name, storedReport)
		if _, err := os.Stat(file); err != nil {
			return o, fmt.Errorf("%s holds no %s, so it is not the evidence folder of a run that ended", name, storedReport)
		}
	case err == nil:
		o.evidence = filepath.Dir(name)
	}
	o.run, err = readReport(file)
	return o, err
}

// readReport reads the file of a report.
func readReport(file string) (*result.Run, error) {
	data, err := result.ReadFile(file, result.MaxFile)
	if err != nil {
		return nil, err
	}
	run, err := report.ReadJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return run, nil
}

// hasEvidence reports whether the folder holds the evidence of any case of the run,
// or the run left none that it could hold.
func (o openedReport) hasEvidence() bool {
	named := false
	for _, c := range o.run.Cases {
		where := filepath.FromSlash(c.Evidence)
		if c.Evidence == "" || !filepath.IsLocal(where) {
			continue
		}
		named = true
		if _, err := os.Stat(filepath.Join(o.evidence, where)); err == nil {
			return true
		}
	}
	return !named
}

func (a *app) renderCommand() *cobra.Command {
	var outputs []string
	var evidence string
	c := &cobra.Command{
		Use: "render REPORT", Short: "Write a stored report in other formats",
		Long: `render writes a stored report in other formats, the same bytes that the run would have
written. Without --output it prints what the run printed at its end. Its exit status is 0
whatever the report says.`,
		Args: takes(1, 1, "one report"),
		RunE: func(_ *cobra.Command, args []string) error { return a.render(args[0], evidence, outputs) },
	}
	outputFlag(c, &outputs)
	c.Flags().StringVar(&evidence, "evidence", "", "`FOLDER` that the evidence is below (default the folder of the report)")
	return c
}

func (a *app) render(name, evidence string, words []string) error {
	outputs, err := parseOutputs(words)
	if err != nil {
		return err
	}
	o, err := openReport(name)
	if err != nil {
		return err
	}
	if evidence != "" {
		if info, err := os.Stat(evidence); err != nil || !info.IsDir() {
			return fmt.Errorf("--evidence %s is no folder", evidence)
		}
		o.evidence = evidence
	} else if !o.hasEvidence() {
		o.evidence = ""
	}
	registry, err := spec.Load()
	if err != nil {
		return err
	}
	folder, file := "", name
	if isFile(filepath.Join(name, storedReport)) {
		folder, file = name, filepath.Join(name, storedReport)
	}
	if err := a.apart(outputs, folder, place{file, "the report that is read"}); err != nil {
		return err
	}
	if len(outputs) == 0 {
		terminal := a.terminal(nil)
		terminal.Evidence = o.evidence
		s, err := a.loadSuite("")
		if err != nil {
			return err
		}
		terminal.Next = following{cases: s.cases, command: o.run.Command, evidence: o.evidence, stored: o.evidence != "" && isFile(filepath.Join(o.evidence, storedReport))}.lines
		return terminal.Summary(o.run, registry)
	}
	r := rendering{o.run, registry, o.evidence}
	for _, out := range outputs {
		err = errors.Join(err, a.write(out, func(w io.Writer) error { return r.write(w, out.format) }))
	}
	return err
}
