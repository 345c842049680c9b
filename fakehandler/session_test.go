package fakehandler

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

// runInline is one invocation in this process, without servers.
func runInline(t *testing.T, a Agreement, input string) (stream string, err error) {
	t.Helper()
	var out bytes.Buffer
	err = a.Run(t.Context(), Invocation{Input: strings.NewReader(input), Output: &out})
	return out.String(), err
}

func TestTheSmallestHandlerDoesWhatThePageSays(t *testing.T) {
	pause := `{"data":"` + b64("nothing to echo") + `","content-type":"application/vnd.pugmark.pause+text"}` + "\n"
	echo := func(text string) string {
		return `{"data":"` + b64(`{"kind":"echo","text":"`+text+`"}`) + `","content-type":"application/json"}` + "\n"
	}
	entry := func(body string) string { return `{"data":"` + b64(body) + `"}` }
	for name, c := range map[string]struct{ input, want string }{
		"an input event":           {entry(`{"kind":"input","text":"hello"}`) + `{"event":"start"}`, echo("HELLO")},
		"more members":             {entry(`{"x":1,"text":"a","kind":"input"}`) + `{"event":"wake"}`, echo("A")},
		"on a turn":                {entry(`{"kind":"input","text":"hello"}`) + `{}`, echo("HELLO")},
		"the last entry counts":    {entry(`{"kind":"input","text":"hello"}`) + entry(`{"kind":"echo","text":"HELLO"}`) + `{}`, pause},
		"no entries":               {`{"event":"start"}`, pause},
		"another kind":             {entry(`{"kind":"Input","text":"hello"}`) + `{}`, pause},
		"names in another case":    {entry(`{"Kind":"input","Text":"hello"}`) + `{}`, pause},
		"no text":                  {entry(`{"kind":"input"}`) + `{}`, pause},
		"a text that is no string": {entry(`{"kind":"input","text":7}`) + `{}`, pause},
		"JSON that is no object":   {entry(`[1]`) + `{}`, pause},
	} {
		got, err := runInline(t, Agreement{Code: Minimal}, c.input)
		require.NoError(t, err, name)
		requireDiff(t, name, c.want, got)
	}
	got, err := runInline(t, Agreement{Code: Minimal}, entry("no JSON")+`{}`)
	require.Error(t, err)
	require.Empty(t, got)
}

// renaming is a session whose entries, events, look-ups and Outputs are changed.
type renaming struct{ Session }

func (r renaming) Entries() []Entry {
	entries := r.Session.Entries()
	for i := range entries {
		if entries[i].Name != NameInstructions {
			entries[i].Name += "!"
		}
	}
	return entries
}

func (renaming) Events() []Event { return []Event{{Event: "push", Name: "e"}} }

func (r renaming) Latest(name string) (Entry, bool) {
	return Entry{Body: func(context.Context) ([]byte, error) { return []byte("not " + name), nil }}, true
}

func (r renaming) Write(out protocol.Output) error {
	out.SchemaURL = "s:"
	return r.Session.Write(out)
}

func TestCodeSeesTheSessionThatIsWrapped(t *testing.T) {
	a := Agreement{Session: func(s Session) Session { return renaming{s} }}
	got, err := runInline(t, a, `{"name":"a","data":"eA=="}{"name":"conform/instructions","data":"`+
		b64(`{"do":[{"op":"observe"},{"op":"load","name":"b","as":"text"},{"op":"write","text":"x"},{"op":"pause"}]}`)+`"}{"event":"start"}`)
	require.NoError(t, err)
	all := outputs(t, got)
	require.Len(t, all, 4)
	for _, o := range all {
		require.Equal(t, "s:", o["schema-url"])
	}
	observed := answerOf(t, finished{Stdout: strings.SplitAfter(got, "\n")[0]}, NameObserved)
	requireDiff(t, "events", []any{map[string]any{"event": "push", "name": "e"}}, observed["events"])
	requireDiff(t, "entry", map[string]any{"name": "a!", "body": "eA=="}, observed["entries"].([]any)[0])
	loaded := answerOf(t, finished{Stdout: strings.SplitAfter(got, "\n")[1]}, NameLoaded)
	requireDiff(t, "loaded", map[string]any{"name": "b", "as": "text", "found": true, "text": "not b"}, loaded)
}

func TestTheStatusTellsHowTheInvocationEnded(t *testing.T) {
	unset := func(string) string { return "" } // no session: the invocation fails
	require.Equal(t, 1, Agreement{Getenv: unset, Diagnostics: io.Discard}.Main(nil))
	var told error
	status := func(err error) int { told = err; return 0 }
	require.Equal(t, 0, Agreement{Getenv: unset, Diagnostics: io.Discard, Status: status}.Main(nil))
	require.Error(t, told)
}
