package runner

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

// Known holds the results of a run against a known-failures file. A nil Known excuses
// nothing. It is safe for concurrent use.
type Known struct {
	mu      sync.Mutex
	excuses result.Excuses
}

// NewKnown returns what the entries of a file excuse on a day; whole is every result
// that there is for the subject, whatever this run leaves out: an entry that matches
// none of them has a problem, and so has one that matches too many.
func NewKnown(file string, entries []casefile.KnownFailure, whole []Key, today time.Time) *Known {
	k := &Known{excuses: result.Excuses{File: file, Entries: []result.Excuse{}}}
	day := today.UTC().Format(time.DateOnly)
	for _, entry := range entries {
		e := result.Excuse{
			Line: entry.Line, Case: entry.Case, Transport: entry.Transport, Verdict: result.Verdict(entry.Verdict),
			Requirements: listed(entry.Requirements), Checks: listed(entry.Checks), Where: listed(entry.Where), Matches: entry.Matches,
			Reason: entry.Reason, Issue: entry.Issue, Expires: string(entry.Expires), Failed: []string{}, At: []string{},
		}
		e.Expired = e.Expires != "" && e.Expires < day
		for _, key := range whole {
			if fits(&e, key) {
				e.Fits++
			}
		}
		switch {
		case e.Fits == 0:
			e.Problem = matchesNothing(&e, whole)
		case e.Matches > 0 && e.Fits > e.Matches:
			e.Problem = fmt.Sprintf("matches %d results, and may match %d; narrow it, or raise `matches` if all of them are meant", e.Fits, e.Matches)
		}
		k.excuses.Entries = append(k.excuses.Entries, e)
	}
	return k
}

// Rehold returns what a stored run was held against, to hold its results against it
// again. Nil gives nil.
func Rehold(x *result.Excuses) *Known {
	if x == nil {
		return nil
	}
	k := &Known{excuses: result.Excuses{File: x.File, Entries: slices.Clone(x.Entries)}}
	for i := range k.excuses.Entries {
		e := &k.excuses.Entries[i]
		if isStatic := e.Fits == 0 || e.Matches > 0 && e.Fits > e.Matches; !isStatic {
			e.Problem = ""
		}
		e.Judged, e.Excused, e.Failed, e.At = 0, 0, []string{}, []string{}
	}
	return k
}

// listed is a list that is not nil, as reports have it.
func listed(list []string) []string { return append([]string{}, list...) }

func fits(e *result.Excuse, key Key) bool {
	return (e.Transport == "" || e.Transport == key.Transport) && Match(e.Case, key.ID)
}

// matchesNothing says what is wrong with an entry that fits no result.
func matchesNothing(e *result.Excuse, whole []Key) string {
	elsewhere := []string{}
	for _, key := range whole {
		if Match(e.Case, key.ID) && !slices.Contains(elsewhere, key.Transport) {
			elsewhere = append(elsewhere, key.Transport)
		}
	}
	if len(elsewhere) > 0 {
		return fmt.Sprintf("matches nothing: the subject is put to this case over %s only; remove the entry, or correct `transport`", strings.Join(elsewhere, ", "))
	}
	return "matches nothing: there is no such case for this subject; remove the entry, or correct `case`"
}

// Hold gives a result the verdict that it has by the file, and a reason that says so.
func (k *Known) Hold(c *result.Case) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var live, expired []*result.Excuse
	for i := range k.excuses.Entries {
		e := &k.excuses.Entries[i]
		switch {
		case !fits(e, Key{c.ID, c.Transport}):
		case e.Expired:
			expired = append(expired, e)
		default:
			live = append(live, e)
		}
	}
	switch c.Verdict {
	case result.NotRun, result.HarnessError, result.Flaky:
		return // says nothing of what is known
	}
	for _, e := range expired {
		e.Problem = fmt.Sprintf("expired on %s; mend what it excuses, or say anew until when it holds", e.Expires)
	}
	switch c.Verdict {
	case result.NotApplicable:
		for _, e := range live {
			e.Judged++
		}
	case result.Pass, result.Warn:
		if len(live) > 0 {
			c.Verdict, c.Reason = result.UnexpectedPass, k.passes(live, c)
		}
	default:
		switch {
		case len(live) > 0:
			k.failed(live, c)
		case len(expired) > 0:
			c.Reason = fmt.Sprintf("%s excused this until %s: %s", k.place(expired[0]), expired[0].Expires, c.Reason)
		}
	}
}

// place is where an entry stands.
func (k *Known) place(e *result.Excuse) string { return fmt.Sprintf("%s:%d", k.excuses.File, e.Line) }

// passes is the reason of a result that was to fail and does not.
func (k *Known) passes(live []*result.Excuse, c *result.Case) string {
	e := live[0]
	do := "remove the entry"
	switch {
	case strings.ContainsAny(e.Case, "*?["):
		do = "take the case out of the entry"
	case e.Transport == "" && e.Fits > 1:
		do = "remove the entry, or give it the `transport` that it is still about"
	}
	s := fmt.Sprintf("%s expects %s, and the case passes: %s", k.place(e), e.Verdict, do)
	if c.Verdict == result.Warn && c.Reason != "" {
		s += " (warning: " + c.Reason + ")"
	}
	return s
}

// failed holds a result that is no pass against the entries that fit it.
func (k *Known) failed(live []*result.Excuse, c *result.Case) {
	var same []*result.Excuse
	for _, e := range live {
		if e.Verdict == c.Verdict {
			same = append(same, e)
			continue
		}
		// An entry is about every result that it fits, so that no other one makes up for it.
		e.Problem = fmt.Sprintf("excuses %s, and %s on %s ends in %s", e.Verdict, c.ID, c.Transport, c.Verdict)
	}
	if len(same) == 0 {
		c.Reason = fmt.Sprintf("%s excuses %s, and this is %s: %s", k.place(live[0]), live[0].Verdict, c.Verdict, c.Reason)
		return
	}
	if otherwise, reason := k.otherwise(same, c); otherwise != "" {
		same[0].Problem, c.Reason = otherwise, reason
		return
	}
	var reasons []string
	for _, e := range same {
		reason := e.Reason
		if e.Issue != "" {
			reason += " (" + e.Issue + ")"
		}
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
		e.Excused++
		for _, check := range c.Checks {
			id := check.Requirement
			if len(e.Checks) > 0 {
				id = check.ID
			}
			if check.Verdict == result.Fail && excuses(e, check) && !slices.Contains(e.Failed, id) {
				e.Failed = append(e.Failed, id)
			}
		}
		for _, place := range c.Places() {
			if slices.Contains(e.Where, place) && !slices.Contains(e.At, place) {
				e.At = append(e.At, place)
			}
		}
		slices.Sort(e.Failed)
		slices.Sort(e.At)
	}
	for _, e := range live {
		e.Judged++
	}
	c.Verdict, c.Reason = result.KnownFailure, strings.Join(reasons, "; ")
}

// otherwise says what fails of a result that no entry of its verdict excuses, for the
// entry and for the result; both are empty when there is nothing.
func (k *Known) otherwise(same []*result.Excuse, c *result.Case) (problem, reason string) {
	on := fmt.Sprintf("%s on %s fails otherwise than excused", c.ID, c.Transport)
	for _, check := range c.Checks {
		if check.Verdict != result.Fail {
			continue
		}
		named := slices.DeleteFunc(slices.Clone(same), func(e *result.Excuse) bool { return !excuses(e, check) })
		got := fmt.Sprintf("wanted %s, got %s", result.Clip(check.Want, 200), result.Clip(check.Got, 300))
		switch place := result.Place(check.Where); {
		case len(named) == 0:
			return fmt.Sprintf("%s: %s (check %s) fails there", on, check.Requirement, check.ID),
				fmt.Sprintf("%s does not excuse %s (check %s), which fails too: %s", k.place(same[0]), check.Requirement, check.ID, got)
		case !slices.ContainsFunc(named, func(e *result.Excuse) bool { return isAt(e, place) }):
			return fmt.Sprintf("%s: %s fails at %s, which is not in its `where`", on, check.Requirement, orNowhere(place)),
				fmt.Sprintf("%s does not excuse %s at %s: %s", k.place(named[0]), check.Requirement, orNowhere(place), got)
		}
	}
	if c.Verdict != result.NotTestable {
		return "", ""
	}
	// What stood in the way has no check that fails, but a place, unless it is of
	// another case.
	places := c.Places()
	if len(places) == 0 {
		places = []string{""}
	}
	for _, place := range places {
		if !slices.ContainsFunc(same, func(e *result.Excuse) bool { return isAt(e, place) }) {
			return fmt.Sprintf("%s on %s can't be tested for another reason than excused: at %s, which is not in its `where`", c.ID, c.Transport, orNowhere(place)),
				fmt.Sprintf("%s excuses what can't be tested for another reason: %s", k.place(same[0]), c.Reason)
		}
	}
	return "", ""
}

// excuses reports whether an entry names a check or its requirement; of another
// verdict than fail it need name none.
func excuses(e *result.Excuse, check result.Check) bool {
	return slices.Contains(e.Requirements, check.Requirement) || slices.Contains(e.Checks, check.ID)
}

// isAt reports whether an entry is about what goes wrong at a place.
func isAt(e *result.Excuse, place string) bool {
	return len(e.Where) == 0 || slices.Contains(e.Where, place)
}

func orNowhere(place string) string {
	if place == "" {
		return "no place that could be told"
	}
	return place
}

// Excuses is what became of the entries, for the report, when all results of the run
// were held against them. Nil of a nil Known.
func (k *Known) Excuses() *result.Excuses {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x := &result.Excuses{File: k.excuses.File, Entries: slices.Clone(k.excuses.Entries)}
	for i := range x.Entries {
		x.Entries[i].Settle()
	}
	return x
}
