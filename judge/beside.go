package judge

import (
	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// inFlight looks at the premise of the invocation beside the main one: that it waited
// for its last record, or for an answer, while the main one was played. One that failed before says so
// in its checks.
func (h *handlerCase) inFlight(v *invocation) bool {
	if v.inv.Role == roleBeside && v.ended.Success() && !v.waited() {
		before := "before the last record was sent"
		if h.c.Handler.Beside.Input.HoldsAnswer() {
			before = "without asking for what was held back"
		}
		h.halt(result.NotTestable, v.where("the handler answered "+before+", so no two invocations were in flight at the same time"))
	}
	return h.stop == nil
}

// waited reports whether the invocation waited until the main one was over.
func (v *invocation) waited() bool {
	return v.noted(transcript.ReleasedNote) || v.noted(transcript.ReleasedAnswerNote)
}

// blocks is what the case expects of an invocation.
func (h *handlerCase) blocks(v *invocation) []casefile.HandlerExpect {
	switch v.inv.Role {
	case roleControl:
		return []casefile.HandlerExpect{h.c.Handler.Control.Expect}
	case roleBeside:
		return h.c.Handler.Beside.Expect
	}
	return h.c.Handler.Expect
}
