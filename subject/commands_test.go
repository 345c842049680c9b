//go:build unix

package subject

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
)

const session = "0123456789abcdef0123456789abcdef"

// tiny is the runtime of testdata.
func tiny(t *testing.T) Runtime {
	t.Helper()
	f, dir, err := Find("testdata/runtime", os.DirFS(t.TempDir()), "")
	require.NoError(t, err)
	o, err := Open(t.Context(), f, dir, t.TempDir(), nil)
	require.NoError(t, err)
	require.Regexp(t, `^Python 3`, o.Version)
	rt, err := o.Runtime()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

// wants decodes the log and compares it.
func wantLog(t *testing.T, rt Runtime, store string, want ...map[string]any) {
	t.Helper()
	text, err := rt.Log(t.Context(), store, session)
	require.NoError(t, err)
	var got struct{ Entries []map[string]any }
	require.NoError(t, json.Unmarshal(text, &got))
	if diff := cmp.Diff(want, got.Entries); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestARuntimeIsToldEverything(t *testing.T) {
	rt, store := tiny(t), filepath.Join(t.TempDir(), "not there yet")
	ctx := t.Context()
	id, err := rt.Start(ctx, StartRequest{Store: store, Session: session, Agent: "an agent", Handler: "h",
		Metadata: map[string]string{"b": "<é>", "a": "\"1\""}, Namespaces: []string{"team", "team/ops"}})
	require.NoError(t, err)
	require.Equal(t, session, id)
	require.NoError(t, rt.Push(ctx, PushRequest{Store: store, Session: session, Body: []byte("\x00\xffbody"), Name: "n", ContentType: "text/plain",
		ContentEncoding: "gzip", SchemaURL: "s", Metadata: map[string]string{"k": "v"}}))
	require.NoError(t, rt.Push(ctx, PushRequest{Store: store, Session: session}))
	command := HandlerSpec{Command: []string{"sh", "-c", "exit 0"}}
	for _, r := range []RunRequest{
		{Default: command, TraceParent: "00-1", TraceState: "a=b"},
		{Default: command, Once: true},
		{Default: HandlerSpec{URL: "http://127.0.0.1:1/"}, Once: true},
		{Default: command, Named: map[string]HandlerSpec{"py": {Command: []string{"python", "a b.py"}}, "bash": {Command: []string{"bash"}}}},
		{Named: map[string]HandlerSpec{"bash": {Command: []string{"bash"}}}},
	} {
		r.Store, r.Session = store, session
		reply, err := rt.Run(ctx, r)
		require.NoError(t, err)
		require.Equal(t, RunReply{}, reply)
	}
	type object = map[string]any
	rest := []any{"sh", "-c", "exit 0"}
	wantLog(t, rt, store,
		object{"op": "start", "session": session, "agent": "an agent", "handler": "h", "metadata": `{"a":"\"1\"","b":"<é>"}`, "namespace": []any{"team", "team/ops"}},
		object{"op": "push", "session": session, "body": "00ff626f6479", "name": "n", "type": "text/plain", "encoding": "gzip", "schema": "s", "metadata": `{"k":"v"}`},
		object{"op": "push", "session": session, "body": ""},
		object{"op": "run", "session": session, "rest": rest, "TRACEPARENT": "00-1", "TRACESTATE": "a=b"},
		object{"op": "run", "session": session, "rest": rest, "once": true},
		object{"op": "run", "session": session, "once": true, "url": "http://127.0.0.1:1/"},
		object{"op": "run", "session": session, "rest": rest, "named": []any{"bash=bash", "py=python 'a b.py'"}},
		object{"op": "run", "session": session, "named": []any{"bash=bash"}},
	)
	dump, err := rt.Inspect(ctx, store, session)
	require.NoError(t, err)
	require.JSONEq(t, `{"session":"`+session+`","version":8}`, string(dump))
	left, err := filepath.Glob(os.TempDir() + "/pugmark-push-*")
	require.NoError(t, err)
	require.Empty(t, left, "bodies")
}

func TestAnAbsentFieldIsAnAbsentOption(t *testing.T) {
	rt, store := tiny(t), t.TempDir()
	id, err := rt.Start(t.Context(), StartRequest{Store: store})
	require.NoError(t, err)
	require.Equal(t, session, id, "the runtime's own")
	wantLog(t, rt, store, map[string]any{"op": "start"})
}

func TestTheFailuresOfATinyRuntime(t *testing.T) {
	rt, store := tiny(t), t.TempDir()
	ctx := t.Context()
	var failed *Error
	err := rt.Push(ctx, PushRequest{Store: store, Session: session})
	require.ErrorAs(t, err, &failed)
	require.Equal(t, BadRequest, failed.Kind)
	require.True(t, strings.HasSuffix(failed.Message, ": exit status 1; it printed\n    there is no session "+session), failed.Message)

	_, err = rt.Start(ctx, StartRequest{Store: store})
	require.NoError(t, err)
	_, err = rt.Run(ctx, RunRequest{Store: store, Session: session, Default: HandlerSpec{Command: []string{"sh", "-c", "echo cause >&2; exit 2"}}})
	require.ErrorAs(t, err, &failed)
	require.Equal(t, FailedInvocation, failed.Kind)
	require.True(t, strings.HasSuffix(failed.Message, ": exit status 1; it printed\n    cause\n    the handler has failed"), failed.Message)

	_, err = rt.Run(ctx, RunRequest{Store: store, Session: session, Default: HandlerSpec{RPC: []string{"x"}}})
	want := &Error{"run-rpc", Unsupported, "the subject file has no `commands.run-rpc`"}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

// made is a runtime of the given templates.
func made(t *testing.T, templates map[string]Args) Runtime {
	t.Helper()
	rt, err := Commands(&File{Name: "made", Kind: KindRuntime, Commands: templates}, t.TempDir(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

func TestARuntimeThatDoesNothingHasNoSession(t *testing.T) {
	rt := made(t, map[string]Args{
		"start": {"true"}, "push": {"true", "{session}", "{body}"}, "run-once": {"true", "{session}", "{handler}"},
		"log": {"true", "{session}"}, "inspect": {"true", "{session}"},
	})
	ctx := t.Context()
	_, err := rt.Start(ctx, StartRequest{Store: "s"})
	require.EqualError(t, err, "start: crash: the last line of stdout is to be the session ID, 32 lower-case hex digits and not all zero; it is empty")
	require.NoError(t, rt.Push(ctx, PushRequest{Store: "s", Session: session}))
	_, err = rt.Run(ctx, RunRequest{Store: "s", Session: session, Once: true, Default: HandlerSpec{Command: []string{"x"}}})
	require.NoError(t, err)
	text, err := rt.Log(ctx, "s", session)
	require.NoError(t, err)
	require.Equal(t, `{"entries":[]}`, string(text))
	_, err = rt.Inspect(ctx, "s", session)
	require.EqualError(t, err, "inspect: crash: stdout is to be one JSON object, the dump; it is empty")
}

func TestAnswersThatMakeNoSenseAreQuoted(t *testing.T) {
	ctx := t.Context()
	for _, test := range []struct{ op, script, want string }{
		{"start", "echo " + session + "; echo ready", `the last line of stdout is to be the session ID, 32 lower-case hex digits and not all zero; it is "ready"`},
		{"start", "echo " + strings.ToUpper(session), `the last line of stdout is to be the session ID, 32 lower-case hex digits and not all zero; it is "0123456789ABCDEF0123456789ABCDEF"`},
		{"start", "echo 00000000000000000000000000000000", `the last line of stdout is to be the session ID, 32 lower-case hex digits and not all zero; it is "00000000000000000000000000000000"`},
		{"log", `printf '{"a":1}\n\n{"a":'`, `line 3 of stdout is to be a JSON object; it is "{\"a\":"`},
		{"log", `printf '[{"a":1}]'`, `line 1 of stdout is to be a JSON object; it is "[{\"a\":1}]"`},
		{"log", `printf '{}{}'`, `line 1 of stdout is to be a JSON object; it is "{}{}"`},
		{"log", `printf '{"a":"\377"}'`, `line 1 of stdout is to be a JSON object; it is "{\"a\":\"\xff\"}"`},
		{"inspect", "echo {} {}", `stdout is to be one JSON object, the dump; it is "{} {}"`},
		{"inspect", "echo null", `stdout is to be one JSON object, the dump; it is "null"`},
		{"inspect", "printf %0400d 7", `stdout is to be one JSON object, the dump; it is "` + strings.Repeat("0", 300) + `" and 100 bytes more`},
		{"inspect", "kill -9 $$", "sh -c 'kill -9 $$': ended by signal 9 (SIGKILL); it printed nothing on stderr"},
	} {
		t.Run(test.op+" "+test.script, func(t *testing.T) {
			rt := made(t, map[string]Args{test.op: shell(test.script)})
			var err error
			switch test.op {
			case "start":
				_, err = rt.Start(ctx, StartRequest{})
			case "log":
				_, err = rt.Log(ctx, "", "")
			default:
				_, err = rt.Inspect(ctx, "", "")
			}
			if diff := cmp.Diff(error(&Error{test.op, Crash, test.want}), err); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
}

func TestNumbersAndBytesOfALogStayAsTheyAre(t *testing.T) {
	rt := made(t, map[string]Args{"log": shell(`printf '{"size":9007199254740993,"name":"<&>","a":1,"a":2}\r\n'`)})
	text, err := rt.Log(t.Context(), "", "")
	require.NoError(t, err)
	require.Equal(t, `{"entries":[{"size":9007199254740993,"name":"<&>","a":1,"a":2}]}`, string(text))
}

func TestARunTakesTheTemplateOfItsHandler(t *testing.T) {
	command, rpc, url := HandlerSpec{Command: []string{"x"}}, HandlerSpec{RPC: []string{"x"}}, HandlerSpec{URL: "http://a"}
	named := map[string]HandlerSpec{"n": command}
	all := map[string]Args{}
	for _, op := range CommandNames() {
		all[op] = Args{"x"}
	}
	five := map[string]Args{"run": {"x"}, "run-once": {"x"}, "run-rpc": {"x"}, "run-url": {"x"}, "run-named": {"x"}}
	for _, test := range []struct {
		name      string
		templates map[string]Args
		request   RunRequest
		want      string
	}{
		{"idle", all, RunRequest{Default: command}, "run"},
		{"once", all, RunRequest{Default: command, Once: true}, "run-once"},
		{"rpc", all, RunRequest{Default: rpc}, "run-rpc"},
		{"rpc once", all, RunRequest{Default: rpc, Once: true}, "run-rpc-once"},
		{"url once", all, RunRequest{Default: url, Once: true}, "run-url-once"},
		{"named once", all, RunRequest{Default: command, Named: named, Once: true}, "run-named-once"},
		{"rpc until idle is not rpc once", five, RunRequest{Default: rpc, Once: true}, "run-rpc-once: unsupported: the subject file has no `commands.run-rpc-once`"},
		{"url until idle is not url once", five, RunRequest{Default: url, Once: true}, "run-url-once: unsupported: the subject file has no `commands.run-url-once`"},
		{"named until idle is not named once", five, RunRequest{Named: named, Once: true}, "run-named-once: unsupported: the subject file has no `commands.run-named-once`"},
		{"once is not run", map[string]Args{"run": {"x"}}, RunRequest{Default: command, Once: true}, "run-once: unsupported: the subject file has no `commands.run-once`"},
		{"run is not once", map[string]Args{"run-once": {"x"}}, RunRequest{Default: command}, "run: unsupported: the subject file has no `commands.run`"},
		{"rpc is not once", map[string]Args{"run-rpc-once": {"x"}}, RunRequest{Default: rpc}, "run-rpc: unsupported: the subject file has no `commands.run-rpc`"},
		{"named beside a URL", all, RunRequest{Default: url, Named: named}, "run-named: unsupported: beside named handlers a template takes commands only, no RPC command and no URL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := (&commands{templates: test.templates}).runTemplate(test.request)
			if err != nil {
				got = err.Error()
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestWhatACommandLineCantCarryIsUnsupported(t *testing.T) {
	rt := made(t, map[string]Args{
		"start": {"echo", "{store}"}, "push": {"true", "{session}", "{body}", "--name", "{name}", "{metadata}"}})
	ctx := t.Context()
	var failed *Error
	_, err := rt.Start(ctx, StartRequest{Metadata: map[string]string{"a": "b"}})
	require.EqualError(t, err, "start: unsupported: `commands.start` has no {metadata}, so that what the request says of it would be lost")
	err = rt.Push(ctx, PushRequest{Session: session, Name: "a\x00b"})
	require.EqualError(t, err, `push: unsupported: a command line can't carry a NUL: "a\x00b"`)
	err = rt.Push(ctx, PushRequest{Session: session, Name: strings.Repeat("x", 8<<20)})
	require.ErrorAs(t, err, &failed)
	require.Equal(t, Unsupported, failed.Kind)
	require.True(t, strings.HasPrefix(failed.Message, "the request does not fit a command line: "), failed.Message)
	err = rt.Push(ctx, PushRequest{Session: session, Metadata: map[string]string{"a": "\xff"}})
	require.EqualError(t, err, `push: unsupported: metadata "a": "\xff" is not UTF-8, which JSON has to be`)
	_, err = rt.Inspect(ctx, "", session)
	require.EqualError(t, err, "inspect: unsupported: the subject file has no `commands.inspect`")
}

func TestTheEndOfTheContextEndsTheWholeGroup(t *testing.T) {
	dir := t.TempDir()
	rt := made(t, map[string]Args{"run": shell("sleep 60 & touch " + dir + "/up; wait; : {session} {dir}")})
	rt.(*commands).templates["run"] = append(rt.(*commands).templates["run"], "{handler}")
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the case is over")
	done := make(chan error, 1)
	go func() {
		_, err := rt.Run(ctx, RunRequest{Session: session, Default: HandlerSpec{Command: []string{"x"}}})
		done <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(dir + "/up"); return err == nil }, long, 5*time.Millisecond)
	cancel(stopped)
	select {
	case err := <-done:
		require.ErrorIs(t, err, stopped)
	case <-time.After(long):
		t.Fatal("it goes on")
	}
	requireNoChildren(t)
}

func TestAFloodIsBounded(t *testing.T) {
	rt := made(t, map[string]Args{"log": shell("head -c 40000000 /dev/zero")})
	_, err := rt.Log(t.Context(), "", "")
	require.EqualError(t, err, "log: crash: sh -c 'head -c 40000000 /dev/zero': 40000000 bytes on stdout; no more than 33554432 are taken")
}

func TestNothingStartsAfterClose(t *testing.T) {
	rt := made(t, map[string]Args{"log": {"true", "{session}"}})
	require.NoError(t, rt.Close())
	_, err := rt.Log(t.Context(), "", session)
	require.ErrorIs(t, err, process.ErrEnded)
}

func TestOnlyARuntimeWithCommandsIsDrivenByThem(t *testing.T) {
	_, err := Commands(&File{Name: "a", Kind: KindRuntime, Driver: Args{"x"}}, "", "")
	require.EqualError(t, err, "subject a: it has a `driver`, and no commands")
	_, err = Commands(&File{Name: "a", Kind: KindHandler}, "", "")
	require.EqualError(t, err, "subject a: it is a handler, not a runtime")
}
