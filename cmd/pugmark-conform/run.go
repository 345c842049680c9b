package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/stage"
)

// runFlags is what run was asked for.
type runFlags struct {
	subject, cases, evidence string
	choice                   runner.Choice
	outputs                  []string
	parallel                 int
	seed                     int64
	timeScale                float64
	// known is the known-failures file when knownSet; writeKnown is the one to be made or
	// to shrink.
	known, writeKnown string
	knownSet          bool
	// shard is split as it was written.
	shard  string
	split  runner.Shard
	repeat int
	mask   []string
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [CASE...]",
		Short: "Run cases against a subject and report",
		Long: `run plays cases to a subject and reports which requirements hold. Without
arguments it plays every case to the reference.

CASE is a glob on case IDs: * matches within a segment, ** across segments.`,
		RunE: func(c *cobra.Command, patterns []string) error {
			f.choice.Patterns = patterns
			f.knownSet = c.Flags().Changed("known-failures")
			if !c.Flags().Changed("seed") {
				f.seed = freshSeed()
			}
			return a.run(c.Context(), f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.subject, "subject", referenceName, "`NAME` of a subject that is shipped, or path of a subject file")
	casesFlag(c, &f.cases)
	flags.StringSliceVar(&f.choice.Transports, "transport", nil, "only on this `TRANSPORT`: subprocess, rpc or http; repeats (default all that the subject offers)")
	flags.StringSliceVar(&f.choice.Requirements, "requirement", nil, "only cases that cover this `REQUIREMENT` (a glob); repeats (default all)")
	flags.StringSliceVar(&f.choice.Levels, "level", nil, "only cases that cover a requirement of this `LEVEL`: MUST, SHOULD, MAY or DESC; repeats (default all)")
	flags.StringSliceVar(&f.choice.WithoutReadings, "without-readings", nil, "leave out cases that rest on these `READINGS`; without a value, on any (default none)")
	flags.Lookup("without-readings").NoOptDefVal = "*"
	outputFlag(c, &f.outputs)
	flags.StringVar(&f.evidence, "evidence", "", "`FOLDER` for evidence, emptied of an earlier run's (default evidence/SUBJECT, or evidence/SUBJECT.selection)")
	flags.IntVar(&f.parallel, "parallel", 0, "`N` cases at the same time; 0 is twice the number of processors (default 0)")
	flags.Int64Var(&f.seed, "seed", 0, "`NUMBER` that session IDs, and the texts that vary, are made from (default a fresh one, which is printed)")
	flags.StringVar(&f.known, "known-failures", "", "`FILE` of failures that are known; an empty one is none (default the subject's)")
	flags.StringVar(&f.writeKnown, "write-known-failures", "", "make this known-failures `FILE`; one that is there loses what does not fail any more, and gains nothing")
	flags.StringVar(&f.choice.FailedFrom, "failed-from", "", "only what did not pass in this `REPORT`, a file or an evidence folder")
	flags.StringVar(&f.shard, "shard", "1/1", "only part `I/N` of what is chosen, the same on every machine")
	flags.IntVar(&f.repeat, "repeat", 1, "play each case `N` times, with seeds that follow each other; one that does not end the same each time is flaky")
	flags.StringArrayVar(&f.mask, "mask", nil, "mask the value of this `VARIABLE` in evidence and reports, beside those whose names look secret; repeats (default none)")
	flags.Float64Var(&f.timeScale, "time-scale", 1, "`FACTOR` on every time limit, for slow machines")
	return c
}

func (a *app) run(ctx context.Context, f runFlags) (err error) {
	started := time.Now()
	outputs, err := f.check()
	if err == nil {
		f.split, err = runner.ParseShard(f.shard)
		if err != nil {
			err = fmt.Errorf("--shard %w", err)
		}
	}
	if err != nil {
		return err
	}
	s, err := a.loadSuite(f.cases)
	if err != nil {
		return err
	}
	under, mask, err := a.openMasked(f, s, func(a *app) (opened, error) { return a.openSubject(ctx, f.subject, f.parallel) })
	if err != nil && !errors.Is(err, errInterrupted) { // of an interrupted run there is a report
		return err
	}
	defer func() {
		if closing := under.Close(); closing != nil {
			err = harnessError(err, closing)
		}
	}()
	chosen, err := runner.Choose(s.cases, f.choice, s.registry, under.Subject)
	if err != nil {
		return hinted(err, s.cases, f.choice.Patterns...)
	}
	fake, err := a.scriptedHandler()
	if err != nil {
		return err
	}
	options := runner.Options{
		Registry: s.registry, Cases: chosen, All: s.cases, Subject: under.Subject, Transports: f.choice.Transports, Shard: f.split,
		Fake: fake, Programs: a.Programs, Parallel: f.parallel, Seed: f.seed, TimeScale: f.timeScale, Repeat: f.repeat,
		Mask: mask, Rerun: f.rerun,
	}
	if f.choice.FailedFrom != "" {
		if options.Only, err = failedFrom(f.choice.FailedFrom, under.Subject, result.Suite{Version: version(), Cases: s.digest}); err != nil {
			return err
		}
	}
	if err := f.planned(options); err != nil {
		return err
	}
	knownFile, isNew, err := f.knownFile(under)
	if err != nil {
		return err
	}
	if options.Known, err = a.loadKnown(knownFile, s, under.Subject); err != nil {
		return err
	}
	if f.evidence == "" {
		f.evidence = f.evidenceFolder(under.Subject.Name)
	}
	if err := a.apart(outputs, f.evidence, f.places(under, knownFile)...); err != nil {
		return err
	}
	if err := freshFolder(f.evidence); err != nil {
		return err
	}
	terminal := a.terminal(outputs)
	terminal.Evidence = f.evidence
	terminal.Next = following{
		cases: s.cases, command: a.command(), evidence: f.evidence, stored: true,
		paged: slices.ContainsFunc(outputs, func(o output) bool { return o.format == "html" }),
	}.lines
	if _, err := io.WriteString(terminal.Out, seedLine(f.seed)); err != nil {
		return err
	}
	options.Evidence, options.Watch = f.evidence, terminal
	results, err := runner.Run(ctx, options)
	terminal.End()
	if err != nil {
		return err
	}
	done := &result.Run{
		Schema: result.SchemaV1, Subject: under.Subject.Describe(),
		Selection: result.Selection{All: f.choice.IsAll(), Patterns: f.choice.Words(), Shard: f.split.String()},
		Suite:     result.Suite{Version: version(), Cases: s.digest},
		Platform:  runtime.GOOS + "/" + runtime.GOARCH, Command: a.command(), Seed: f.seed,
		Started: started.UTC().Format(time.RFC3339), DurationMS: time.Since(started).Milliseconds(),
		Cases: results, Known: options.Known.Excuses(), Complete: true,
	}
	if f.repeat > 1 {
		done.Repeat = f.repeat
	}
	mask.Run(done)
	coverage.Complete(done, s.registry, s.cases)
	if f.writeKnown != "" {
		defer func() {
			if kept := f.keepKnown(terminal.Out, done, runner.Everything(s.cases, under.Subject), isNew); kept != nil {
				err = harnessError(err, kept)
			}
			a.noted(f.writeKnown)
		}()
	}
	return a.conclude(done, s.registry, terminal, append(outputs, output{"json", filepath.Join(f.evidence, storedReport)}))
}

// places is what reports must not be written over.
func (f runFlags) places(under opened, known string) []place {
	places := []place{
		{f.writeKnown, "the file of --write-known-failures"}, {known, "the known-failures file of the run"}, {under.known, "the subject's known-failures file"},
	}
	if isFile(f.subject) {
		places = append(places, place{f.subject, "the subject file"})
	}
	return places
}

// check holds the flags against what they can be, before anything is done.
func (f runFlags) check() ([]output, error) {
	switch {
	case !(f.timeScale > 0) || math.IsInf(f.timeScale, 0):
		return nil, fmt.Errorf("--time-scale %g: a factor over 0 is wanted", f.timeScale)
	case f.repeat < 1:
		return nil, fmt.Errorf("--repeat %d: how often is wanted, 1 or more", f.repeat)
	case f.parallel < 0:
		return nil, fmt.Errorf("--parallel %d: a number of cases is wanted, or 0", f.parallel)
	}
	outputs, err := parseOutputs(f.outputs)
	if err == nil && !(result.Selection{All: f.choice.IsAll(), Shard: f.shard}).IsWhole() && slices.ContainsFunc(outputs, func(o output) bool { return o.format == "badge" }) {
		return nil, fmt.Errorf("--output badge: %w", report.ErrNoBadge) // before the run, not after it
	}
	return outputs, err
}

// freshSeed is a seed that no subject can know before. It has 31 bits, so that
// every reader of JSON can carry it, and people can copy it.
func freshSeed() int64 { return rand.Int64N(1 << 31) }

// rerun is the command that runs one case again with a seed.
func (f runFlags) rerun(c *casefile.Case, transport string, seed int64) string {
	words := []string{"pugmark-conform", "run"}
	if f.subject != referenceName {
		words = append(words, "--subject", f.subject)
	}
	if f.cases != "" {
		words = append(words, "--cases", f.cases)
	}
	if f.timeScale != 1 {
		words = append(words, "--time-scale", fmt.Sprint(f.timeScale))
	}
	words = append(words, "--seed", fmt.Sprint(seed), "--transport", transport, c.ID)
	for i, w := range words {
		words[i] = shellQuoted(w)
	}
	return strings.Join(words, " ")
}

// shellQuoted is a word as a shell takes it for one.
func shellQuoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shellWords is the words of a line that was made of [shellQuoted] ones.
func shellWords(line string) (words []string) {
	var word strings.Builder
	within, begun := false, false
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == '\'':
			within, begun = !within, true
		case within:
			word.WriteByte(b)
		case b == ' ':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		case b == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			begun = true
		default:
			word.WriteByte(b)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

// scriptedHandler is this program in its hidden role.
func (s Streams) scriptedHandler() (stage.Fake, error) {
	self, err := s.self()
	if err != nil {
		return stage.Fake{}, fmt.Errorf("finding this program, which is the scripted handler too: %w", err)
	}
	return stage.Fake{Command: []string{self, scriptedVerb}}, nil
}
