package judge

import (
	"bytes"
	"fmt"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/transcript"
)

// checkOwnServers wants requests to the servers of this invocation, and none to
// those of earlier ones, which the stage has kept up and answering.
func checkOwnServers(v *invocation) outcome {
	for _, e := range v.t.Events {
		if e.Kind == transcript.Request && e.HTTP != nil && (e.Stream == transcript.EarlierObjects || e.Stream == transcript.EarlierMemory) {
			return failed(finding{
				where: v.where("requests to the servers of earlier invocations, which are still up"),
				want:  "requests to the URLs of this invocation only",
				got:   fmt.Sprintf("%s %s on %s", e.HTTP.Method, clip(e.HTTP.Target, 200), e.Stream),
			})
		}
	}
	if len(v.reqs) == 0 {
		return unseen("a request to the servers of this invocation", v.where("no request at all; the handler "+v.endWithStderr()))
	}
	return passed()
}

// checkAfterLifecycle wants no Output before the last record of the input went
// out, which is late. White space is no Output. The record counts from when its
// write began: that it was sent is known only afterwards.
func checkAfterLifecycle(v *invocation) outcome {
	in, out := transcript.Stdin, transcript.Stdout
	if v.t.Transport != protocol.TransportSubprocess {
		in, out = transcript.Post, transcript.Answer
	}
	last, whole := -1, false
	for i, e := range v.t.Events {
		switch {
		case e.Stream != in:
		case e.Kind == transcript.Note && e.Text == transcript.LateNote:
			last = i
		case e.Kind == transcript.Closed && e.Text == "by us":
			whole = true
		}
	}
	for i, e := range v.t.Events {
		if e.Kind != transcript.Received || e.Stream != out || whole && i > last || len(bytes.TrimSpace(e.Data)) == 0 {
			continue
		}
		return failed(finding{
			where: v.where(fmt.Sprintf("%s, %d ms after the start", v.output(), e.At/1000)),
			want:  "no Output before the lifecycle event, the last record, was sent",
			got:   "Outputs before it: " + quoteBytes(e.Data),
		})
	}
	if !whole {
		return unseen("an input that was sent to its end", v.where("the handler "+v.endWithStderr()))
	}
	return passed()
}
