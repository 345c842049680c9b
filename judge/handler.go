package judge

import (
	"fmt"
	"slices"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// The roles of invocations in a handler case.
const (
	roleMain    = "main"
	roleControl = "control"
	roleBeside  = "beside"
)

// handlerCase judges a handler case.
type handlerCase struct {
	*ledger
	c *casefile.Case
	e *result.Evidence

	mains    []*invocation
	controls []*invocation
	// besides is the invocation that was in flight beside the main one, if the case has
	// one.
	besides []*invocation
	// held: there was a control, and it held.
	held bool
}

// planned is a check of an expectation block.
type planned struct {
	id string
	// block is the number of the block, from 0.
	block int
	part
}

func (h *handlerCase) judge() {
	plan := h.plans("", h.c.Handler.Expect)
	var beside []planned
	if b := h.c.Handler.Beside; b != nil {
		beside = h.plans(roleBeside+"/", b.Expect)
	}
	if !h.premises(h.c, h.e) || !h.take() {
		return
	}
	for _, v := range h.controls {
		if !h.sound(v, nil) || !h.supported(v) || !h.control(v) {
			h.breaches()
			return
		}
	}
	h.held = len(h.controls) > 0
	for _, v := range slices.Concat(h.besides, h.mains) {
		plan := plan
		if v.inv.Role == roleBeside {
			plan = beside
		}
		v.proven = v.proven || h.held || h.shown(v)
		if !h.sound(v, plan) || !h.supported(v) || !h.inFlight(v) {
			h.void()
			break
		}
		h.hold(v, plan)
	}
	h.breaches()
}

// hold holds one invocation against the checks of each block, in order of cause. An
// invocation that failed where its block wants a success explains what else is
// missing: the exit is then the finding, and what it brought about says nothing.
func (h *handlerCase) hold(v *invocation, plan []planned) {
	failedBlock := -1
	for _, p := range plan {
		o := v.prove(p.part)
		switch {
		case p.key == "exit" && o.verdict == result.Fail && !v.ended.Success():
			failedBlock = p.block
		case p.block == failedBlock && o.verdict == result.Fail && !p.stream:
			o = unseen(o.want, o.got)
		}
		h.settle(p.id, o)
	}
}

// plans lists the checks of the blocks of an invocation.
func (h *handlerCase) plans(of string, blocks []casefile.HandlerExpect) (plan []planned) {
	for i := range blocks {
		b := &blocks[i]
		prefix := of
		if len(blocks) > 1 {
			prefix += fmt.Sprintf("%d/", i+1)
		}
		for _, p := range h.parts(b) {
			requirement := p.requirement
			if requirement == "" {
				requirement = citing(h.c, b.Requirement)
			}
			id := h.plan(prefix+p.key, requirement, readings(h.c.Readings, b.Readings))
			plan = append(plan, planned{id, i, p})
		}
	}
	return plan
}

// citing returns the requirement that a block is about: its own, or the first one
// that the case covers.
func citing(c *casefile.Case, own string) string {
	switch {
	case own != "":
		return own
	case len(c.Covers) > 0:
		return c.Covers[0]
	}
	return ""
}

// take sorts the recorded invocations.
func (h *handlerCase) take() bool {
	wanted := max(h.c.Handler.Invocations, 1)
	number := 0
	for i := range h.e.Invocations {
		inv := &h.e.Invocations[i]
		if inv.Role == roleControl {
			h.controls = append(h.controls, view(inv, "control"))
			continue
		}
		if inv.Role == roleBeside {
			h.besides = append(h.besides, view(inv, roleBeside))
			continue
		}
		number++
		name := ""
		if wanted > 1 {
			name = fmt.Sprintf("invocation %d", number)
		}
		h.mains = append(h.mains, view(inv, name))
	}
	for _, s := range h.e.Steps {
		if s.Verb == "invoke" && s.Error != nil {
			h.halt(result.NotTestable, "the handler could not be started: "+s.Error.Message)
			return false
		}
	}
	if h.e.TimedOut != "" && len(h.mains) == 0 {
		h.halt(result.Hang, "the case was still running after "+h.e.TimedOut)
		return false
	}
	if h.c.Handler.Control != nil && len(h.controls) == 0 {
		h.halt(result.HarnessError, "the evidence holds no control invocation")
		return false
	}
	if h.c.Handler.Beside != nil && len(h.besides) == 0 && len(h.mains) > 0 {
		h.halt(result.HarnessError, "the evidence holds no invocation beside the main one")
		return false
	}
	if len(h.mains) < wanted {
		// A control, or an invocation that never came to its end, explains it.
		for _, v := range slices.Concat(h.controls, h.besides, h.mains) {
			if v.ended != nil && (!v.ended.Success() || v.inv.Role == roleBeside && !v.waited()) {
				return true
			}
		}
		h.halt(result.HarnessError, fmt.Sprintf("the evidence holds %d invocations, the case wants %d", len(h.mains), wanted))
		return false
	}
	return true
}

// sound looks at the premises of one invocation: it was started, it ended by
// itself, and its stream can be read. plan is nil for a control.
func (h *handlerCase) sound(v *invocation, plan []planned) bool {
	switch {
	case v.ended == nil && h.e.TimedOut != "":
		h.halt(result.Hang, v.where("the handler was still running after "+h.e.TimedOut))
	case v.ended == nil:
		h.halt(result.HarnessError, v.where("the transcript ends before the handler does"))
	case v.ended.Left > 0:
		h.halt(result.HarnessError, v.where(fmt.Sprintf("left over of the handler: %s", count(v.ended.Left, "process"))))
	case v.ended.How == transcript.HowCancelled:
		h.halt(result.NotRun, v.where("the run was ended before the case was over"))
	case v.ended.How == transcript.HowNotStarted:
		h.halt(result.NotTestable, v.where("the handler "+v.end()))
	case v.ended.How == transcript.HowHang && len(h.besides) > 0 && v.inv.Role == roleMain:
		h.halt(result.Hang, "the subject claims the feature concurrent, and gave no answer while another invocation was in flight: the handler was "+h.hang(v))
	case v.ended.How == transcript.HowHang:
		h.halt(result.Hang, v.where("the handler was "+h.hang(v)))
	case v.ended.How == transcript.HowFlood:
		h.halt(result.Crash, v.where("the handler "+v.end()))
	case v.left > 0:
		h.halt(result.NotTestable, v.where(v.cutText()))
	case v.ended.How == transcript.HowSignal && !slices.ContainsFunc(h.blocks(v), admitsDeath):
		h.halt(result.Crash, v.where("the handler was "+v.end()))
	}
	if h.stop != nil {
		return false
	}
	if v.stream.unreadable {
		// The stream rules that a case asks for are judged even then: one of them is
		// the cause.
		for _, p := range plan {
			if p.stream {
				if o := p.judge(v); o.verdict == result.Fail {
					h.settle(p.id, o)
				}
			}
		}
		h.halt(result.NotTestable, v.where("the stream can't be read from its first fault on"))
		return false
	}
	return true
}

// cutText says what of a long output stream was not recorded. Nothing is said of a
// handler by bytes that are not there: what the head of the stream breaks is found all
// the same.
func (v *invocation) cutText() string {
	head, left := v.t.Outputs()
	kept := "the head is"
	if len(v.t.Tail(v.t.OutputStream())) > 0 {
		kept = "head and end are"
	}
	return fmt.Sprintf("the handler wrote %d bytes to %s, of which only %s recorded: what it wrote can't be judged",
		int64(len(head))+left, v.output(), kept)
}

// hang says how long a handler was given, where the record does not.
func (h *handlerCase) hang(v *invocation) string {
	words := v.end()
	if v.ended.Detail == "" && h.c.Limit > 0 {
		scale := h.e.TimeScale
		if scale == 0 {
			scale = 1
		}
		words += fmt.Sprintf(", after %s", time.Duration(float64(h.c.Limit)*scale))
	}
	return words
}

// admitsDeath reports whether a block admits that the handler dies: an exit by a
// signal is a way to end that is no success.
func admitsDeath(b casefile.HandlerExpect) bool {
	return b.Exit == exitFailure || b.Exit == exitAny || slices.ContainsFunc(b.AnyOf, admitsDeath)
}

// control holds the control against its expectations, which are premises.
func (h *handlerCase) control(v *invocation) bool {
	expect := &h.c.Handler.Control.Expect
	v.proven = v.proven || shownBy(expect, v)
	for _, p := range h.parts(expect) {
		if o := v.prove(p); o.verdict != result.Pass {
			reason := fmt.Sprintf("can't be judged: the control, an invocation which shows that the handler is at work, did not hold, %s: wanted %s, got %s", p.key, o.want, o.got)
			if o.where != "" {
				reason += " (" + o.where + ")"
			}
			h.haltAt(result.NotTestable, o.where, reason)
			return false
		}
	}
	return true
}

// shown reports whether some text that the case waits for on stderr is there,
// which proves that the handler was at work when nothing else does.
func (h *handlerCase) shown(v *invocation) bool {
	return slices.ContainsFunc(h.blocks(v), func(b casefile.HandlerExpect) bool { return shownBy(&b, v) })
}

func shownBy(b *casefile.HandlerExpect, v *invocation) bool {
	return b.Stderr != "" && checkStderr(b.Stderr, v).verdict == result.Pass
}

// prove judges a part of a block, and lets nothing pass on an invocation that gave
// no sign of the handler's having been at work.
func (v *invocation) prove(p part) outcome {
	o := p.judge(v)
	if o.verdict == result.Pass && !v.proven && !p.selfEvident {
		return unseen("a sign that the handler was at work", v.where("the handler "+v.endWithStderr()))
	}
	return o
}

// breaches adds checks for the rules that hold in every case and were broken.
func (h *handlerCase) breaches() {
	for _, v := range slices.Concat(h.controls, h.besides, h.mains) {
		for _, broken := range v.stream.broken {
			h.breachOf(v, broken)
		}
		for _, r := range v.stream.records {
			if r.str("content-type") == protocol.TypeControl {
				h.breach("always/no-control-message", "P9/runtime-only", nil, finding{
					where: v.where(fmt.Sprintf("%s, record %d, byte %d", v.output(), r.number, r.offset)),
					want:  "no Output of type " + protocol.TypeControl,
					got:   clip(string(r.text), 400),
				})
			}
		}
		for _, q := range v.reqs {
			switch q.method {
			case "PUT", "POST", "DELETE":
				h.breach("always/read-only", "P7/read-only", nil, finding{
					where: v.where(q.stream + " server"),
					want:  "no PUT, POST or DELETE to the servers",
					got:   q.method + " " + clip(q.target, 200),
				})
			}
		}
	}
}

// breachOf adds the check of a broken stream rule, unless the case asks for that
// rule itself.
func (h *handlerCase) breachOf(v *invocation, broken violation) {
	requirement := casefile.StreamRules()[broken.rule]
	if v.inv.Role != roleControl && asksFor(h.blocks(v), broken.rule) {
		return
	}
	h.breach("always/"+broken.rule, requirement, ruleReadings(broken.rule), v.stream.finding(broken, v.output(), v.where))
}

func asksFor(blocks []casefile.HandlerExpect, rule string) bool {
	for _, b := range blocks {
		for _, r := range b.Stream {
			if r == rule {
				return true
			}
		}
	}
	return false
}

// ruleReadings is what the judgement of a rule rests on.
func ruleReadings(rule string) []string {
	if rule == ruleFields {
		return []string{"R37"}
	}
	return nil
}

// finding turns a violation into a finding.
func (s *stream) finding(v violation, name string, where func(string) string) finding {
	place := fmt.Sprintf("%s, byte %d", name, v.offset)
	if v.record > 0 {
		place = fmt.Sprintf("%s, record %d, byte %d", name, v.record, v.offset)
	}
	f := finding{where: where(place), want: v.want, got: v.got}
	switch {
	case v.more == 1:
		f.got += ", and once more"
	case v.more > 1:
		f.got += fmt.Sprintf(", and %d times more", v.more)
	}
	f.diff = hexAround(s.raw, v.offset)
	return f
}
