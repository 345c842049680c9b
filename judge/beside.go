package judge

import (
	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// inFlight looks at the premise of the invocation beside the main one: that it waited
// for its last record while the main one was played. One that failed before says so
// in its checks.
func (h *handlerCase) inFlight(v *invocation) bool {
	if v.inv.Role == roleBeside && v.ended.Success() && !v.noted(transcript.ReleasedNote) {
		h.halt(result.NotTestable, v.where("the handler answered before the last record was sent, so no two invocations were in flight at the same time"))
	}
	return h.stop == nil
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
