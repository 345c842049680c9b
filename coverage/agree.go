package coverage

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// shownDisagreements is how many an error names.
const shownDisagreements = 3

// Disagreement is an error when a run says of itself what does not follow from its
// cases: totals, verdicts of cases, of requirements or of the run that are none that
// [Complete] gives, results or requirements that are there twice, and cases that are
// named and are not there. A run as this package completes it, merged from shards or
// not, has none.
//
// What only the case files say, which requirements a case covers without a check, is
// believed as far as the run can say it in one way.
func Disagreement(run *result.Run) error {
	a := &agreement{run: run}
	a.results()
	a.totals()
	a.requirements()
	if want := Verdict(run); len(a.found) == 0 && run.Verdict != want {
		// Of what else is wrong this would be said too, and say less.
		a.add("its verdict is %s, and its cases and requirements come to %s", run.Verdict, want)
	}
	if len(a.found) == 0 {
		return nil
	}
	more := ""
	if n := len(a.found) - shownDisagreements; n > 0 {
		a.found, more = a.found[:shownDisagreements], fmt.Sprintf("; and %d more", n)
	}
	return fmt.Errorf("it contradicts itself, so it is not as a run wrote it: %s%s", strings.Join(a.found, "; "), more)
}

// agreement collects what disagrees in a run.
type agreement struct {
	run   *result.Run
	found []string
}

// add notes a disagreement. What the report names in it may be anyone's text.
func (a *agreement) add(format string, args ...any) {
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			quoted := strconv.Quote(result.Clip(s, 120))
			args[i] = quoted[1 : len(quoted)-1]
		}
	}
	a.found = append(a.found, fmt.Sprintf(format, args...))
}

// results looks at each case by itself.
func (a *agreement) results() {
	type key struct{ id, transport string }
	seen := map[key]bool{}
	for i := range a.run.Cases {
		c := &a.run.Cases[i]
		if k := (key{c.ID, c.Transport}); seen[k] {
			a.add("%s on %s is there twice", c.ID, c.Transport)
		} else {
			seen[k] = true
		}
		checks := map[string]bool{}
		of := map[result.Verdict]int{}
		for _, k := range c.Checks {
			if checks[k.ID] {
				a.add("%s on %s has the check %s twice", c.ID, c.Transport, k.ID)
			}
			checks[k.ID] = true
			of[k.Verdict]++
		}
		if why := contradicts(c.Verdict, of); why != "" {
			a.add("%s on %s is %s and %s", c.ID, c.Transport, string(c.Verdict), why)
		}
		if a.run.Known == nil && (c.Verdict == result.KnownFailure || c.Verdict == result.UnexpectedPass) {
			a.add("%s on %s is %s, and the run was held against no known-failures file", c.ID, c.Transport, string(c.Verdict))
		}
	}
}

// contradicts says what of the checks of a case, counted by verdict, its own verdict
// can't stand beside. What ended a case before its checks were judged, a crash for
// example, can stand beside any.
func contradicts(v result.Verdict, checks map[result.Verdict]int) string {
	bad := func(verdicts ...result.Verdict) string {
		for _, v := range verdicts {
			if checks[v] > 0 {
				return fmt.Sprintf("has a check that is %s", v)
			}
		}
		return ""
	}
	switch v {
	case result.Pass:
		if len(checks) == 0 {
			return "has no check"
		}
		return bad(result.Fail, result.NotRun, result.Warn)
	case result.Warn, result.UnexpectedPass:
		if v == result.Warn && checks[result.Warn] == 0 {
			return "has no check that is"
		}
		return bad(result.Fail, result.NotRun)
	case result.Fail:
		if checks[result.Fail]+checks[result.NotRun] == 0 {
			return "has no check that is"
		}
	case result.NotTestable, result.NotRun, result.NotApplicable:
		return bad(result.Fail)
	}
	return ""
}

// totals holds the counts against the cases.
func (a *agreement) totals() {
	want := Totals(a.run.Cases)
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	for name := range a.run.Totals {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if got := a.run.Totals[name]; got != want[name] {
			a.add("its totals count %d under %q, and it lists %d", got, name, want[name])
		}
	}
}

// requirements holds the verdict of each requirement against what the cases say of it.
func (a *agreement) requirements() {
	results := map[string][]*result.Case{}
	for i := range a.run.Cases {
		c := &a.run.Cases[i]
		results[c.ID] = append(results[c.ID], c)
	}
	cites := map[string]map[string]bool{} // by requirement, the cases with a check of it
	for _, c := range a.run.Cases {
		for _, k := range c.Checks {
			if cites[k.Requirement] == nil {
				cites[k.Requirement] = map[string]bool{}
			}
			cites[k.Requirement][c.ID] = true
		}
	}
	seen := map[string]bool{}
	for i := range a.run.Requirements {
		r := &a.run.Requirements[i]
		if seen[r.ID] {
			a.add("the requirement %s is there twice", r.ID)
		}
		seen[r.ID] = true
		before := len(a.found)
		named := map[string]bool{}
		for _, id := range r.Cases {
			switch {
			case named[id]:
				a.add("%s names the case %s twice", r.ID, id)
			case len(results[id]) == 0:
				a.add("%s names the case %s, which it does not list", r.ID, id)
			}
			named[id] = true
		}
		for _, id := range slices.Sorted(maps.Keys(cites[r.ID])) {
			if !named[id] {
				a.add("%s has a check of %s, which does not name it", id, r.ID)
			}
		}
		if len(a.found) == before {
			a.verdict(r, results)
		}
	}
}

// verdict holds one requirement against the cases that it names.
func (a *agreement) verdict(r *result.Requirement, results map[string][]*result.Case) {
	if claim := (spec.Requirement{ID: r.ID}).Claim(); claim != "" && !slices.Contains(a.run.Subject.Features, claim) {
		if r.Verdict != result.NotApplicable {
			a.add("the requirement %s is %s, and the subject does not claim %s", r.ID, string(r.Verdict), claim)
		}
		return
	}
	certain, possible := said(r, results)
	want := First(certain)
	if r.Verdict == want {
		return
	}
	rank := func(v result.Verdict) int { return slices.Index(order(), v) }
	if slices.Contains(possible, r.Verdict) && rank(r.Verdict) < rank(want) {
		return
	}
	a.add("the requirement %s is %s, and its cases come to %s", r.ID, string(r.Verdict), string(want))
}

// always begins the IDs of checks that are of no case's own, but of a rule that holds in
// every case.
const always = "always/"

// said is what the results of the cases that a requirement names say of it: for certain,
// and what they say if they cover it. That they do is certain unless all that cites it
// is a rule of every case, which one result of a case can have broken and another not.
func said(r *result.Requirement, results map[string][]*result.Case) (certain, possible []result.Verdict) {
	for _, id := range r.Cases {
		covers := true
		for _, c := range results[id] {
			for _, k := range c.Checks {
				covers = covers && !(k.Requirement == r.ID && strings.HasPrefix(k.ID, always))
			}
		}
		for _, c := range results[id] {
			list := contributions(*c, []string{r.ID})[r.ID]
			cited := slices.ContainsFunc(c.Checks, func(k result.Check) bool { return k.Requirement == r.ID })
			if covers || cited {
				certain = append(certain, list...)
			} else {
				possible = append(possible, list...)
			}
		}
	}
	return certain, possible
}
