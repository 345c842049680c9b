package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/process"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
)

// reproShare is how many pairs of a handler case and a transport there are for each one
// that the test plays: a script is some programs to start. -all-ways plays them all.
const reproShare = 41

// A handler that is right is not accused by the short comparison of repro.py: on every
// transport a script ends with 0, or says that it can't tell.
func TestReproScriptsDoNotAccuseTheReference(t *testing.T) {
	registry, cases := builtIn(t)
	under, err := Streams{Self: plain}.reference()
	require.NoError(t, err)
	var chosen []*casefile.Case
	share, pair := map[string]bool{}, 0
	for _, c := range cases {
		for _, transport := range casefile.Transports() {
			if c.Handler == nil || c.Handler.Beside != nil || !c.Supports(transport) { // two at a time are refused
				continue
			}
			if pair++; pair%reproShare == 0 || *allWays {
				share[result.EvidenceFolder(c.ID, transport)] = true
				chosen = append(chosen, c)
			}
		}
	}
	chosen = slices.Compact(chosen)
	programs := &process.Set{}
	t.Cleanup(func() { programs.EndAll(endGrace) })
	evidence := t.TempDir()
	const seed = 7
	run := runFlags{subject: referenceName, seed: seed, timeScale: 3}
	results, err := runner.Run(t.Context(), runner.Options{
		Registry: registry, Cases: chosen, All: cases, Subject: under, Programs: programs,
		Seed: seed, TimeScale: 3, Evidence: evidence, Rerun: run.rerun,
	})
	require.NoError(t, err)
	behaves := 0
	for _, out := range results {
		if !share[result.EvidenceFolder(out.ID, out.Transport)] || out.Verdict != result.Pass {
			continue
		}
		e, err := result.ReadEvidence(filepath.Join(evidence, filepath.FromSlash(out.Evidence)))
		require.NoError(t, err)
		r := &recorded{c: caseOf(&suite{cases: cases}, out.ID), evidence: e, judged: out, seed: seed, command: commandOf(opened{Subject: under}, out.Transport)}
		dir := filepath.Join(t.TempDir(), "a folder with spaces")
		require.NoError(t, writeRepro(dir, r, registry), out.ID)
		text, err := exec.CommandContext(t.Context(), filepath.Join(dir, "run.sh")).CombinedOutput()
		var ended *exec.ExitError
		switch {
		case err == nil:
			behaves++
		case errors.As(err, &ended) && ended.ExitCode() == 2:
			t.Logf("%s over %s: %s", out.ID, out.Transport, text)
		default:
			t.Errorf("%s over %s, which passes: %v\n%s", out.ID, out.Transport, err, text)
		}
	}
	require.Positive(t, behaves, "the scripts could tell nothing")
}

// builtIn is the registry and the cases that are built in.
func builtIn(t *testing.T) (*spec.Spec, []*casefile.Case) {
	t.Helper()
	registry, err := spec.Load()
	require.NoError(t, err)
	cases, problems := casefile.Loader{Registry: registry, Root: "spec/cases"}.Load(spec.Cases())
	require.Empty(t, problems)
	return registry, cases
}
