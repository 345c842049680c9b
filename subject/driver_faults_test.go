//go:build unix

package subject

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each of these ends the driver; whoever waits is told, and the next operation
// goes to a new one.
func TestADriverThatBreaksTheAgreementHasCrashed(t *testing.T) {
	const silent = "; it printed nothing on stderr"
	rt := odd(t, 1)
	for word, want := range map[string]string{
		"raw:hello":                                                        "line 1 of the driver's stdout is no answer: ",
		`raw:{"id":ID,"ok":{"entries":[]}} {}`:                             "line 1 of the driver's stdout is no answer: ",
		`raw:[]`:                                                           "line 1 of the driver's stdout is no answer: ",
		`raw:null`:                                                         "line 1 of the driver's stdout is no answer: it has no `id`: \"null\"" + silent,
		`raw:{"ok":{"entries":[]}}`:                                        "line 1 of the driver's stdout is no answer: it has no `id`: \"{\\\"ok\\\":{\\\"entries\\\":[]}}\"" + silent,
		`raw:{"id":"ID","ok":{"entries":[]}}`:                              "line 1 of the driver's stdout is no answer: ",
		`raw:{"ID":ID,"ok":{"entries":[]}}`:                                "line 1 of the driver's stdout is no answer: it has no `id`: ",
		`raw:{"id":9999,"ok":{"entries":[]}}`:                              "line 1 of the driver's stdout is no answer: there is no request 9999: ",
		`raw:{"id":0,"ok":{"entries":[]}}`:                                 "line 1 of the driver's stdout is no answer: there is no request 0: ",
		`raw:{"id":ID}`:                                                    "line 1 of the driver's stdout is no answer: it is to have one of `ok`, `error` and `unsupported`, and has 0 of them: \"{\\\"id\\\":",
		`raw:{"id":ID,"ok":null}`:                                          "line 1 of the driver's stdout is no answer: it is to have one of `ok`, `error` and `unsupported`, and has 0 of them: ",
		`raw:{"id":ID,"unsupported":false}`:                                "line 1 of the driver's stdout is no answer: it is to have one of `ok`, `error` and `unsupported`, and has 0 of them: ",
		`raw:{"id":ID,"ok":{},"unsupported":true}`:                         "line 1 of the driver's stdout is no answer: it is to have one of `ok`, `error` and `unsupported`, and has 2 of them: ",
		`raw:{"id":ID,"ok":[]}`:                                            "line 1 of the driver's stdout is no answer: `ok` is to be an object: ",
		`raw:{"id":ID,"ok":{}}`:                                            "line 1 of the driver's stdout is no answer: `ok` of log: `entries` is to be a list of objects; it is missing: ",
		`raw:{"id":ID,"ok":{"entries":{}}}`:                                "line 1 of the driver's stdout is no answer: `ok` of log: ",
		`raw:{"id":ID,"ok":{"entries":[{},7]}}`:                            "line 1 of the driver's stdout is no answer: `ok` of log: entry 2 is to be an object; it is \"7\": ",
		`raw:{"id":ID,"ok":{"entries":[]},"id":1}`:                         "line 1 of the driver's stdout is no answer: ",
		`raw:{"id":ID,"error":"bad"}`:                                      "line 1 of the driver's stdout is no answer: ",
		`raw:{"id":ID,"error":{"message":"m"}}`:                            "line 1 of the driver's stdout is no answer: the kind of an error is failed-invocation, request or internal, not empty: ",
		`raw:{"id":ID,"error":{"message":"m","kind":"crash"}}`:             "line 1 of the driver's stdout is no answer: the kind of an error is failed-invocation, request or internal, not \"crash\": ",
		`raw:{"id":ID,"error":{"message":"m","kind":"failed-invocation"}}`: "line 1 of the driver's stdout is no answer: log can't be a failed invocation: ",
		"raw:\n\nhello":                                                    "line 3 of the driver's stdout is no answer: ",
		"bytes":                                                            "line 1 of the driver's stdout is no answer: ",
		"half":                                                             "the driver's stdout ends in the middle of line 1: \"{\\\"id\\\":",
		"huge":                                                             "line 1 of the driver's stdout has more than 33554432 bytes; it begins with \"xxx",
		"dies":                                                             "the driver has ended: exit status 3; it printed\n    [... ",
		"killed":                                                           "the driver has ended: signal 9 (SIGKILL)" + silent,
		"leaves stdout open":                                               "the driver has ended: exit status 4" + silent,
		"closes stdout":                                                    "the driver has closed its stdout" + silent,
	} {
		t.Run(word, func(t *testing.T) {
			begin := time.Now()
			_, err := rt.Log(t.Context(), t.TempDir(), word)
			var failed *Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, Crash, failed.Kind, failed.Message)
			require.True(t, strings.HasPrefix(failed.Message, want), "want %s\ngot  %s", want, failed.Message)
			require.Less(t, len(failed.Message), 5000, "bounded")
			require.Less(t, time.Since(begin), long)
			requireNoChildren(t)
		})
	}
	works(t, rt)
}

func TestTheLastLinesOfADriverAreQuoted(t *testing.T) {
	rt := odd(t, 1)
	_, err := rt.Log(t.Context(), "", "dies")
	require.ErrorContains(t, err, "\n    line 2999 of many\n    [31mthe cause[0m")
	require.NotContains(t, err.Error(), "line 2900 of many")
}

func TestAnOKOfAnotherOperationIsNone(t *testing.T) {
	rt, ctx := odd(t, 1), t.Context()
	for _, test := range []struct{ op, ok, want string }{
		{"start", `{}`, "`session` is to be 32 lower-case hex digits and not all zero; it is empty"},
		{"start", `{"session":"0123456789ABCDEF0123456789ABCDEF"}`, "`session` is to be 32 lower-case hex digits and not all zero; it is \"0123456789ABCDEF0123456789ABCDEF\""},
		{"start", `{"session":"00000000000000000000000000000000"}`, "`session` is to be 32 lower-case hex digits and not all zero; it is \"00000000000000000000000000000000\""},
		{"start", `{"session":7}`, ""},
		{"push", `{"version":"1"}`, ""},
		{"push", `{"version":-1}`, "`version` is -1"},
		{"run", `{"version":1.5}`, ""},
		{"run", `{"state":"done"}`, "`state` is one of ran, idle and paused; it is \"done\""},
		{"run", `{"state":true}`, ""},
	} {
		t.Run(test.op+" "+test.ok, func(t *testing.T) {
			var err error
			switch line := `raw:{"id":ID,"ok":` + test.ok + `}`; test.op {
			case "start":
				_, err = rt.Start(ctx, StartRequest{Agent: line})
			case "push":
				err = rt.Push(ctx, PushRequest{Name: line})
			default:
				_, err = rt.Run(ctx, RunRequest{TraceParent: line})
			}
			var failed *Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, Crash, failed.Kind)
			require.True(t, strings.HasPrefix(failed.Message, "line 1 of the driver's stdout is no answer: `ok` of "+test.op+": "+test.want), failed.Message)
		})
	}
}

// What happens while nobody waits must not be lost.
func TestTheNextOperationIsToldWhatHappenedMeanwhile(t *testing.T) {
	for word, want := range map[string]string{
		"twice":        "request 1 (log) was answered before: ",
		"dies later":   "the driver has ended: exit status 5; it printed nothing on stderr",
		"closes stdin": "the driver has closed its stdin; it printed nothing on stderr",
	} {
		t.Run(word, func(t *testing.T) {
			rt := odd(t, 1)
			_, err := rt.Log(t.Context(), "", word)
			require.NoError(t, err, "the answer itself was right")
			_, err = rt.Log(t.Context(), "", "")
			var failed *Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, Crash, failed.Kind)
			require.Contains(t, failed.Message, want)
			works(t, rt)
		})
	}
}

func TestCloseTellsWhatNobodyWasTold(t *testing.T) {
	rt := unclosed(t, 1)
	_, err := rt.Log(t.Context(), "", "twice")
	require.NoError(t, err)
	err = rt.Close()
	require.ErrorContains(t, err, "close the runtime: ")
	require.ErrorContains(t, err, "request 1 (log) was answered before: ")
	requireNoChildren(t)
}

func TestACrashIsToldToEverybodyWhoSharesTheDriver(t *testing.T) {
	rt, store := odd(t, 1), t.TempDir()
	late := make(chan error, 1)
	go func() {
		_, err := rt.Run(t.Context(), RunRequest{Store: store, TraceParent: "late"})
		late <- err
	}()
	awaitFile(t, store+"/late")
	_, err := rt.Log(t.Context(), "", "dies")
	require.ErrorContains(t, err, "log: crash: the driver has ended: exit status 3")
	require.ErrorContains(t, <-late, "run: crash: the driver has ended: exit status 3")
	works(t, rt)
}
