package judge

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/transcript"
)

// registry is the real one: levels are part of what is tested.
func registry(t *testing.T) *spec.Spec {
	t.Helper()
	s, err := spec.Load()
	require.NoError(t, err)
	return s
}

// parse reads a case by the loader that runs use.
func parse(t *testing.T, s *spec.Spec, name, text string) *casefile.Case {
	t.Helper()
	c, problems := casefile.LoadFile(fstest.MapFS{name: {Data: []byte(text)}}, name, s)
	require.Empty(t, problems)
	return c
}

// loose reads a case of one block without the lint of the loader, which refuses
// cases that only show how one key is judged.
func loose(t *testing.T, text string) *casefile.Case {
	t.Helper()
	var c struct {
		Covers  []string
		Handler casefile.Handler       `yaml:",inline"`
		Expect  casefile.HandlerExpect `yaml:"expect"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &c))
	c.Handler.Expect = []casefile.HandlerExpect{c.Expect}
	return &casefile.Case{ID: "handler/x/part", Kind: "handler", Covers: c.Covers, Handler: &c.Handler}
}

// b64 is the data field of a text.
func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// answerRecord is an answer of the agreement.
func answerRecord(name, body string) string {
	return fmt.Sprintf(`{"name":%q,"content-type":"application/json","data":%q}`, name, b64(body)) + "\n"
}

// invoked is evidence of one invocation of a handler: what it wrote, and how it
// ended, changed by the mods.
func invoked(role, stdout string, mods ...func(*result.Invocation)) result.Invocation {
	inv := result.Invocation{Role: role, Objects: map[string]string{}, Transcript: transcript.Transcript{
		By: "fakeruntime", Transport: "subprocess",
		Events: []transcript.Event{
			{Kind: transcript.Environment, Variables: map[string]string{"TRACEPARENT": "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"}},
			{Kind: transcript.Sent, Stream: transcript.Stdin, Data: transcript.Bytes("{}\n")},
			{Kind: transcript.Closed, Stream: transcript.Stdin, Text: "by us"},
		},
	}}
	if stdout != "" {
		inv.Transcript.Events = append(inv.Transcript.Events, transcript.Event{Kind: transcript.Received, Stream: transcript.Stdout, Data: transcript.Bytes(stdout)})
	}
	ended(transcript.Ended{How: transcript.HowExit})(&inv)
	for _, mod := range mods {
		mod(&inv)
	}
	return inv
}

// ended replaces how the invocation ended.
func ended(e transcript.Ended) func(*result.Invocation) {
	return func(inv *result.Invocation) {
		events := inv.Transcript.Events
		if n := len(events); n > 0 && events[n-1].Ended != nil {
			events = events[:n-1]
		}
		inv.Transcript.Events = append(events, transcript.Event{Kind: transcript.Exited, Ended: &e})
	}
}

// saw puts an event before the end.
func saw(e transcript.Event) func(*result.Invocation) {
	return func(inv *result.Invocation) {
		events := inv.Transcript.Events
		last := events[len(events)-1]
		inv.Transcript.Events = append(append(events[:len(events)-1:len(events)-1], e), last)
	}
}

// asked is a request to a server of section 7.
func asked(stream, method, target string, header map[string][]string) func(*result.Invocation) {
	return saw(transcript.Event{Kind: transcript.Request, Stream: stream, HTTP: &transcript.HTTP{Exchange: 1, Method: method, Target: target, Header: header}})
}

func stderr(text string) func(*result.Invocation) {
	return saw(transcript.Event{Kind: transcript.Received, Stream: transcript.Stderr, Data: transcript.Bytes(text)})
}

func evidence(invocations ...result.Invocation) *result.Evidence {
	return &result.Evidence{Kind: "handler", Transport: "subprocess", Features: []string{"instructions"}, Invocations: invocations}
}

// tells lists the checks as "id: verdict".
func tells(c result.Case) (list []string) {
	for _, k := range c.Checks {
		list = append(list, k.ID+": "+string(k.Verdict))
	}
	return list
}

// all is everything that the checks and the reason say.
func all(c result.Case) string {
	var b strings.Builder
	fmt.Fprintln(&b, c.Verdict, c.Reason)
	for _, k := range c.Checks {
		fmt.Fprintf(&b, "%s %s %s\n  where %s\n  want %s\n  got %s\n%s\n", k.ID, k.Requirement, k.Verdict, k.Where, k.Want, k.Got, k.Diff)
	}
	return b.String()
}
