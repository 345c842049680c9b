package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
)

// following is what the lines rest on that say what can be done after a red run.
type following struct {
	cases []*casefile.Case
	// command is the command line of the run.
	command []string
	// evidence is the folder of its evidence; stored is set when its report is in it, now
	// or soon, and paged when a page of it is written anyway.
	evidence      string
	stored, paged bool
}

// lines says how to get at the first failure, and at all of the run as a page.
func (n following) lines(first *result.Case) (lines []string) {
	say := func(what string, words ...string) {
		for i, w := range words {
			words[i] = shellQuoted(w)
		}
		lines = append(lines, what+": pugmark-conform "+strings.Join(words, " "))
	}
	files := func(words ...string) []string {
		if dir := flagValue(n.command, "--cases"); dir != "" {
			words = append(words, "--cases", dir)
		}
		return words
	}
	switch c := n.caseOf(first); {
	case c == nil:
	case n.premiseFailed(first):
		words := []string{"doctor"}
		if name := flagValue(n.command, "--subject"); name != "" {
			words = append(words, "--subject", name)
		}
		say("why "+runner.Baseline+" does not hold, on which the others rest", words...)
	case n.isReproducible(c, first):
		say("the first failure in a folder, without the harness", files("repro", filepath.Join(n.evidence, filepath.FromSlash(first.Evidence)))...)
	default:
		say("what the first of these cases does and wants", files("show", c.ID)...)
	}
	if n.stored && !n.paged {
		say("all of it as a page", "report", "render", n.evidence, "--output", "html=report.html")
	}
	return lines
}

// caseOf is the case that a result is of, nil when it is not among the cases or was not
// played.
func (n following) caseOf(first *result.Case) *casefile.Case {
	if first == nil || first.Verdict == result.HarnessError || first.Verdict == result.NotRun {
		return nil
	}
	i := slices.IndexFunc(n.cases, func(c *casefile.Case) bool { return c.ID == first.ID })
	if i < 0 {
		return nil
	}
	return n.cases[i]
}

// premiseFailed reports whether a case was not played since the agreement does not hold.
func (n following) premiseFailed(first *result.Case) bool {
	return first.Verdict == result.NotTestable && strings.HasPrefix(first.Reason, runner.PremiseFailed)
}

// isReproducible reports whether repro can write a folder from the evidence of a result.
func (n following) isReproducible(c *casefile.Case, first *result.Case) bool {
	if n.evidence == "" || first.Evidence == "" || c.Kind != casefile.KindHandler || c.Handler.Beside != nil {
		return false
	}
	failed := func(k result.Check) bool { return k.Verdict == result.Fail }
	return first.Verdict == result.Crash || first.Verdict == result.Hang || slices.ContainsFunc(first.Checks, failed)
}

// seedLine is the first line of a run: one that is killed can be repeated too.
func seedLine(seed int64) string {
	return fmt.Sprintf("seed %d: --seed %d plays the same values again\n", seed, seed)
}
