package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/judge"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/subject"
)

// reproFlags is what repro was asked for.
type reproFlags struct {
	subject, cases, transport, into string
	seed                            int64
	timeScale                       float64
}

func (a *app) reproCommand() *cobra.Command {
	var f reproFlags
	c := &cobra.Command{
		Use:   "repro CASE",
		Short: "Write a folder that shows one failure of a handler without the harness",
		Long: `repro writes a folder with the exact input of a case that failed, the bodies that
its URLs name, what was wanted and what came, and a run.sh that plays it to the
handler. run.sh needs a shell, python3 and, over rpc and http, curl; it exits with
0 when the handler behaves, 1 when the failure shows, and 2 when neither can be told.

CASE is the ID of a handler case, which is then played to the subject, or the folder
of its evidence from an earlier run (evidence/SUBJECT/CASE@TRANSPORT): nothing is
run then, and without --subject the command is the one that was recorded.`,
		Args: takes(1, 1, "one case, or one evidence folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("seed") {
				f.seed = freshSeed()
			}
			return a.repro(c.Context(), args[0], f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.subject, "subject", "", "`NAME` of a subject that is shipped, or path of a subject file (default reference, or the one of the evidence)")
	casesFlag(c, &f.cases)
	flags.StringVar(&f.transport, "transport", "", "`TRANSPORT` of the case: subprocess, rpc or http (default the first one that fails)")
	flags.StringVar(&f.into, "into", "", "`FOLDER` to write, which is not there yet (default repro/CASE@TRANSPORT, in the place of what an earlier repro wrote there)")
	flags.Int64Var(&f.seed, "seed", 0, "`NUMBER` that session IDs, and the texts that vary, are made from (default a fresh one)")
	flags.Float64Var(&f.timeScale, "time-scale", 1, "`FACTOR` on every time limit, for slow machines")
	return c
}

// recorded is one failure as evidence has it.
type recorded struct {
	c        *casefile.Case
	evidence *result.Evidence
	judged   result.Case
	// seed is what the run was made with.
	seed int64
	// command is how the handler is started; nil when only its URL is known.
	command *subject.ResolvedCommand
}

func (a *app) repro(ctx context.Context, what string, f reproFlags) error {
	if !(f.timeScale > 0) {
		return fmt.Errorf("--time-scale %g: a factor over 0 is wanted", f.timeScale)
	}
	if f.transport != "" && !slices.Contains(casefile.Transports(), f.transport) {
		return fmt.Errorf("--transport %s: there is %s", f.transport, strings.Join(casefile.Transports(), ", "))
	}
	s, err := a.loadSuite(f.cases)
	if err != nil {
		return err
	}
	var r *recorded
	if dir, ok := evidenceFolder(what); ok {
		r, err = a.reproStored(ctx, dir, f, s)
	} else {
		r, err = a.reproPlayed(ctx, what, f, s)
	}
	if err != nil {
		return err
	}
	if f.into == "" {
		f.into = filepath.Join("repro", filepath.FromSlash(result.EvidenceFolder(r.c.ID, r.evidence.Transport)))
		// A case that is being mended is reproduced again and again.
		if _, err := os.Lstat(filepath.Join(f.into, reproPlanFile)); err == nil {
			if err := os.RemoveAll(f.into); err != nil {
				return err
			}
		}
	}
	if err := writeRepro(f.into, r, s.registry); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s\nREADME.md there says what it is; to see it: %s\n", f.into, shellQuoted(filepath.Join(f.into, "run.sh")))
	return err
}

// evidenceFolder is the folder when the word names one with evidence, or a file in
// one.
func evidenceFolder(word string) (string, bool) {
	info, err := os.Stat(word)
	if err != nil {
		return "", false
	}
	if !info.IsDir() {
		word = filepath.Dir(word)
	}
	_, err = os.Stat(filepath.Join(word, "evidence.json"))
	return word, err == nil
}

// reproStored is the failure in an evidence folder.
func (a *app) reproStored(ctx context.Context, dir string, f reproFlags, s *suite) (*recorded, error) {
	judged, e, err := runner.JudgeStored(dir, s.cases, judge.New(s.registry))
	if err != nil {
		return nil, err
	}
	if f.transport != "" && f.transport != e.Transport {
		return nil, fmt.Errorf("--transport %s: the evidence in %s is of %s", f.transport, dir, e.Transport)
	}
	r := &recorded{c: caseOf(s, e.Case), evidence: e, judged: judged}
	if err := r.check(); err != nil {
		return nil, err
	}
	stored, err := result.ReadCase(dir)
	if err != nil {
		return nil, err
	}
	r.judged.Rerun = stored.Rerun
	rerun := shellWords(stored.Rerun)
	if r.seed, err = strconv.ParseInt(flagValue(rerun, "--seed"), 10, 64); err != nil {
		return nil, fmt.Errorf("%s: its rerun line names no --seed, so the input can't be told whole; run the case again with repro %s", dir, e.Case)
	}
	if f.subject != "" {
		r.command, err = a.handlerCommand(ctx, f.subject, e.Transport)
		return r, err
	}
	r.command = recordedCommand(e, flagValue(rerun, "--subject"))
	return r, nil
}

// recordedCommand is the command as the evidence has it, nil for a service. It ran in
// the folder of the subject file, when that is known and is still there.
func recordedCommand(e *result.Evidence, file string) *subject.ResolvedCommand {
	line := spawned(e)
	if line == "" {
		return nil
	}
	c := &subject.ResolvedCommand{Args: []string{line}}
	if info, err := os.Stat(file); err == nil {
		if !info.IsDir() {
			file = filepath.Dir(file)
		}
		if absolute, err := filepath.Abs(file); err == nil {
			c.Dir = absolute
		}
	}
	return c
}

// reproPlayed plays the case to the subject, on one transport after the other until
// one fails.
func (a *app) reproPlayed(ctx context.Context, id string, f reproFlags, s *suite) (r *recorded, err error) {
	chosen, err := a.pickOne(s, id)
	if err != nil {
		return nil, err
	}
	if chosen.Kind != casefile.KindHandler {
		return nil, notOfAHandler(chosen.ID)
	}
	if chosen.Handler.Beside != nil {
		return nil, twoAtATime(chosen.ID)
	}
	name := f.subject
	if name == "" {
		name = referenceName
	}
	run := runFlags{subject: name, cases: f.cases, seed: f.seed, timeScale: f.timeScale}
	// The folder is made to be shown to others.
	under, mask, err := a.openMasked(run, s, func(a *app) (opened, error) { return a.openSubject(ctx, name, 1) })
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := under.Close(); err == nil {
			err = closing
		}
	}()
	if under.Handler == nil {
		return nil, fmt.Errorf("%s is a runtime: repro is for handlers; `pugmark-conform run` prints the command that runs a case of a runtime again", under.Subject.Name)
	}
	scratch, err := os.MkdirTemp("", "pugmark-conform-repro-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	var transports []string
	if f.transport != "" {
		transports = []string{f.transport}
	}
	results, err := runner.Run(ctx, runner.Options{
		Registry: s.registry, Cases: []*casefile.Case{chosen}, All: s.cases, Subject: under.Subject, Transports: transports,
		Programs: a.Programs, Parallel: 1, Seed: f.seed, TimeScale: f.timeScale, Evidence: scratch, Mask: mask, Rerun: run.rerun,
	})
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, errors.New("interrupted; nothing was written")
	case len(results) == 0:
		return nil, fmt.Errorf("%s is not played over %s", chosen.ID, f.transport)
	}
	return a.firstFailure(results, chosen, f.seed, scratch, under)
}

// firstFailure is the first result that something can be shown of.
func (a *app) firstFailure(results []result.Case, c *casefile.Case, seed int64, root string, under opened) (*recorded, error) {
	var problem error
	for _, out := range results {
		r := &recorded{c: c, judged: out, seed: seed, command: commandOf(under, out.Transport)}
		if out.Evidence == "" {
			r.evidence = &result.Evidence{Case: c.ID, Kind: c.Kind, Transport: out.Transport}
		} else {
			e, err := result.ReadEvidence(filepath.Join(root, filepath.FromSlash(out.Evidence)))
			if err != nil {
				return nil, err
			}
			r.evidence = e
		}
		err := r.check()
		if err == nil {
			return r, nil
		}
		problem = errors.Join(problem, err)
	}
	return nil, problem
}

// check makes sure that there is something to show.
func (r *recorded) check() error {
	where := r.c.ID + " over " + r.evidence.Transport
	switch {
	case r.c.Kind != casefile.KindHandler:
		return notOfAHandler(r.c.ID)
	case r.c.Handler.Beside != nil:
		return twoAtATime(r.c.ID)
	case slices.Contains([]result.Verdict{result.Pass, result.NotApplicable}, r.judged.Verdict):
		return fmt.Errorf("%s ends in %s: there is no failure to show", where, r.judged.Verdict)
	case len(r.evidence.Invocations) == 0:
		return fmt.Errorf("%s ends in %s before the handler was given anything: %s", where, r.judged.Verdict, r.judged.Reason)
	}
	return nil
}

func notOfAHandler(id string) error {
	return fmt.Errorf("%s is a case of runtimes: repro is for handlers; the evidence and the rerun line of the run are what there is for a runtime", id)
}

func twoAtATime(id string) error {
	return fmt.Errorf("%s plays two invocations at the same time, and the scripts that repro writes play one after the other; the evidence and the rerun line of the run are what there is for such a case", id)
}

// pickOne is the case with the ID.
func (a *app) pickOne(s *suite, id string) (*casefile.Case, error) {
	chosen, err := pick(s.cases, []string{id})
	switch {
	case err != nil:
		return nil, err
	case len(chosen) > 1:
		return nil, fmt.Errorf("%q matches %d cases; repro wants one", id, len(chosen))
	}
	return chosen[0], nil
}

func caseOf(s *suite, id string) *casefile.Case {
	i := slices.IndexFunc(s.cases, func(c *casefile.Case) bool { return c.ID == id })
	return s.cases[i] // JudgeStored has found it
}

// handlerCommand is how a subject's handler is started on a transport.
func (a *app) handlerCommand(ctx context.Context, name, transport string) (*subject.ResolvedCommand, error) {
	under, err := a.openSubject(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	defer under.Close()
	c := commandOf(under, transport)
	if c == nil {
		return nil, fmt.Errorf("subject %s has no handler over %s", under.Subject.Name, transport)
	}
	return c, nil
}

func commandOf(under opened, transport string) *subject.ResolvedCommand {
	if under.Handler == nil {
		return nil
	}
	return map[string]*subject.ResolvedCommand{
		protocol.TransportSubprocess: under.Handler.Subprocess, protocol.TransportRPC: under.Handler.RPC, protocol.TransportHTTP: under.Handler.HTTP,
	}[transport]
}

// newFolder makes a folder that is not there yet, or holds nothing.
func newFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.MkdirAll(dir, 0o777)
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is there already; remove it, or name another folder with --into", dir)
	}
	return nil
}
