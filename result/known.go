package result

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Excuses is what became of the entries of a known-failures file in a run.
type Excuses struct {
	// File is the path of the file as the run was given it.
	File    string   `json:"file"`
	Entries []Excuse `json:"entries"`
}

// Excuse is one entry of a known-failures file: an assertion that results end in a
// certain way, which is as much broken by a pass as by another failure.
type Excuse struct {
	// Line is where the entry begins in the file, from 1.
	Line int `json:"line"`
	// Case is the ID of a case, or a glob on IDs.
	Case string `json:"case"`
	// Transport is the one that the entry is about; empty for all.
	Transport string `json:"transport"`
	// Verdict is how the results end: fail, crash, hang or not-testable.
	Verdict Verdict `json:"verdict"`
	// Requirements, or else Checks, is what may fail, and has to.
	Requirements []string `json:"requirements"`
	Checks       []string `json:"checks"`
	// Where is the places at which these fail, as [Case.Places] has them; empty for any.
	Where []string `json:"where"`
	// Matches is how many results the entry may match; 0 is any number.
	Matches int    `json:"matches"`
	Reason  string `json:"reason"`
	// Issue is a URL, or empty.
	Issue string `json:"issue"`
	// Expires is the last day on which the entry holds, as 2006-01-02; empty for none.
	Expires string `json:"expires"`
	// Expired is set when that day was over when the run began.
	Expired bool `json:"expired"`
	// Fits is how many results the entry matches, whatever was left out of this run.
	Fits int `json:"fits"`
	// Judged is how many of these the run had, and found no fault of the entry in.
	Judged int `json:"judged"`
	// Excused is how many of these became known-failure.
	Excused int `json:"excused"`
	// Failed is which of Requirements or Checks failed in these, and At which of Where.
	Failed []string `json:"failed"`
	At     []string `json:"at"`
	// Problem says why the entry itself makes the run not-conformant; empty when it
	// does not.
	Problem string `json:"problem"`
}

// Named is the requirements or the checks that the entry names.
func (e *Excuse) Named() []string {
	if len(e.Checks) > 0 {
		return e.Checks
	}
	return e.Requirements
}

// Settle looks for what can only be said when the entry met all results that it
// fits: that there is nothing left which it excuses, or not all that it names. In a
// run that left some of them out it says nothing.
func (e *Excuse) Settle() {
	if e.Problem != "" || e.Expired || e.Fits == 0 || e.Judged < e.Fits {
		return
	}
	if e.Excused == 0 {
		e.Problem = fmt.Sprintf("excuses nothing any more: no result ends in %s; remove the entry", e.Verdict)
		return
	}
	if over := without(e.Named(), e.Failed); len(over) > 0 {
		e.Problem = fmt.Sprintf("excuses %s too, which nothing fails any more; take it out of the entry", strings.Join(over, ", "))
	} else if over := without(e.Where, e.At); len(over) > 0 {
		e.Problem = fmt.Sprintf("excuses what fails at %s too, where nothing fails any more; take it out of the entry", strings.Join(over, "; "))
	}
}

// texts masks the places of an entry, which tell of what a subject wrote.
func (m *Mask) texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = m.Text(out[i])
	}
	return out
}

// without is what of a list is not in another.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// union is what is in one of two lists, sorted; never nil, as reports have it.
func union(a, b []string) []string {
	all := append(append([]string{}, a...), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Place is where a check failed, without how many bytes in, which a longer port or
// session ID moves.
func Place(where string) string {
	return regexp.MustCompile(`\bbyte \d+`).ReplaceAllString(where, "a byte")
}

// Places is where the case went wrong: the places of the checks that fail, or, if it
// could not be judged, of what stood in the way. It is sorted and has nothing twice.
func (c *Case) Places() []string {
	of := Fail
	if c.Verdict == NotTestable {
		of = NotRun
	}
	var all []string
	for _, k := range c.Checks {
		if k.Verdict == of && k.Where != "" {
			all = append(all, Place(k.Where))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// HasProblem reports whether an entry makes the run not-conformant by itself.
func (x *Excuses) HasProblem() bool {
	return x != nil && slices.ContainsFunc(x.Entries, func(e Excuse) bool { return e.Problem != "" })
}

// MergeExcuses puts together what the shards of one run say of the same file. Shards
// that were held against different entries are no shards of one run, which is an
// error. None has excuses: nil.
func MergeExcuses(shards []*Excuses) (*Excuses, error) {
	if len(shards) == 0 || !slices.ContainsFunc(shards, func(x *Excuses) bool { return x != nil }) {
		return nil, nil
	}
	differ := fmt.Errorf("the known failures of the shards differ; run every shard with the same file")
	if shards[0] == nil {
		return nil, differ
	}
	merged := &Excuses{File: shards[0].File, Entries: slices.Clone(shards[0].Entries)}
	for _, x := range shards[1:] {
		if x == nil || x.File != merged.File || len(x.Entries) != len(merged.Entries) {
			return nil, differ
		}
		for i := range merged.Entries {
			if !merged.Entries[i].add(&x.Entries[i]) {
				return nil, differ
			}
		}
	}
	for i := range merged.Entries {
		merged.Entries[i].Settle()
	}
	return merged, nil
}

// add adds what another shard saw of the entry. It reports false when it is another
// entry.
func (e *Excuse) add(o *Excuse) bool {
	same := e.Line == o.Line && e.Case == o.Case && e.Transport == o.Transport && e.Verdict == o.Verdict && e.Fits == o.Fits &&
		e.Matches == o.Matches && slices.Equal(e.Requirements, o.Requirements) && slices.Equal(e.Checks, o.Checks) && slices.Equal(e.Where, o.Where)
	if !same {
		return false
	}
	e.Judged += o.Judged
	e.Excused += o.Excused
	e.Expired = e.Expired || o.Expired
	e.Failed, e.At = union(e.Failed, o.Failed), union(e.At, o.At)
	if e.Problem == "" {
		e.Problem = o.Problem
	}
	return true
}
