package judge

import (
	"slices"
	"strings"
	"testing"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

func TestOwnServers(t *testing.T) { // P7/no-retention
	text := partCase("  exit: 0\n  own-servers: true\n  observed: {entries: [{name: a}]}\n", "keep-servers: true\ninvocations: 2\n")
	text = strings.Replace(text, "P3/any-whitespace", "P7/no-retention", 1)
	stdout := observedOf(`{"entries":` + goodEntries + `}`)
	own := asked(transcript.Objects, "GET", "/sha256:aa", nil)
	looks(t, "asks its own", text, evidence(invoked("main", stdout, own), invoked("main", stdout, own)), result.Pass, "")
	for _, stream := range []string{transcript.EarlierObjects, transcript.EarlierMemory} {
		looks(t, "asks "+stream+" too", text, evidence(invoked("main", stdout, own), invoked("main", stdout, own, asked(stream, "GET", "/sha256:aa", nil))),
			result.Fail, "invocation 2, requests to the servers of earlier invocations")
	}
	looks(t, "asks an earlier one alone", text, evidence(invoked("main", stdout, own), invoked("main", stdout, asked(transcript.EarlierObjects, "GET", "/sha256:aa", nil))),
		result.Fail, "GET /sha256:aa on earlier-objects")
	looks(t, "asks none", text, evidence(invoked("main", stdout), invoked("main", stdout)), result.NotTestable, "a request to the servers of this invocation")
}

func TestAfterLifecycle(t *testing.T) { // P4.2/lifecycle-begins, R55
	text := partCase("  exit: 0\n  after-lifecycle: true\n")
	text = strings.Replace(text, "{event: start}", "{event: start, late: 1s}", 1)
	stdout := observedOf(`{"entries":` + goodEntries + `}`)
	// split is the stream in two writes, with what is said in between.
	split := func(between string, cut bool) func(*result.Invocation) {
		return func(i *result.Invocation) {
			events := []transcript.Event{{Kind: transcript.Sent, Stream: transcript.Stdin, Data: []byte("{}\n")}}
			if between != "" {
				events = append(events, transcript.Event{Kind: transcript.Received, Stream: transcript.Stdout, Data: []byte(between)})
			}
			if cut {
				events = append(events, transcript.Event{Kind: transcript.Closed, Stream: transcript.Stdin, Text: "by us: the handler had ended"})
				i.Transcript.Events = append(events, i.Transcript.Events[len(i.Transcript.Events)-1])
				return
			}
			events = append(events, transcript.Event{Kind: transcript.Note, Stream: transcript.Stdin, Text: transcript.LateNote})
			i.Transcript.Events = append(events, i.Transcript.Events...)
		}
	}
	looks(t, "waits", text, evidence(invoked("main", stdout, split("", false))), result.Pass, "")
	// The write of the last record is recorded when it is over, which can be after
	// the answer was read.
	quick := func(i *result.Invocation) {
		split("", false)(i)
		late := slices.IndexFunc(i.Transcript.Events, func(e transcript.Event) bool { return e.Text == transcript.LateNote })
		answer := transcript.Event{Kind: transcript.Received, Stream: transcript.Stdout, Data: []byte(goodOutput)}
		i.Transcript.Events = slices.Insert(i.Transcript.Events, late+1, answer)
	}
	looks(t, "answers before the write is recorded", text, evidence(invoked("main", stdout, quick)), result.Pass, "")
	looks(t, "white space is no Output", text, evidence(invoked("main", stdout, split("\n", false))), result.Pass, "")
	looks(t, "begins early", text, evidence(invoked("main", stdout, split(goodOutput, false))), result.Fail, "Outputs before it")
	looks(t, "is done early", text, evidence(invoked("main", stdout, split(goodOutput, true))), result.Fail, "Outputs before it")
	looks(t, "does nothing", text, evidence(invoked("main", "", split("", true))), result.NotTestable, "")
}
