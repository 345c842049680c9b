package judge

import (
	"fmt"
	"strings"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

// run is one run step and the invocations that it caused.
type run struct {
	session string
	step    *result.Step
	feeds   []*feed
}

// moment is what is known of a runtime at an `expect`.
type moment struct {
	e    *result.Evidence
	step int
	runs []run
	// waiting is how often handlers were seen to wait at a point of their script.
	waiting int
	feeds   []*feed // of all invocations of the case
	// logs and dumps is the latest `log` and `inspect` step of each session.
	logs, dumps map[string]*result.Step
}

// lastRun is the last run, of the session when one is named.
func (m *moment) lastRun(session string) *run {
	for i := len(m.runs) - 1; i >= 0; i-- {
		if session == "" || m.runs[i].session == session {
			return &m.runs[i]
		}
	}
	return nil
}

// invoked is how many invocations are known to have been made so far, or to be going
// on.
func (m *moment) invoked() (n int) {
	n = m.waiting
	for _, r := range m.runs {
		n += len(r.feeds)
	}
	return n
}

// id is the ID of a session of the case.
func (m *moment) id(name string) (string, bool) {
	id, ok := m.e.Sessions[name]
	if !ok && len(name) == 32 && strings.Trim(name, "0123456789abcdef") == "" {
		return name, true
	}
	return id, ok
}

// name is what the case calls a session, for findings.
func (m *moment) name(id string) string {
	for _, name := range sortedKeys(m.e.Sessions) {
		if m.e.Sessions[name] == id {
			return name
		}
	}
	return orElse(id, "none")
}

// runtimePart is one key of an expectation block on a runtime.
type runtimePart struct {
	key         string
	requirement string
	aboutRun    bool // speaks of how the run ends
	judge       func(*moment) outcome
}

// runtimeParts lists the keys that a block gives, in order of cause. session is
// what the block means when it names none.
func runtimeParts(b *casefile.RuntimeExpect, session string) (list []runtimePart) {
	// Runs and what was fed are the last ones, unless the block names a session.
	named := b.Session
	if session != mainSession && named == "" {
		named = session
	}
	session = orElse(b.Session, session)
	add := func(key string, judge func(*moment) outcome) *runtimePart {
		list = append(list, runtimePart{key: key, judge: judge})
		return &list[len(list)-1]
	}
	if b.Run != "" {
		add("run", func(m *moment) outcome { return checkRun(b, named, m) }).aboutRun = true
	}
	if b.Says != "" {
		add("says", func(m *moment) outcome { return checkSays(b.Says, named, m) }).aboutRun = true
	}
	if b.Waited != nil {
		add("waited", func(m *moment) outcome { return checkWaited(*b.Waited, named, m) }).aboutRun = true
	}
	if b.Invocations != nil {
		add("invocations", func(m *moment) outcome { return checkInvocations(*b.Invocations, named, m) })
	}
	if b.Fed != nil {
		list = append(list, fedParts(b.Fed, named, session)...)
	}
	if b.Log != nil {
		add("log", grounded(b, func(m *moment) outcome { return checkLog(b, session, m) }))
	}
	if b.Version != nil {
		add("version", grounded(b, func(m *moment) outcome { return checkVersion(*b.Version, session, m) }))
	}
	if b.Types != nil {
		add("types", grounded(b, func(m *moment) outcome { return checkTypes(b.Types, session, m) }))
	}
	if b.Snapshots != nil {
		add("snapshots", grounded(b, func(m *moment) outcome { return checkSnapshots(*b.Snapshots, session, m) }))
	}
	if b.Rising {
		add("rising", grounded(b, func(m *moment) outcome { return checkRising(session, m) }))
	}
	if b.Manifest != nil {
		add("manifest", grounded(b, func(m *moment) outcome { return checkManifest(*b.Manifest, session, m) }))
	}
	if b.ParentVersion != nil {
		add("parent-version", grounded(b, func(m *moment) outcome { return checkParentVersion(*b.ParentVersion, session, m) }))
	}
	if b.Parent != "" {
		add("parent", grounded(b, func(m *moment) outcome { return checkParent(b.Parent, session, m) }))
	}
	if b.AnyOf != nil {
		var alternatives [][]runtimePart
		about := false
		for i := range b.AnyOf {
			parts := runtimeParts(&b.AnyOf[i], orElse(named, session))
			alternatives = append(alternatives, parts)
			for _, p := range parts {
				about = about || p.aboutRun
			}
		}
		add("any-of", func(m *moment) outcome {
			return anyOf(len(alternatives), func(i int) (string, outcome) {
				for _, p := range alternatives[i] {
					if o := p.judge(m); o.verdict != result.Pass {
						return p.key, o
					}
				}
				return "", passed()
			})
		}).aboutRun = about
	}
	return list
}

// grounded lets what a log or a dump shows pass only when some handler was invoked
// in the case before: a runtime that keeps what is pushed, and never runs
// anything, leaves every session as it was. A block that wants no invocation, or
// says why the run fails, wants just that.
func grounded(b *casefile.RuntimeExpect, judge func(*moment) outcome) func(*moment) outcome {
	return func(m *moment) outcome {
		o := judge(m)
		wanted := b.Says == "" && (b.Invocations == nil || *b.Invocations > 0)
		if o.verdict == result.Pass && wanted && m.invoked() == 0 {
			return unseen("what an invocation leaves", neverInvoked)
		}
		return o
	}
}

const neverInvoked = "the handler was never invoked"

// checkRun judges the outcome of the last run. It rests on the handler's having
// been invoked, unless the block says that it was not or why the run fails.
func checkRun(b *casefile.RuntimeExpect, session string, m *moment) outcome {
	r := m.lastRun(session)
	if r == nil {
		return unseen("a run", "none in the evidence")
	}
	where := "the step " + stepWords(r.step)
	if b.Run == "failure" {
		switch {
		case r.step.Error == nil:
			return failed(finding{where: where, want: "the run fails", got: "success" + stateOf(r.step)})
		case !r.step.Error.IsRefusal():
			return failed(finding{where: where, want: "the run fails because of the invocation, or is refused",
				got: fmt.Sprintf("a failure of the runtime (%s): %s", r.step.Error.Kind, r.step.Error.Message)})
		case len(r.feeds) == 0 && b.Says == "" && (b.Invocations == nil || *b.Invocations != 0):
			return failed(finding{where: where, want: "the run fails because of the invocation", got: neverInvoked + ": " + r.step.Error.Message})
		case b.Invocations != nil && *b.Invocations == 0 && m.invoked() == 0:
			return unseen("a run that is known to invoke the handler when it should", "no invocation in the whole case")
		}
		return passed()
	}
	switch {
	case r.step.Error != nil:
		return failed(finding{where: where, want: "the run succeeds", got: fmt.Sprintf("an error (%s): %s", r.step.Error.Kind, r.step.Error.Message)})
	case len(r.feeds) > 0:
		return passed()
	case b.Invocations != nil && *b.Invocations == 0 && m.invoked() > 0:
		return passed()
	case b.Invocations != nil && *b.Invocations == 0:
		return unseen("a run that is known to invoke the handler when it should", "no invocation in the whole case")
	}
	return failed(finding{where: where, want: "a run that invokes the handler", got: neverInvoked})
}

func stateOf(s *result.Step) string {
	if len(s.Output) == 0 {
		return ""
	}
	return ", " + clip(string(s.Output), 200)
}

func checkSays(want, session string, m *moment) outcome {
	r := m.lastRun(session)
	switch {
	case r == nil:
		return unseen("a run", "none in the evidence")
	case r.step.Error == nil:
		return failed(finding{where: "the step " + stepWords(r.step), want: "a failure that says " + quote(want), got: "success"})
	case !strings.Contains(r.step.Error.Message, want):
		return failed(finding{where: "the message of " + stepWords(r.step), want: "text that contains " + quote(want), got: quote(r.step.Error.Message)})
	}
	return passed()
}

func checkInvocations(want int, session string, m *moment) outcome {
	r := m.lastRun(session)
	switch {
	case r == nil:
		return unseen("a run", "none in the evidence")
	case len(r.feeds) != want:
		return failed(finding{where: "the step " + stepWords(r.step), want: count(want, "invocation"), got: count(len(r.feeds), "invocation")})
	case want == 0 && m.invoked() == 0:
		return unseen("a run that is known to invoke the handler when it should", "no invocation in the whole case")
	}
	return passed()
}

// checkWaited bounds how long the last run took.
func checkWaited(want casefile.Waited, session string, m *moment) outcome {
	r := m.lastRun(session)
	if r == nil {
		return unseen("a run", "none in the evidence")
	}
	scale := m.e.TimeScale
	if scale == 0 {
		scale = 1
	}
	took := time.Duration(r.step.TookMS) * time.Millisecond
	f := finding{where: "the step " + stepWords(r.step), got: "it took " + took.String()}
	least, most := time.Duration(want.AtLeast), time.Duration(float64(want.AtMost)*scale)
	switch {
	case took < least:
		f.want = "it takes at least " + least.String()
	case most > 0 && took > most:
		f.want = "it takes at most " + most.String()
	case m.invoked() == 0:
		return unseen("a run that is known to invoke the handler when it should", "no invocation in the whole case")
	default:
		return passed()
	}
	return failed(f)
}
