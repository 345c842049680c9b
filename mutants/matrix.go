package mutants

import (
	"slices"
	"strings"

	"pugmark.dev/conform/result"
)

// Matrix is what came of a [Kill].
type Matrix struct {
	Mutants []Row     `json:"mutants"`
	Twins   []Outcome `json:"twins"`
	Idlers  []Outcome `json:"idlers"`
	// Cases is how many cases there are; Unfailed is those of which no check of
	// their own was failed by any mutant, those aside that cover nothing but MAYs. It
	// is empty when only some of the mutants were run.
	Cases    int      `json:"cases"`
	Unfailed []string `json:"unfailed-cases"`
	// Failures is which mutant failed which case, as far as they were run.
	Failures []Failure `json:"failures"`
}

// Row is one mutant.
type Row struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Requirement string `json:"requirement"`
	Level       string `json:"level"`
	Sentence    string `json:"sentence"`
	// Covered reports whether a case for its kind covers the requirement. A mutant
	// for which there is none is run with all cases: some rules hold in each.
	Covered bool `json:"covered"`
	// Results is how many results were looked at.
	Results int `json:"results"`
	// Caught is the checks that failed and cite the requirement; none is a silent
	// mutant.
	Caught []Catch `json:"caught-by"`
}

// Catch is a check that failed on a mutant, and cites what it breaks.
type Catch struct {
	Case      string `json:"case"`
	Transport string `json:"transport"`
	Check     string `json:"check"`
}

// Outcome is one twin or idler.
type Outcome struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Sentence string `json:"sentence"`
	// Results is how many results were looked at.
	Results int `json:"results"`
	// Verdict is that of an idler's run.
	Verdict result.Verdict `json:"verdict,omitempty"`
	// Complaints is what should not be: on a twin, a check that fails or a case that
	// says nothing; on an idler, a check that passes.
	Complaints []Complaint `json:"complaints"`
}

// Complaint is a result that should be another.
type Complaint struct {
	Case        string         `json:"case"`
	Transport   string         `json:"transport"`
	Check       string         `json:"check,omitempty"`
	Requirement string         `json:"requirement,omitempty"`
	Verdict     result.Verdict `json:"verdict"`
	What        string         `json:"what,omitempty"`
}

// Holds reports whether every mutant was caught, no twin was accused, no idler
// passed anything, and no case went unfailed.
func (m *Matrix) Holds() bool {
	return len(m.Silent())+len(m.Unfailed) == 0 &&
		!slices.ContainsFunc(m.Twins, Outcome.isBad) && !slices.ContainsFunc(m.Idlers, Outcome.isBad)
}

// Silent is the mutants that no check caught.
func (m *Matrix) Silent() (silent []Row) {
	for _, row := range m.Mutants {
		if len(row.Caught) == 0 {
			silent = append(silent, row)
		}
	}
	return silent
}

func (o Outcome) isBad() bool { return len(o.Complaints) > 0 || o.Verdict == result.Conformant }

// finish puts the complaints in order.
func (o Outcome) finish(results []result.Case) Outcome {
	o.Results = len(results)
	slices.SortStableFunc(o.Complaints, func(a, b Complaint) int {
		return strings.Compare(a.Case+"\x00"+a.Transport, b.Case+"\x00"+b.Transport)
	})
	return o
}

// isJudged reports whether a case came to its end. That a subject crashes or hangs
// is no catch, and that the harness errs is none either.
func isJudged(c result.Case) bool {
	switch c.Verdict {
	case result.Crash, result.Hang, result.HarnessError, result.NotRun:
		return false
	}
	return true
}

// isAmbient reports whether a check is of a rule that holds in every case, and not
// one of the case's own.
func isAmbient(c result.Check) bool { return strings.HasPrefix(c.ID, "always/") }

// catches is the checks of a case that caught what breaks a requirement.
func catches(c result.Case, requirement string, wanted result.Verdict) (list []Catch) {
	if !isJudged(c) {
		return nil
	}
	for _, check := range c.Checks {
		if check.Requirement == requirement && check.Verdict == wanted {
			list = append(list, Catch{Case: c.ID, Transport: c.Transport, Check: check.ID})
		}
	}
	return list
}

// accusations is what a case says against a subject that is right: a check that
// fails, which a SHOULD can't, or that nothing can be said.
func accusations(c result.Case) (list []Complaint) {
	for _, check := range c.Checks {
		if check.Verdict == result.Fail {
			list = append(list, Complaint{
				Case: c.ID, Transport: c.Transport, Check: check.ID, Requirement: check.Requirement, Verdict: check.Verdict,
				What: "wanted " + check.Want + ", got " + check.Got,
			})
		}
	}
	switch c.Verdict {
	case result.Pass, result.Warn, result.Fail, result.NotApplicable:
	default:
		list = append(list, Complaint{Case: c.ID, Transport: c.Transport, Verdict: c.Verdict, What: c.Reason})
	}
	return list
}

// passes is the checks that passed on a subject that does nothing.
func passes(c result.Case) (list []Complaint) {
	for _, check := range c.Checks {
		if check.Verdict == result.Pass {
			list = append(list, Complaint{
				Case: c.ID, Transport: c.Transport, Check: check.ID, Requirement: check.Requirement, Verdict: check.Verdict,
			})
		}
	}
	if len(list) == 0 && c.Verdict == result.Pass {
		list = append(list, Complaint{Case: c.ID, Transport: c.Transport, Verdict: c.Verdict})
	}
	return list
}
