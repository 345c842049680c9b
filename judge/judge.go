package judge

import (
	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

// Judge gives verdicts. It holds nothing but what says how binding requirements
// are, and may be used by several goroutines.
type Judge struct{ levels Levels }

// New returns a judge that knows the levels of the requirements.
func New(levels Levels) *Judge { return &Judge{levels: levels} }

// Judge holds the evidence of one run of a case against the case. The result has
// every check of the case, and one more for each rule that holds in all cases and
// was broken. Its Evidence and Rerun are for the caller to fill in.
//
// Premises come first, in order of cause: that the harness staged the case, that
// the subject could be started, ended and left a stream that can be read, and that
// the control holds. Judging stops at the first that does not hold, and what was
// not judged says not-run.
func (j *Judge) Judge(c *casefile.Case, e *result.Evidence) result.Case {
	out := result.Case{ID: c.ID, Transport: e.Transport, Why: c.Why}
	for _, s := range e.Steps {
		out.DurationMS += s.TookMS
	}
	l := &ledger{levels: j.levels}
	c = c.WithNonce(e.Nonce)
	switch {
	case c.Handler != nil:
		h := &handlerCase{ledger: l, c: c, e: e}
		h.judge()
	case c.Runtime != nil || c.Story != nil:
		r := newRuntimeCase(l, c, e)
		r.judge()
	default:
		l.halt(result.HarnessError, "the case has neither a handler nor a runtime part")
	}
	l.close(&out)
	return out
}

// premises looks at what the harness says of its own work. It reports whether the
// evidence can be judged at all.
func (l *ledger) premises(c *casefile.Case, e *result.Evidence) bool {
	switch {
	case e.Fault != "":
		l.halt(result.HarnessError, "the harness could not stage the case: "+e.Fault)
	case e.Case != "" && e.Case != c.ID:
		l.halt(result.HarnessError, "the evidence is of another case: "+e.Case)
	}
	return l.stop == nil
}
