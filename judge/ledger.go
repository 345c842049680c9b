package judge

import (
	"fmt"
	"slices"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// Levels says how binding a requirement is; [spec.Spec] does.
type Levels interface {
	Requirement(id string) (spec.Requirement, bool)
}

// finding is what a check saw, for people: where, what was wanted, what came.
type finding struct{ where, want, got, diff string }

// outcome is what became of one check.
type outcome struct {
	verdict result.Verdict // Pass, Fail or NotRun
	finding
}

func passed() outcome { return outcome{verdict: result.Pass} }

func failed(f finding) outcome { return outcome{verdict: result.Fail, finding: f} }

// unseen is a check that nothing in the evidence speaks for or against.
func unseen(want, got string) outcome {
	return outcome{verdict: result.NotRun, finding: finding{want: want, got: got}}
}

// stop is why judging ended before its end.
type stop struct {
	verdict       result.Verdict
	where, reason string
}

// ledger collects the checks of one case. Planned checks say NotRun until they are
// settled, so that whatever stops the judging leaves none out.
type ledger struct {
	levels Levels
	checks []result.Check
	done   []bool // by check: settled at least once
	stop   *stop
	// ambient is how many checks the rules added that hold in every case; they
	// stand before the others.
	ambient int
}

// plan adds a check and returns its ID, which is made unique.
func (l *ledger) plan(id, requirement string, readings []string) string {
	unique := id
	for n := 2; l.at(unique) >= 0; n++ {
		unique = fmt.Sprintf("%s#%d", id, n)
	}
	l.checks = append(l.checks, result.Check{ID: unique, Requirement: requirement, Readings: readings, Verdict: result.NotRun})
	l.done = append(l.done, false)
	return unique
}

func (l *ledger) at(id string) int {
	return slices.IndexFunc(l.checks, func(c result.Check) bool { return c.ID == id })
}

// settle records the outcome of a planned check; of several the worst stays.
func (l *ledger) settle(id string, o outcome) {
	i := l.at(id)
	c := &l.checks[i]
	verdict := l.temper(c.Requirement, o.verdict)
	if l.done[i] && rankOf(verdict) <= rankOf(c.Verdict) {
		return
	}
	l.done[i] = true
	c.Verdict = verdict
	c.Where, c.Want, c.Got, c.Diff = clip(o.where, maxText), clip(o.want, maxText), clip(o.got, maxText), clip(o.diff, maxText)
	if verdict == result.Pass {
		c.Where, c.Want, c.Got, c.Diff = "", "", "", ""
	}
}

func rankOf(v result.Verdict) int {
	return slices.Index([]result.Verdict{result.Pass, result.NotRun, result.Warn, result.Fail}, v)
}

// temper turns a failure into a warning where the requirement does not bind: a
// SHOULD warns, and a MAY can't be failed.
func (l *ledger) temper(requirement string, v result.Verdict) result.Verdict {
	if v != result.Fail {
		return v
	}
	if r, ok := l.levels.Requirement(requirement); ok && !r.IsMandatory() {
		return result.Warn
	}
	return v
}

// breach records that a rule which holds in every case was broken. The check
// stands before the case's own, and is made once.
func (l *ledger) breach(id, requirement string, readings []string, f finding) {
	if l.at(id) >= 0 {
		return
	}
	o := failed(f)
	c := result.Check{
		ID: id, Requirement: requirement, Readings: readings, Verdict: l.temper(requirement, o.verdict),
		Where: clip(f.where, maxText), Want: clip(f.want, maxText), Got: clip(f.got, maxText), Diff: clip(f.diff, maxText),
	}
	l.checks = slices.Insert(l.checks, l.ambient, c)
	l.done = slices.Insert(l.done, l.ambient, true)
	l.ambient++
}

// halt ends the judging. The first reason stays, and stands in the first check
// that was not run, so that a report shows it beside what it hindered.
func (l *ledger) halt(v result.Verdict, reason string) { l.haltAt(v, "", reason) }

// haltAt is halt with the place that the reason is about, which stands in the check
// too.
func (l *ledger) haltAt(v result.Verdict, where, reason string) {
	if l.stop == nil {
		l.stop = &stop{v, where, reason}
	}
}

// void takes back what was settled as passed: a later premise of the same case
// did not hold.
func (l *ledger) void() {
	for i := range l.checks {
		if l.checks[i].Verdict == result.Pass {
			l.checks[i].Verdict = result.NotRun
		}
	}
}

// close gives the case its verdict: the first that occurs in the order of the
// verdicts, and why it is no pass.
func (l *ledger) close(c *result.Case) {
	if l.stop != nil {
		for i := range l.checks {
			if k := &l.checks[i]; k.Verdict == result.NotRun && k.Got == "" {
				k.Where, k.Got = clip(l.stop.where, maxText), clip(l.stop.reason, maxText)
				break
			}
		}
	}
	c.Checks = l.checks
	if c.Checks == nil {
		c.Checks = []result.Check{}
	}
	first := func(v result.Verdict) *result.Check {
		for i := range l.checks {
			if l.checks[i].Verdict == v {
				return &l.checks[i]
			}
		}
		return nil
	}
	set := func(v result.Verdict, reason string) {
		c.Verdict, c.Reason = v, clip(reason, 600)
	}
	if l.stop != nil {
		switch l.stop.verdict {
		case result.HarnessError, result.Crash, result.Hang:
			set(l.stop.verdict, l.stop.reason)
			return
		}
	}
	if k := first(result.Fail); k != nil {
		set(result.Fail, sentence(k))
		return
	}
	if l.stop != nil {
		set(l.stop.verdict, l.stop.reason)
		return
	}
	switch k, w := first(result.NotRun), first(result.Warn); {
	case len(l.checks) == 0:
		set(result.HarnessError, "the case asserts nothing")
	case k != nil:
		set(result.NotTestable, sentence(k))
	case w != nil:
		set(result.Warn, sentence(w))
	default:
		set(result.Pass, "")
	}
}

// sentence tells a check's finding in one sentence.
func sentence(k *result.Check) string {
	s := k.Requirement
	if k.Want != "" {
		s += ": wanted " + clip(k.Want, 160)
	}
	if k.Got != "" {
		s += ", got " + clip(k.Got, 240)
	}
	if k.Where != "" {
		s += " (" + k.Where + ")"
	}
	return s
}

// readings joins the readings of a case, a block and a check, each once.
func readings(lists ...[]string) (all []string) {
	for _, list := range lists {
		for _, r := range list {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}
