package judge

import (
	"fmt"
	"slices"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

// The features of the agreements with subjects that decide what "I can't do this"
// means.
const (
	featureInstructions = "instructions"
	featureInspect      = "inspect"
)

// unsupported is the body of conform/unsupported.
type unsupported struct {
	Op    string `json:"op"`
	Field string `json:"field"`
}

// feature returns the feature that an operation, or one of its fields, belongs
// to in the agreement with a handler subject.
func (u unsupported) feature() string {
	if u.Op == "observe" && u.Field == "events" {
		return "typed-events"
	}
	return orElse(casefile.InstructionFeature(u.Op, u.Field), orElse(casefile.InstructionFeature(u.Op, ""), featureInstructions))
}

// supported looks for answers that say that the subject can't do what the case
// asks. It reports whether the judging goes on.
func (h *handlerCase) supported(v *invocation) bool {
	for _, r := range v.answer(nameUnsupported) {
		var u unsupported
		if err := readAnswer(r, &u); err != nil || u.Op == "" {
			h.halt(result.NotTestable, v.where("an answer conform/unsupported that names no op: "+clip(string(r.text), 300)))
			return false
		}
		what := "the op " + u.Op
		if u.Field != "" {
			what = fmt.Sprintf("the field %s of the op %s", u.Field, u.Op)
		}
		feature := u.feature()
		claimed := slices.Contains(h.e.Features, feature)
		where := v.where(fmt.Sprintf("%s, record %d, byte %d", v.output(), r.number, r.offset))
		switch {
		case claimed && feature == featureInstructions:
			h.halt(result.NotTestable, v.where("the handler can't do "+what+", which the agreement needs"))
		case claimed:
			h.blame(failed(finding{where: where,
				want: fmt.Sprintf("%s works, since the subject claims the feature %s", what, feature),
				got:  "conform/unsupported",
			}))
			h.halt(result.Fail, v.where(fmt.Sprintf("the subject claims the feature %s, and can't do %s", feature, what)))
		default:
			h.halt(result.NotApplicable, v.where(fmt.Sprintf("the handler can't do %s, and does not claim the feature %s", what, feature)))
		}
		return false
	}
	return true
}

// blame settles the case's first check, for what makes the whole case fail.
func (l *ledger) blame(o outcome) {
	if l.ambient < len(l.checks) {
		l.settle(l.checks[l.ambient].ID, o)
	}
}

// lacking is what an operation means that a runtime does not offer.
func lacking(verb string, args []string, features []string) (result.Verdict, string) {
	feature := verb
	if slices.Contains(args, result.WithEnvironment) {
		return result.NotApplicable, "the runtime is not started anew for a run, so that a run has no environment of its own"
	}
	switch verb {
	case "run":
		feature = "until-idle"
	case "run-once":
		feature = "once"
	case "child":
		feature = "log" // which has the fork's record
	case "start", "push":
		// Starting and pushing are the least that a runtime offers; what such a step
		// may lack is a field of it.
		return result.NotTestable, fmt.Sprintf("the runtime can't do %s %v", verb, args)
	}
	reason := fmt.Sprintf("the runtime can't do %s, and does not claim the feature %s", verb, feature)
	switch {
	case slices.Contains(features, feature):
		return result.Fail, fmt.Sprintf("the runtime claims the feature %s, and can't do %s", feature, verb)
	case feature == featureInspect:
		return result.NotApplicable, reason
	}
	return result.NotTestable, reason
}
