//go:build unix

package subject

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
)

// odd is the driver of testdata, at most so many processes of it.
func odd(t *testing.T, processes int, args ...string) Runtime {
	t.Helper()
	rt := unclosed(t, processes, args...)
	t.Cleanup(func() {
		require.NoError(t, rt.Close())
		requireNoChildren(t)
	})
	return rt
}

// unclosed is odd for a test that closes it.
func unclosed(t *testing.T, processes int, args ...string) Runtime {
	t.Helper()
	f, dir, err := Find("testdata/driver", os.DirFS(t.TempDir()), "")
	require.NoError(t, err)
	f.Driver = append(f.Driver, args...)
	rt, err := Driver(f, dir, t.TempDir(), processes)
	require.NoError(t, err)
	return rt
}

// works makes sure that the runtime does, on whatever process.
func works(t *testing.T, rt Runtime) {
	t.Helper()
	text, err := rt.Log(t.Context(), "", "")
	require.NoError(t, err)
	require.Equal(t, `{"entries": []}`, string(text))
}

func entriesOf(t *testing.T, text stdjson.RawMessage) []map[string]any {
	t.Helper()
	var got struct{ Entries []map[string]any }
	require.NoError(t, stdjson.Unmarshal(text, &got))
	return got.Entries
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, long, 2*time.Millisecond)
}

func TestADriverIsToldEverything(t *testing.T) {
	f, dir, err := Find("testdata/driver", os.DirFS(t.TempDir()), "")
	require.NoError(t, err)
	o, err := Open(t.Context(), f, dir, t.TempDir(), nil)
	require.NoError(t, err)
	rt, err := o.Runtime()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })

	ctx := t.Context()
	id, err := rt.Start(ctx, StartRequest{Store: "/s", Session: session, Agent: "an agent", Handler: "h",
		Metadata: map[string]string{"b": "<é>", "a": "\"1\""}, Namespaces: []string{"team", "team/ops"}})
	require.NoError(t, err)
	require.Equal(t, session, id)
	_, err = rt.Start(ctx, StartRequest{Store: "/s"})
	require.NoError(t, err)
	require.NoError(t, rt.Push(ctx, PushRequest{Store: "/s", Session: session, Body: []byte("\x00\xffbody"), Name: "n", ContentType: "text/plain",
		ContentEncoding: "gzip", SchemaURL: "s", Metadata: map[string]string{"k": "v"}}))
	require.NoError(t, rt.Push(ctx, PushRequest{Store: "/s", Session: session}))
	_, err = rt.Run(ctx, RunRequest{Store: "/s", Session: session, Default: HandlerSpec{Command: []string{"sh", "-c", ""}},
		TraceParent: "00-1", TraceState: "a=b"})
	require.NoError(t, err)
	_, err = rt.Run(ctx, RunRequest{Store: "/s", Session: session, Once: true, Default: HandlerSpec{URL: "http://127.0.0.1:1/"},
		Named: map[string]HandlerSpec{"py": {RPC: []string{"python", "a b.py"}}}})
	require.NoError(t, err)
	_, err = rt.Inspect(ctx, "/s", session)
	require.NoError(t, err)
	text, err := rt.Log(ctx, "/s", "requests")
	require.NoError(t, err)

	type object = map[string]any
	want := []object{
		{"id": 1., "op": "start", "store": "/s", "session": session, "agent": "an agent", "handler": "h",
			"metadata": object{"b": "<é>", "a": `"1"`}, "namespaces": []any{"team", "team/ops"}},
		{"id": 2., "op": "start", "store": "/s"},
		{"id": 3., "op": "push", "store": "/s", "session": session, "body": "AP9ib2R5", "name": "n", "content-type": "text/plain",
			"content-encoding": "gzip", "schema-url": "s", "metadata": object{"k": "v"}},
		{"id": 4., "op": "push", "store": "/s", "session": session, "body": ""},
		{"id": 5., "op": "run", "store": "/s", "session": session, "once": false, "command": []any{"sh", "-c", ""},
			"traceparent": "00-1", "tracestate": "a=b"},
		{"id": 6., "op": "run", "store": "/s", "session": session, "once": true, "url": "http://127.0.0.1:1/",
			"handlers": object{"py": object{"rpc": []any{"python", "a b.py"}}}},
		{"id": 7., "op": "inspect", "store": "/s", "session": session},
		{"id": 8., "op": "log", "store": "/s", "session": "requests"},
	}
	got := entriesOf(t, text)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
	schema := schemaOf(t, "Request")
	for _, request := range got[:7] {
		require.NoError(t, schema.Validate(request))
	}
}

func TestWhatADriverAnswersIsGivenBack(t *testing.T) {
	rt := odd(t, 1)
	ctx := t.Context()
	id, err := rt.Start(ctx, StartRequest{Agent: `raw:{"more":1,"id":ID,"ok":{"session":"fedcba9876543210fedcba9876543210","a":[]},"error":null,"unsupported":false}`})
	require.NoError(t, err)
	require.Equal(t, "fedcba9876543210fedcba9876543210", id)
	require.NoError(t, rt.Push(ctx, PushRequest{Name: "raw:\n \r\n" + `{"id":ID,"ok":{"version":1}}` + "\r"}))
	reply, err := rt.Run(ctx, RunRequest{TraceParent: `raw:{"id":ID,"ok":{"version":7,"state":"paused"}}`})
	require.NoError(t, err)
	seven := int64(7)
	if diff := cmp.Diff(RunReply{Version: &seven, State: "paused"}, reply); diff != "" {
		t.Error("(-want +got)", diff)
	}
	reply, err = rt.Run(ctx, RunRequest{})
	require.NoError(t, err)
	require.Equal(t, RunReply{}, reply)
	text, err := rt.Log(ctx, "", `raw:{"id":ID,"ok":{"entries":[{"size":9007199254740993,"name":"<&>"}]}}`)
	require.NoError(t, err)
	require.Equal(t, `{"entries":[{"size":9007199254740993,"name":"<&>"}]}`, string(text), "byte for byte")
	text, err = rt.Inspect(ctx, "", `raw:{"id":ID,"ok":{"any":"thing"}}`)
	require.NoError(t, err)
	require.Equal(t, `{"any":"thing"}`, string(text))
	text, err = rt.Log(ctx, "", "large")
	require.NoError(t, err)
	require.Len(t, text, 5000000+len(`{"entries": [{"body": ""}]}`))
	_, err = rt.Log(ctx, "", "noise")
	require.NoError(t, err)
}

func TestWhatADriverDoesNotDoIsToldByKind(t *testing.T) {
	rt := odd(t, 1)
	ctx := t.Context()
	text, err := rt.Log(ctx, "", "pid")
	require.NoError(t, err)
	_, err = rt.Run(ctx, RunRequest{TraceParent: `raw:{"id":ID,"error":{"message":"exit 2","kind":"failed-invocation"}}`})
	require.Equal(t, &Error{"run", FailedInvocation, "exit 2"}, err)
	err = rt.Push(ctx, PushRequest{Name: `raw:{"id":ID,"error":{"message":"no such session","kind":"request","more":1}}`})
	require.Equal(t, &Error{"push", BadRequest, "no such session"}, err)
	_, err = rt.Inspect(ctx, "", `raw:{"id":ID,"error":{"message":"","kind":"internal"}}`)
	require.Equal(t, &Error{"inspect", Internal, "the driver gave no message"}, err)
	_, err = rt.Start(ctx, StartRequest{Agent: `raw:{"id":ID,"unsupported":true}`})
	require.Equal(t, &Error{"start", Unsupported, "the driver says that it does not support this"}, err)
	err = rt.Push(ctx, PushRequest{Metadata: map[string]string{"a": "\xff"}})
	var failed *Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, Unsupported, failed.Kind)
	again, err := rt.Log(ctx, "", "pid")
	require.NoError(t, err)
	require.Equal(t, string(text), string(again), "none of them ends the driver")
}

func TestARunMayBeAnsweredLate(t *testing.T) {
	rt, store := odd(t, 1), t.TempDir()
	done := make(chan error, 1)
	go func() {
		_, err := rt.Run(t.Context(), RunRequest{Store: store, TraceParent: "late"})
		done <- err
	}()
	awaitFile(t, store+"/late")
	require.NoError(t, rt.Push(t.Context(), PushRequest{Name: "meanwhile"}))
	select {
	case err := <-done:
		t.Fatal("it is answered already", err)
	default:
	}
	require.NoError(t, rt.Push(t.Context(), PushRequest{Name: "now"}))
	require.NoError(t, <-done)
}

func TestAProcessServesOneOperationWhileThereAreOthers(t *testing.T) {
	rt, store := odd(t, 2), t.TempDir()
	pid := func() string {
		text, err := rt.Log(t.Context(), store, "pid")
		require.NoError(t, err)
		return string(text)
	}
	first := pid()
	require.Equal(t, first, pid(), "the idle one is taken again")

	var runs sync.WaitGroup
	defer runs.Wait()
	run := func(folder string) (finish func()) {
		require.NoError(t, os.MkdirAll(folder, 0o777))
		ctx, cancel := context.WithCancel(t.Context())
		runs.Go(func() { rt.Run(ctx, RunRequest{Store: folder, TraceParent: "late"}) })
		awaitFile(t, folder+"/late")
		return cancel
	}
	defer run(store + "/1")()
	second := pid()
	require.NotEqual(t, first, second, "the first is busy")
	defer run(store + "/2")()
	require.Contains(t, []string{first, second}, pid(), "both are busy, and there must not be a third")
}

func TestARequestThatIsNeverAnsweredEndsItsDriver(t *testing.T) {
	rt, store := odd(t, 1), t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the case is over")
	done := make(chan error, 1)
	go func() {
		_, err := rt.Log(ctx, store, "never")
		done <- err
	}()
	awaitFile(t, store+"/never")
	cancel(stopped)
	require.ErrorIs(t, <-done, stopped)
	requireNoChildren(t)
	works(t, rt)
	_, err := rt.Log(ctx, "", "")
	require.ErrorIs(t, err, stopped, "nothing is asked when it is over already")
}

func TestADriverThatIsSharedOutlivesARequestThatIsGivenUp(t *testing.T) {
	rt, store := odd(t, 1), t.TempDir()
	shared := make(chan error, 1)
	go func() {
		_, err := rt.Run(t.Context(), RunRequest{Store: store, TraceParent: "waits"})
		shared <- err
	}()
	awaitFile(t, store+"/waits")
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := rt.Log(ctx, store, "never")
		given <- err
	}()
	awaitFile(t, store+"/never")
	old := rt.(*driver).usable[0]
	cancel()
	require.ErrorIs(t, <-given, context.Canceled)
	works(t, rt) // on a new one
	require.NotSame(t, old, rt.(*driver).usable[0])
	writeFile(t, store+"/go", "")
	require.NoError(t, <-shared)
	<-old.gone // and with the last answer it is ended
}

func TestADriverThatDoesNotReadHoldsNobody(t *testing.T) {
	rt := odd(t, 1)
	_, err := rt.Log(t.Context(), "", "deaf")
	require.NoError(t, err)
	p := rt.(*driver).usable[0]
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- rt.Push(ctx, PushRequest{Body: make([]byte, 1<<20)}) }()
	require.Eventually(t, func() bool { return len(p.writing) == 1 }, long, time.Millisecond)
	cancel()
	select {
	case err := <-done:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(long):
		t.Fatal("it waits for ever")
	}
	requireNoChildren(t)
	works(t, rt)
}

func TestCloseAsksADriverToQuit(t *testing.T) {
	last := filepath.Join(t.TempDir(), "last")
	rt := unclosed(t, 1, last)
	works(t, rt)
	begin := time.Now()
	require.NoError(t, rt.Close())
	require.Less(t, time.Since(begin), quitTime, "it has ended by itself")
	text, err := os.ReadFile(last)
	require.NoError(t, err)
	require.NoError(t, fits(t, "quit-request", string(text)))
	requireNoChildren(t)
	require.NoError(t, rt.Close(), "again")
	_, err = rt.Log(t.Context(), "", "")
	require.ErrorIs(t, err, process.ErrEnded)
}

func TestCloseEndsARunThatIsUnderWay(t *testing.T) {
	for name, environment := range map[string]map[string]string{"usual": nil, "with a driver of its own": {"A": "b"}} {
		t.Run(name, func(t *testing.T) {
			rt, store := unclosed(t, 1), t.TempDir()
			done := make(chan error, 1)
			go func() {
				_, err := rt.Run(t.Context(), RunRequest{Store: store, TraceParent: "never", Environment: environment})
				done <- err
			}()
			awaitFile(t, store+"/never")
			require.NoError(t, rt.Close())
			require.ErrorIs(t, <-done, process.ErrEnded)
			requireNoChildren(t)
		})
	}
}

func TestADriverThatDoesNotQuitIsEndedByForce(t *testing.T) {
	rt := unclosed(t, 1, "stubborn")
	works(t, rt)
	err := rt.Close()
	require.EqualError(t, err, "close the runtime: the driver has not ended within 2s of `quit` and the end of its stdin; it printed nothing on stderr")
	requireNoChildren(t)
}

func TestADriverThatCantBeStarted(t *testing.T) {
	rt, err := Driver(&File{Name: "a", Kind: KindRuntime, Driver: Args{"no-such-tool"}}, t.TempDir(), "", 0)
	require.NoError(t, err)
	_, err = rt.Log(t.Context(), "", "")
	require.ErrorIs(t, err, process.ErrNotFound)
	var failed *Error
	require.ErrorAs(t, err, &failed, "nor is it a refusal")
	require.Equal(t, Crash, failed.Kind)
	require.True(t, strings.HasPrefix(failed.Message, "the driver does not start: "), failed.Message)
	require.NoError(t, rt.Close())
}

func TestARunWithAnEnvironmentHasADriverOfItsOwn(t *testing.T) {
	rt, store := odd(t, 1), t.TempDir()
	t.Setenv("PUGMARK_STRAY", "ours")
	works(t, rt)
	usual := rt.(*driver).usable[0]
	seen := func(environment map[string]string) map[string]any {
		_, err := rt.Run(t.Context(), RunRequest{Store: store, TraceParent: "environment", Environment: environment})
		require.NoError(t, err)
		text, err := os.ReadFile(store + "/environment")
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, stdjson.Unmarshal(text, &got))
		return got
	}
	want := map[string]any{"PUGMARK_SESSION_ID": "stale", "PUGMARK_X": "a=b"}
	if diff := cmp.Diff(want, seen(map[string]string{"PUGMARK_SESSION_ID": "stale", "PUGMARK_X": "a=b"})); diff != "" {
		t.Error("(-want +got)", diff)
	}
	require.Empty(t, seen(nil), "and the others know nothing of it")
	require.Same(t, usual, rt.(*driver).usable[0])

	_, err := rt.Run(t.Context(), RunRequest{Store: store, TraceParent: "twice", Environment: map[string]string{"A": "b"}})
	var failed *Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, Crash, failed.Kind)
	works(t, rt)
}

func TestOnlyARuntimeWithADriverIsDrivenByIt(t *testing.T) {
	_, err := Driver(&File{Name: "a", Kind: KindRuntime}, "", "", 0)
	require.EqualError(t, err, "subject a: it has no `driver`")
	_, err = Driver(&File{Name: "a", Kind: KindHandler, Driver: Args{"x"}}, "", "", 0)
	require.EqualError(t, err, "subject a: it is a handler, not a runtime")
}
