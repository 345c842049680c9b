package main

import (
	"errors"
	"fmt"
	"strings"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
)

// failedFrom is the results of a report that are to be run again: all but those that
// passed, with a warning or without, and those that the subject declared away.
func failedFrom(name string, under runner.Subject, suite result.Suite) ([]runner.Key, error) {
	fail := func(format string, args ...any) ([]runner.Key, error) {
		return nil, fmt.Errorf("--failed-from %s: %w", name, fmt.Errorf(format, args...))
	}
	o, err := openReport(name)
	switch {
	case errors.Is(err, report.ErrIncomplete):
		return fail("%w; run everything again", err)
	case err != nil:
		return fail("%w", err)
	case o.run.Subject.Name != under.Name:
		return fail("it is of the subject %s, and this run is of %s", result.Visible(o.run.Subject.Name), under.Name)
	case o.run.Suite.Cases != suite.Cases:
		return fail("it is of another suite: the case files are not the same; run everything again")
	}
	var keys []runner.Key
	for _, c := range o.run.Cases {
		switch c.Verdict {
		case result.Pass, result.Warn, result.NotApplicable:
		default:
			keys = append(keys, runner.Key{ID: c.ID, Transport: c.Transport})
		}
	}
	if len(keys) == 0 {
		return fail("nothing in it failed, so there is nothing to run again")
	}
	return keys, nil
}

// planned is an error when the options leave nothing to run.
func (f runFlags) planned(o runner.Options) error {
	if len(runner.Planned(o)) > 0 {
		return nil
	}
	whole := o
	whole.Shard = runner.Shard{}
	if n := len(runner.Planned(whole)); n > 0 {
		return &runner.NothingError{Message: fmt.Sprintf("--shard %s is empty: no more than %s can be shared out; use fewer shards", f.shard, count(n, "result"))}
	}
	if f.choice.FailedFrom != "" {
		return &runner.NothingError{Message: fmt.Sprintf("--failed-from %s: nothing that failed in it is left by the other flags, or offered by the subject now", f.choice.FailedFrom)}
	}
	return &runner.NothingError{Message: "the choice leaves no case to run"}
}

// evidenceFolder is where evidence goes when nobody says: what a whole run left is not
// given up to look at one case again, and the shards of a run don't take each other's.
func (f runFlags) evidenceFolder(subject string) string {
	folder := "evidence/" + subject
	if f.split.Count > 1 {
		folder += ".shard-" + strings.ReplaceAll(f.split.String(), "/", "-of-")
	}
	if !f.choice.IsAll() {
		folder += selectionSuffix
	}
	return folder
}
