package judge

import (
	"fmt"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
)

// The step kinds of errors that are no answer of the runtime.
const (
	kindCrash       = "crash"
	kindHang        = "hang"
	kindUnsupported = "unsupported"
)

// mainSession is the session that expectations mean when they name none.
const mainSession = "main"

// runtimeCase judges a runtime case, data or story, by walking its steps.
type runtimeCase struct {
	*ledger
	c     *casefile.Case
	e     *result.Evidence
	acts  []act // what the case says, in order
	views []*feed
	now   moment
	// segment is the act of the last `require`, -1 before any.
	segment int
	shown   bool // a step of the segment is evidence by itself
}

// act is a `require` or an `expect` of the case, with its checks.
type act struct {
	verb, arg string
	// own is the check of a `require`; empty when its expectations say it all.
	own   string
	parts []plannedStep
}

type plannedStep struct {
	id string
	runtimePart
}

func newRuntimeCase(l *ledger, c *casefile.Case, e *result.Evidence) *runtimeCase {
	r := &runtimeCase{ledger: l, c: c, e: e, segment: -1}
	r.now = moment{e: e, logs: map[string]*result.Step{}, dumps: map[string]*result.Step{}}
	for i := range e.Invocations {
		r.views = append(r.views, newFeed(&e.Invocations[i]))
	}
	r.now.feeds = r.views
	return r
}

func (r *runtimeCase) judge() {
	r.plans()
	if !r.premises(r.c, r.e) {
		return
	}
	for i, v := range r.views {
		if v.fault != "" {
			r.halt(result.HarnessError, fmt.Sprintf("the script of invocation %d is at fault: %s", i+1, v.fault))
			return
		}
	}
	r.walk()
	r.breaches()
}

// plans reads the checks from the case, so that none is left out when judging
// stops early.
func (r *runtimeCase) plans() {
	if r.c.Runtime != nil {
		r.expectation("", "expect", "", r.c.Runtime.Expect)
		return
	}
	requirement := ""
	open := -1 // the last `require` without an expectation so far
	// A `require` whose steps are followed by no expectation is proven by their
	// outcomes, and has a check of its own.
	own := func() {
		if open >= 0 {
			r.acts[open].own = r.plan("require/"+r.acts[open].arg, r.acts[open].arg, r.c.Readings)
		}
		open = -1
	}
	for line := range strings.SplitSeq(r.c.Story.Script, "\n") {
		words := strings.Fields(line)
		if len(words) < 2 || strings.HasPrefix(words[0], "#") {
			continue
		}
		switch words[0] {
		case "require":
			own()
			requirement, open = words[1], len(r.acts)
			r.acts = append(r.acts, act{verb: "require", arg: requirement})
		case "expect":
			open = -1
			r.expectation(requirement, words[1], words[1]+"/", r.c.Story.Expects[words[1]])
		}
	}
	own()
}

// expectation plans the checks of an `expect`.
func (r *runtimeCase) expectation(requirement, arg, prefix string, blocks []casefile.RuntimeExpect) {
	a := act{verb: "expect", arg: arg}
	for i := range blocks {
		b := &blocks[i]
		place := prefix
		if len(blocks) > 1 {
			place += fmt.Sprintf("%d/", i+1)
		}
		for _, p := range runtimeParts(b, mainSession) {
			cites := p.requirement
			if cites == "" {
				cites = citing(r.c, orElse(b.Requirement, requirement))
			}
			id := r.plan(place+p.key, cites, readings(r.c.Readings, b.Readings))
			a.parts = append(a.parts, plannedStep{id, p})
		}
	}
	r.acts = append(r.acts, a)
}

// walk goes through the steps in order, and stops at the first that did not go as
// the case wants.
func (r *runtimeCase) walk() {
	next := 0
	for i := range r.e.Steps {
		s := &r.e.Steps[i]
		r.now.step = i
		switch s.Verb {
		case "require", "expect":
			k := slices.IndexFunc(r.acts[next:], func(a act) bool { return a.verb == s.Verb && len(s.Args) > 0 && a.arg == s.Args[0] })
			if k < 0 {
				r.halt(result.HarnessError, fmt.Sprintf("the evidence has a step that the case has not: %s %s", s.Verb, strings.Join(s.Args, " ")))
				return
			}
			k += next
			next = k + 1
			if s.Verb == "require" {
				r.prove()
				r.segment, r.shown = k, false
				continue
			}
			if !r.expect(r.acts[k]) {
				return
			}
		default:
			if !r.outcome(i, s) {
				return
			}
		}
	}
	switch {
	case r.e.TimedOut != "":
		r.halt(result.Hang, "the case was still running after "+r.e.TimedOut+r.lastStep())
	case r.c.Runtime != nil && next == 0 && len(r.now.runs) > 0:
		r.expect(r.acts[0]) // the expectations of a case that is data stand at its end
	case next < len(r.acts):
		a := r.acts[next]
		r.halt(result.HarnessError, fmt.Sprintf("the evidence ends before %s %s", a.verb, a.arg))
	default:
		r.prove()
	}
}

// expect judges the checks of an `expect` by what is known so far. It reports
// whether the judging goes on.
func (r *runtimeCase) expect(a act) bool {
	if !r.unadmitted(a) {
		return false
	}
	for _, p := range a.parts {
		r.settle(p.id, p.judge(&r.now))
	}
	return true
}

// prove settles the check of a `require` at the end of its steps, all of which
// went as the case wants.
func (r *runtimeCase) prove() {
	if r.segment < 0 || r.acts[r.segment].own == "" {
		return
	}
	if r.shown {
		r.settle(r.acts[r.segment].own, passed())
		return
	}
	r.settle(r.acts[r.segment].own, unseen("a step whose outcome shows it", "nothing but steps that could do nothing"))
}

// outcome takes in a step that acts on the runtime. It reports whether the
// judging goes on.
func (r *runtimeCase) outcome(i int, s *result.Step) bool {
	what := stepWords(s)
	if s.Error != nil {
		switch s.Error.Kind {
		case kindHang:
			limit := ""
			if r.e.TimedOut != "" {
				limit = " after " + r.e.TimedOut
			}
			r.halt(result.Hang, fmt.Sprintf("%s was still running%s: %s", what, limit, s.Error.Message))
			return false
		case kindCrash:
			r.halt(result.Crash, fmt.Sprintf("the runtime died in %s: %s", what, s.Error.Message))
			return false
		case kindUnsupported:
			v, reason := r.lacks(s)
			if v == result.Fail {
				r.contradict(s, what+" works, since the subject claims its feature", reason)
			}
			r.halt(v, reason)
			return false
		}
	}
	switch {
	case s.Either:
	case s.Error != nil && !s.WantError:
		return r.contradict(s, what+" succeeds", fmt.Sprintf("an error (%s): %s", s.Error.Kind, s.Error.Message))
	case s.Error == nil && s.WantError:
		got := "success"
		if len(s.Output) > 0 {
			got += ": " + clip(string(s.Output), 400)
		}
		return r.contradict(s, what+" is refused", got)
	}
	if s.WantError && !s.Either && !s.Error.IsRefusal() {
		return r.contradict(s, what+" is refused", fmt.Sprintf("an error (%s): %s", s.Error.Kind, s.Error.Message))
	}
	r.shown = r.shown || s.Error != nil
	name := ""
	if len(s.Args) > 0 {
		name = s.Args[0]
	}
	switch s.Verb {
	case "run", "run-once":
		from := 0
		if i > 0 {
			from = r.e.Steps[i-1].Invocations
		}
		to := min(s.Invocations, len(r.views))
		r.now.runs = append(r.now.runs, run{session: name, step: s, feeds: r.views[min(from, to):to]})
		r.shown = r.shown || to > from
	case "log":
		r.now.logs[name] = s
		r.shown = r.shown || len(s.Output) > 2
	case "inspect":
		r.now.dumps[name] = s
		r.shown = r.shown || len(s.Output) > 2
	case "await":
		r.now.waiting++
	case "child":
		r.shown = r.shown || s.Error == nil && len(s.Output) > 2
	}
	return true
}

// lacks says what an operation means that the runtime does not offer.
func (r *runtimeCase) lacks(s *result.Step) (result.Verdict, string) {
	switch t := r.e.Transport; {
	case !strings.HasPrefix(s.Verb, "run"):
	case t != protocol.TransportRPC && t != protocol.TransportHTTP:
	case !slices.Contains(r.e.Features, t):
		return result.NotApplicable, fmt.Sprintf("the runtime can't run handlers over %s, and does not claim the feature %s", t, t)
	}
	return lacking(s.Verb, s.Args, r.e.Features)
}

// contradict records a step that went otherwise than the case wants: it fails the
// requirement that the step proves, and before any `require` it is a premise.
func (r *runtimeCase) contradict(s *result.Step, want, got string) bool {
	where := "the step " + stepWords(s)
	if s.Line > 0 {
		where = fmt.Sprintf("line %d: %s", s.Line, stepWords(s))
	}
	f := finding{where: where, want: want, got: got}
	switch {
	case r.segment >= 0:
		a := &r.acts[r.segment]
		if a.own == "" {
			a.own = r.plan("require/"+a.arg, a.arg, r.c.Readings)
		}
		r.settle(a.own, failed(f))
		r.halt(result.Fail, fmt.Sprintf("%s: wanted %s, got %s", where, want, got))
	case s.Error != nil && s.Error.Kind == kindUnsupported:
		r.blame(failed(f))
	default:
		r.halt(result.NotTestable, fmt.Sprintf("%s: wanted %s, got %s", where, want, got))
	}
	return false
}

// unadmitted looks for a run that failed although no expectation of its point
// speaks of how it ends: the case is about something that works.
func (r *runtimeCase) unadmitted(a act) bool {
	n := len(r.now.runs)
	if n == 0 || len(a.parts) == 0 {
		return true
	}
	last := r.now.runs[n-1]
	if last.step.Error == nil || !last.step.Either {
		return true
	}
	for _, p := range a.parts {
		if p.aboutRun {
			return true
		}
	}
	r.settle(a.parts[0].id, failed(finding{
		where: "the step " + stepWords(last.step), want: "the run succeeds",
		got: fmt.Sprintf("an error (%s): %s", last.step.Error.Kind, last.step.Error.Message),
	}))
	r.halt(result.Fail, "the run fails: "+last.step.Error.Message)
	return false
}

func (r *runtimeCase) lastStep() string {
	if n := len(r.e.Steps); n > 0 {
		return ", the last step was " + stepWords(&r.e.Steps[n-1])
	}
	return ""
}

// stepWords is a step as a story writes it.
func stepWords(s *result.Step) string {
	return strings.TrimSpace("`" + strings.TrimSpace(s.Verb+" "+strings.Join(s.Args, " ")) + "`")
}

// breaches adds checks for the rules that every stream of a runtime keeps.
func (r *runtimeCase) breaches() {
	for i, v := range r.views {
		where := func(place string) string { return fmt.Sprintf("invocation %d, %s", i+1, place) }
		for _, broken := range v.stream.broken {
			if r.asks(broken.rule) {
				continue
			}
			r.breach("always/"+broken.rule, casefile.StreamRules()[broken.rule], ruleReadings(broken.rule), v.stream.finding(broken, v.name, where))
		}
		if v.stream.unreadable {
			continue
		}
		for _, o := range v.order() {
			f := o.finding
			f.where = where(f.where)
			r.breach("always/"+o.rule, o.requirement, o.readings, f)
		}
	}
}

// asks reports whether some expectation of the case asks for a stream rule.
func (r *runtimeCase) asks(rule string) bool {
	for _, a := range r.acts {
		for _, p := range a.parts {
			if p.key == "fed/stream/"+rule {
				return true
			}
		}
	}
	return false
}
