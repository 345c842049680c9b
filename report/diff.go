package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
)

// DiffV1 is the value of Diff.Schema.
const DiffV1 = "pugmark-conform/diff/v1"

// Diff is what changed from one run to another: results, which are cases each on
// one transport, and requirements. Its JSON form is the output of `report diff`.
type Diff struct {
	Schema string `json:"schema"`
	// A and B say which runs were compared.
	A Compared `json:"a"`
	B Compared `json:"b"`
	// Notes say what stands in the way of comparing the two: other suites, other
	// subjects, a selection.
	Notes []string `json:"notes"`
	// Common is how many results both runs have.
	Common       int      `json:"common"`
	Cases        []Change `json:"cases"`
	Requirements []Change `json:"requirements"`
}

// Compared is what a run was of.
type Compared struct {
	Subject string         `json:"subject"`
	Version string         `json:"version"`
	Suite   string         `json:"suite"`
	Verdict result.Verdict `json:"verdict"`
	Whole   bool           `json:"whole"`
}

// Kind is how a result or a requirement changed.
type Kind string

// The kinds of change.
const (
	// Regressed: it is worse than it was. A result that is skipped, or can't be seen
	// any more, is worse than one that passed: so is one that passed and is not there,
	// when nothing but the subject can be the reason ([Compare]).
	Regressed Kind = "regressed"
	// Fixed: it passes, at the most with a warning, and did not.
	Fixed Kind = "fixed"
	// New and Gone: only the second, or the first, run has it.
	New  Kind = "new"
	Gone Kind = "gone"
	// Changed: another verdict that is neither, or the same for another reason.
	Changed Kind = "changed"
)

// Kinds returns every kind of change, the most urgent first.
func Kinds() []Kind { return []Kind{Regressed, Fixed, Changed, New, Gone} }

// Change is one result or requirement that changed.
type Change struct {
	Kind Kind `json:"kind"`
	// ID is of the case or of the requirement.
	ID string `json:"id"`
	// Transport is empty for a requirement.
	Transport string `json:"transport"`
	// Before and After are empty where the run does not have it.
	Before result.Verdict `json:"before"`
	After  result.Verdict `json:"after"`
	// Was and Is are the reasons for the verdicts.
	Was string `json:"was"`
	Is  string `json:"is"`
	// Rerun is the command that runs the case again as the second run did.
	Rerun string `json:"rerun"`
	// EntryGone is set when nothing changed but the known-failures file: the entry that
	// excused the result is gone. Texts count such results in place of naming them.
	EntryGone bool `json:"-"`
}

// HasRegressed reports whether anything is worse than it was.
func (d *Diff) HasRegressed() bool {
	worse := func(c Change) bool { return c.Kind == Regressed }
	return slices.ContainsFunc(d.Cases, worse) || slices.ContainsFunc(d.Requirements, worse)
}

// isGone reports whether the second run does not have it.
func (c Change) isGone() bool { return c.After == "" }

// Compare says what changed from run a to run b. Runs of different suites, of other
// selections, or of subjects of different kinds are compared on what both have: what
// only one has is new or gone, and makes no requirement regressed. Runs of one suite and
// one choice of cases are to have the same results; what passed and is gone is regressed
// there.
func Compare(a, b *result.Run) *Diff {
	a, b = ordered(a), ordered(b)
	d := &Diff{Schema: DiffV1, A: compared(a), B: compared(b), Notes: notes(a, b), Cases: []Change{}, Requirements: []Change{}}
	before, after := byResult(a), byResult(b)
	same := haveToHaveTheSame(a, b)
	worse := map[string]bool{} // cases with a common result that regressed, and requirements that fail anew in one
	for _, key := range union(a.Cases, b.Cases) {
		was, is := before[key], after[key]
		if was != nil && is != nil {
			d.Common++
			for _, id := range failAnew(was, is) {
				worse[id] = true
			}
		}
		c, changed := changeOf(was, is)
		if !changed {
			continue
		}
		if same && c.isGone() && badness(c.Before) <= badness(result.Warn) {
			c.Kind, c.Is = Regressed, goneText
		}
		d.Cases = append(d.Cases, c)
		worse[c.ID] = worse[c.ID] || c.Kind == Regressed
	}
	d.Requirements = requirementChanges(a, b, worse)
	d.Notes = append(d.Notes, vanished(d, a, b)...)
	return d
}

func compared(r *result.Run) Compared {
	return Compared{
		Subject: result.Visible(r.Subject.Name), Version: result.Visible(r.Subject.Version),
		Suite: strings.TrimSpace(r.Suite.Version + " " + r.Suite.Cases), Verdict: r.Verdict, Whole: r.Selection.IsWhole(),
	}
}

// notes says what a reader of the comparison has to know.
func notes(a, b *result.Run) []string {
	all := []string{}
	add := func(format string, args ...any) { all = append(all, clean(fmt.Sprintf(format, args...))) }
	if a.Subject.Name != b.Subject.Name {
		add("the subjects differ: %s and %s", result.Clip(a.Subject.Name, maxName), result.Clip(b.Subject.Name, maxName))
	}
	if !sameKinds(a, b) {
		add("the subjects are of different kinds: %s and %s", strings.Join(a.Subject.Kinds, ", "), strings.Join(b.Subject.Kinds, ", "))
	}
	if a.Suite != b.Suite {
		what := "the suites differ"
		if a.Suite.Cases == b.Suite.Cases {
			what = "the versions of the suites differ, and the case files do not"
		}
		add("%s: only the results that both runs have are compared", what)
	}
	for _, side := range []struct {
		word string
		run  *result.Run
	}{{"first", a}, {"second", b}} {
		if s := selectionOf(side.run.Selection); s != "" {
			add("the %s run is of a selection: %s", side.word, result.Clip(s, maxLine))
		}
	}
	return all
}

func sameKinds(a, b *result.Run) bool {
	return slices.Equal(slices.Sorted(slices.Values(a.Subject.Kinds)), slices.Sorted(slices.Values(b.Subject.Kinds)))
}

// goneText is the reason of a result that passed and that a run has not, which would
// have to have it.
const goneText = "the second run has no such result, though it is of the same suite and choice of cases"

// haveToHaveTheSame reports whether nothing but the subjects can be the reason when one
// of the runs has results that the other has not.
func haveToHaveTheSame(a, b *result.Run) bool {
	return a.Suite == b.Suite && sameChoice(a.Selection, b.Selection) && sameKinds(a, b)
}

// sameChoice reports whether two selections chose the same of the same suite. Of shards
// that is not certain, since they deal out what a subject offers, nor of a choice that
// another report made.
func sameChoice(a, b result.Selection) bool {
	if a.IsShard() || b.IsShard() || a.All != b.All {
		return false
	}
	fromElsewhere := func(word string) bool {
		return strings.HasPrefix(word, "--failed-from=") || strings.HasPrefix(word, "judge ")
	}
	return a.All || slices.Equal(a.Patterns, b.Patterns) && !slices.ContainsFunc(a.Patterns, fromElsewhere)
}

// vanished says that results are gone for which no suite or selection is the reason.
func vanished(d *Diff, a, b *result.Run) []string {
	gone, passed := 0, 0
	for _, c := range d.Cases {
		if c.isGone() {
			gone++
			if c.Kind == Regressed {
				passed++
			}
		}
	}
	if gone == 0 || !haveToHaveTheSame(a, b) {
		return nil
	}
	note := fmt.Sprintf("%s gone, though both runs are of the same suite and choice of cases: the second subject offers less", count(gone, "result"))
	if passed > 0 {
		note += fmt.Sprintf("; %d of them passed, which counts as regressed", passed)
	}
	return []string{note}
}

// failAnew is the requirements of which a check fails in a result, and none did.
func failAnew(was, is *result.Case) []string {
	failed := func(c *result.Case) []string {
		var all []string
		for _, k := range c.Checks {
			if k.Verdict == result.Fail {
				all = append(all, k.Requirement)
			}
		}
		return all
	}
	before := failed(was)
	return slices.DeleteFunc(failed(is), func(id string) bool { return slices.Contains(before, id) })
}

// resultKey names a case on a transport.
type resultKey struct{ id, transport string }

func byResult(r *result.Run) map[resultKey]*result.Case {
	m := map[resultKey]*result.Case{}
	for i := range r.Cases {
		m[resultKey{r.Cases[i].ID, r.Cases[i].Transport}] = &r.Cases[i]
	}
	return m
}

// union is the results of both runs, in the order of reports.
func union(a, b []result.Case) []resultKey {
	var all []resultKey
	for _, c := range slices.Concat(a, b) {
		all = append(all, resultKey{c.ID, c.Transport})
	}
	slices.SortFunc(all, func(a, b resultKey) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.transport, b.transport))
	})
	return slices.Compact(all)
}

// changeOf is how one result changed; either side may be absent.
func changeOf(was, is *result.Case) (Change, bool) {
	var c Change
	if was != nil {
		c.ID, c.Transport, c.Before, c.Was = was.ID, was.Transport, was.Verdict, because(was)
	}
	if is != nil {
		c.ID, c.Transport, c.After, c.Is, c.Rerun = is.ID, is.Transport, is.Verdict, because(is), is.Rerun
	}
	switch {
	case was == nil:
		c.Kind = New
	case is == nil:
		c.Kind = Gone
	case was.Verdict == is.Verdict && sameReason(was, is):
		return c, false
	default:
		c.Kind = kindOf(was.Verdict, is.Verdict)
		c.EntryGone = was.Verdict == result.UnexpectedPass && is.Verdict == result.Pass ||
			was.Verdict == result.KnownFailure && is.Verdict == result.Fail && sameFailures(was, is)
	}
	return c, true
}

// sameFailures reports whether the same checks fail, having got the same but for what
// varies from run to run. The reasons of the verdicts are not looked at: that of an
// excused failure is its entry's.
func sameFailures(a, b *result.Case) bool {
	failed := func(c *result.Case) (all []string) {
		for _, k := range c.Checks {
			if k.Verdict == result.Fail {
				all = append(all, k.ID+"\x00"+k.Requirement+"\x00"+steady(k.Got))
			}
		}
		return all
	}
	return slices.Equal(failed(a), failed(b))
}

// because is the reason of a verdict, in one line.
func because(c *result.Case) string {
	if c.Verdict == result.Pass {
		return ""
	}
	return message(c)
}

// badness ranks verdicts: what holds, what was not seen to hold, what does not.
func badness(v result.Verdict) int {
	switch v {
	case result.Pass, result.UnexpectedPass:
		return 0
	case result.Warn:
		return 1
	case result.NotApplicable, result.Untested:
		return 2
	case result.NotTestable, result.NotRun, result.HarnessError:
		return 3
	case result.Flaky:
		return 4
	case result.Fail, result.KnownFailure: // the same of the subject; one is excused
		return 5
	}
	return 6 // crash, hang
}

// kindOf is how a verdict changed into another. What only is skipped now, or fails
// now and then, is not fixed.
func kindOf(was, is result.Verdict) Kind {
	before, after := badness(was), badness(is)
	switch {
	case after > before:
		return Regressed
	case after < before && after <= badness(result.Warn):
		return Fixed
	}
	return Changed
}

// sameReason reports whether the same checks speak against the subject, for the same
// reason but for what varies from run to run.
func sameReason(a, b *result.Case) bool {
	odd := func(c *result.Case) []string {
		var all []string
		for _, k := range c.Checks {
			if k.Verdict == result.Fail || k.Verdict == result.Warn {
				all = append(all, k.ID+"\x00"+k.Requirement+"\x00"+string(k.Verdict))
			}
		}
		return all
	}
	return slices.Equal(odd(a), odd(b)) && steady(a.Reason) == steady(b.Reason)
}

// steady is a text without what varies with the seed and the machine: session IDs,
// the digits that cases put into bodies, ports.
func steady(s string) string {
	return regexp.MustCompile(`[0-9a-f]{16,}|[0-9]{4,}`).ReplaceAllString(s, "#")
}

// requirementChanges is how requirements changed. One of which the runs have
// different results is worse only if one of those that both have is.
func requirementChanges(a, b *result.Run, worse map[string]bool) []Change {
	before, after := map[string]*result.Requirement{}, map[string]*result.Requirement{}
	var ids []string
	for _, side := range []struct {
		run *result.Run
		by  map[string]*result.Requirement
	}{{b, after}, {a, before}} {
		for i := range side.run.Requirements {
			q := &side.run.Requirements[i]
			side.by[q.ID] = q
			if !slices.Contains(ids, q.ID) {
				ids = append(ids, q.ID)
			}
		}
	}
	same := sameResults(a, b)
	all := []Change{}
	for _, id := range ids {
		was, is := before[id], after[id]
		c := Change{ID: id}
		if was != nil {
			c.Before = was.Verdict
		}
		if is != nil {
			c.After = is.Verdict
		}
		switch {
		case was == nil:
			c.Kind = New
		case is == nil:
			c.Kind = Gone
		case was.Verdict == is.Verdict:
			continue
		default:
			c.Kind = kindOf(was.Verdict, is.Verdict)
			common := same || worse[id] || slices.ContainsFunc(is.Cases, func(id string) bool { return worse[id] })
			if c.Kind == Regressed && !common {
				c.Kind, c.Is = Changed, "by results that only one of the runs has"
			}
		}
		all = append(all, c)
	}
	return all
}

// sameResults reports whether both runs have results of the same cases and
// transports.
func sameResults(a, b *result.Run) bool {
	key := func(c result.Case) resultKey { return resultKey{c.ID, c.Transport} }
	return slices.EqualFunc(a.Cases, b.Cases, func(x, y result.Case) bool { return key(x) == key(y) })
}
