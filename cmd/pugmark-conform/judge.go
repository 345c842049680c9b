package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/judge"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
)

func (a *app) judgeCommand() *cobra.Command {
	var dir string
	var outputs []string
	c := &cobra.Command{
		Use: "judge RUN", Short: "Judge a stored run again, without the subject",
		Long: `judge reads the evidence of a run and judges it again, without the subject. RUN
is the evidence folder of the run, or a folder of it. What the run says of cases
that left no evidence, since they were not played, stays as it is.`,
		Args: takes(1, 1, "one evidence folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.judgeAgain(args[0], dir, outputs)
		},
	}
	casesFlag(c, &dir)
	outputFlag(c, &outputs)
	return c
}

func (a *app) judgeAgain(root, dir string, words []string) error {
	started := time.Now()
	outputs, err := parseOutputs(words)
	if err != nil {
		return err
	}
	s, err := a.loadSuite(dir)
	if err != nil {
		return err
	}
	done, err := storedRun(root)
	if err != nil {
		return err
	}
	if err := rejudge(done, root, s); err != nil {
		return err
	}
	done.Suite = result.Suite{Version: version(), Cases: s.digest}
	done.Command = a.command()
	done.DurationMS = time.Since(started).Milliseconds()
	coverage.Complete(done, s.registry, s.cases)
	terminal := a.terminal(outputs)
	terminal.Evidence = root
	terminal.Next = following{cases: s.cases, command: a.command(), evidence: root}.lines
	return a.conclude(done, s.registry, terminal, outputs)
}

// storedRun is the run that an evidence folder is of. A folder without the report
// of its run, such as one case's, or that of a run that was killed, is a selection
// of which nothing else is known.
func storedRun(root string) (*result.Run, error) {
	done, err := readReport(filepath.Join(root, storedReport))
	if errors.Is(err, fs.ErrNotExist) {
		return &result.Run{
			Schema: result.SchemaV1, Selection: result.Selection{Patterns: []string{"judge " + root}, Shard: "1/1"},
			Started: time.Now().UTC().Format(time.RFC3339), Complete: true,
		}, nil
	}
	return done, err
}

// rejudge puts into the run what is judged of the evidence below root.
func rejudge(done *result.Run, root string, s *suite) error {
	folders, err := result.FindEvidence(root)
	if err != nil && len(done.Cases) == 0 {
		return err
	}
	whole := len(done.Cases) > 0
	unseen := map[string]bool{}
	for _, c := range done.Cases {
		if c.Evidence != "" {
			unseen[c.Evidence] = true
		}
	}
	known := runner.Rehold(done.Known)
	times := map[int][]runner.Time{} // by the index of the case
	j := judge.New(s.registry)
	for _, folder := range folders {
		out, e, err := runner.JudgeStored(filepath.Join(root, filepath.FromSlash(folder)), s.cases, j)
		if err != nil {
			return err
		}
		delete(unseen, folder)
		out.Evidence = folder
		if k := slices.IndexFunc(done.Cases, func(c result.Case) bool { return c.ID == e.Case && c.Transport == e.Transport }); k >= 0 {
			out.Rerun, out.DurationMS = done.Cases[k].Rerun, done.Cases[k].DurationMS
			n := runner.TimeOf(folder)
			seed := int64(runner.UnknownSeed)
			if whole {
				seed = done.Seed + int64(n-1)
			}
			times[k] = append(times[k], runner.Time{Number: n, Seed: seed, Result: out})
			continue
		}
		if whole {
			continue // the premise of other cases, which was not itself chosen
		}
		times[len(done.Cases)] = []runner.Time{{Number: runner.TimeOf(folder), Seed: runner.UnknownSeed, Result: out}}
		done.Cases = append(done.Cases, out)
		about := &done.Subject
		about.Name = e.Subject
		about.Kinds, about.Transports = add(about.Kinds, e.Kind), add(about.Transports, e.Transport)
		for _, f := range e.Features {
			about.Features = add(about.Features, f)
		}
	}
	for k := range done.Cases {
		if played := times[k]; len(played) > 0 {
			slices.SortFunc(played, func(a, b runner.Time) int { return a.Number - b.Number })
			out, _ := runner.Repeated(played)
			out.DurationMS = done.Cases[k].DurationMS
			done.Cases[k] = out
			known.Hold(&done.Cases[k])
			continue
		}
		// What left no evidence is as it was; the entries that fit it are to know.
		unseen := done.Cases[k]
		if unseen.Verdict == result.KnownFailure {
			unseen.Verdict = result.NotTestable // else it had been played
		}
		known.Hold(&unseen)
	}
	done.Known = known.Excuses()
	for _, c := range done.Cases {
		if unseen[c.Evidence] {
			return fmt.Errorf("the run has evidence of %s over %s, and %s does not hold it any more", c.ID, c.Transport, root)
		}
	}
	return nil
}

// add is words with word in it, sorted, each once.
func add(words []string, word string) []string {
	if i, found := slices.BinarySearch(words, word); !found {
		return slices.Insert(words, i, word)
	}
	return words
}
