package report

import (
	"strings"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// untested names the requirements that no result of a whole run says anything of, and
// why that takes nothing from the verdict.
func (p *page) untested() {
	all := untested(p.look)
	if len(all) == 0 {
		return
	}
	p.line("%s  %s", p.paint(bold, "UNTESTED"), p.paint(dim, count(len(all), "requirement")+", which the verdict says nothing of"))
	for _, q := range all {
		for i, line := range wrap(strings.Fields(q.line()), p.width-4) {
			p.line("%s%s", strings.Repeat(" ", 2+2*min(i, 1)), line)
		}
	}
	p.line("")
}

// untestedRequirement is a requirement that was not put to the test, and why.
type untestedRequirement struct{ id, word, why string }

func (q untestedRequirement) line() string {
	return strings.TrimSpace(q.id+"  "+q.word) + ": " + q.why
}

// untested is the requirements that no result of a whole run says anything of.
func untested(l *lookUp) (all []untestedRequirement) {
	for i := range l.run.Requirements {
		q := &l.run.Requirements[i]
		if why := WhyUntested(l.run, q, l.spec); why != "" {
			all = append(all, untestedRequirement{clean(result.Clip(q.ID, maxName)), clean(l.requirement(q.ID).word), clean(result.Clip(why, maxProse))})
		}
	}
	return all
}

// WhyUntested is why no result of a run says anything of one of its requirements; empty
// when one does, and when the run is of a selection, of which it says nothing that some
// requirements are not in it. The registry may be nil.
func WhyUntested(run *result.Run, q *result.Requirement, s *spec.Spec) string {
	if q.Verdict != result.Untested || !run.Selection.IsWhole() {
		return ""
	}
	if s != nil {
		if r, ok := s.Requirement(q.ID); ok && !r.IsObservable() {
			return "no case can test it: " + r.Unobservable
		}
	}
	if spec.Level(q.Level) == spec.LevelMay {
		return "it allows something and demands nothing, so no case tests it"
	}
	return "no case that this subject can be put to tests it"
}
