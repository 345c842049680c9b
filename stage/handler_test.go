package stage

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/subject"
	"pugmark.dev/conform/transcript"
)

// handler is the reference handler on every transport, as a program of this test.
func handler(t *testing.T) *HandlerSubject {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	command := func(args ...string) *subject.ResolvedCommand {
		return &subject.ResolvedCommand{
			Args: append([]string{program, conform}, args...), Env: []string{"GORACE=" + quickExit}, URL: "http://127.0.0.1:{port}/",
		}
	}
	return &HandlerSubject{Name: "tested", Subprocess: command(), RPC: command(), HTTP: command("127.0.0.1:{port}")}
}

func handlerJob(t *testing.T, c *casefile.Handler, transport string, pool *Pool) Job {
	t.Helper()
	return Job{
		Case:      &casefile.Case{ID: "handler/area/fact", Kind: casefile.KindHandler, Handler: c, Limit: script.Duration(20 * time.Second)},
		Transport: transport, Handler: handler(t), Pool: pool,
	}
}

func stream(text string) fakeruntime.Script {
	return fakeruntime.Script{Records: []fakeruntime.Record{
		{Event: "memory"},
		{Instructions: []fakeruntime.Instruction{{Op: "write", Text: &text, Name: "a"}}},
		{Event: "start"},
	}}
}

func outputs(e *result.Evidence) (list []string) {
	for _, i := range e.Invocations {
		data, _ := i.Transcript.Outputs()
		list = append(list, i.Role+" "+strings.TrimSpace(string(data)))
	}
	return list
}

func TestAControlIsPlayedBeforeTheStreamAndTheStreamAsOftenAsTheCaseSays(t *testing.T) {
	for _, transport := range casefile.Transports() {
		t.Run(transport, func(t *testing.T) {
			pool := &Pool{}
			defer pool.Close()
			e := Stage(t.Context(), handlerJob(t, &casefile.Handler{
				Input: stream("one"), Control: &casefile.Control{Input: stream("two")}, Invocations: 2,
			}, transport, pool))
			require.Empty(t, e.Fault)
			want := []string{
				`control {"data":"dHdv","content-type":"text/plain","name":"a"}`,
				`main {"data":"b25l","content-type":"text/plain","name":"a"}`,
				`main {"data":"b25l","content-type":"text/plain","name":"a"}`,
			}
			if diff := cmp.Diff(want, outputs(e)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAControlWithoutRecordsHasThoseOfTheStream(t *testing.T) {
	pool := &Pool{}
	defer pool.Close()
	e := Stage(t.Context(), handlerJob(t, &casefile.Handler{
		Input: fakeruntime.Script{Framing: script.Framing{Chunk: 1}, Records: stream("one").Records}, Control: &casefile.Control{},
	}, "subprocess", pool))
	require.Empty(t, e.Fault)
	require.Len(t, e.Invocations, 2)
	writes := func(i int) (n int) {
		for _, event := range e.Invocations[i].Transcript.Events {
			if event.Kind == transcript.Sent && event.Stream == transcript.Stdin {
				n++
			}
		}
		return n
	}
	require.Equal(t, 3, writes(0), "the control has the plain framing: a write a record")
	data, _ := e.Invocations[1].Transcript.Inputs()
	require.Equal(t, len(data), writes(1), "the stream goes out byte by byte")
}

func spawned(e *result.Evidence) (pids map[string]bool) {
	pids = map[string]bool{}
	for _, i := range e.Invocations {
		for _, event := range i.Transcript.Events {
			if event.Kind == transcript.Environment {
				pids[event.Variables["PUGMARK_FUTURE"]] = true
			}
		}
	}
	return pids
}

// idle is how many processes wait for the next case.
func idle(pool *Pool) (n int) {
	for _, s := range pool.shelves {
		n += len(s.idle)
	}
	return n
}

func TestACaseWithVariablesStartsAProcessOfItsOwn(t *testing.T) {
	pool := &Pool{}
	defer pool.Close()
	for range 2 {
		e := Stage(t.Context(), handlerJob(t, &casefile.Handler{Input: stream("one")}, "rpc", pool))
		require.Equal(t, map[string]bool{"": true}, spawned(e))
	}
	require.Equal(t, 1, idle(pool), "the second case used the process of the first")
	e := Stage(t.Context(), handlerJob(t, &casefile.Handler{Input: stream("one"), Environment: map[string]string{"PUGMARK_FUTURE": "1"}}, "rpc", pool))
	require.Equal(t, map[string]bool{"1": true}, spawned(e))
	require.Equal(t, 1, idle(pool), "a process with variables of a case is not used again")
}

func TestAProcessThatHungIsNotUsedAgain(t *testing.T) {
	pool := &Pool{}
	defer pool.Close()
	job := handlerJob(t, &casefile.Handler{Input: stream("one")}, "rpc", pool)
	job.Handler.RPC = &subject.ResolvedCommand{Args: []string{"sleep", "600"}}
	job.Case.Limit = script.Duration(300 * time.Millisecond)
	for range 2 {
		e := Stage(t.Context(), job)
		require.Empty(t, e.Fault)
		require.Equal(t, transcript.HowHang, e.Invocations[0].Transcript.Ended().How)
		require.Zero(t, e.Invocations[0].Transcript.Ended().Left)
	}
	require.Zero(t, idle(pool))
}

func TestAHandlerOfThisProcessIsServedOverHTTP(t *testing.T) {
	pool := &Pool{}
	defer pool.Close()
	var asked atomic.Int32
	job := handlerJob(t, &casefile.Handler{Input: stream("one")}, "http", pool)
	job.Handler = &HandlerSubject{Name: "here", Served: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		fakehandler.ConformHandler().ServeHTTP(w, r)
	})}
	e := Stage(t.Context(), job)
	require.Empty(t, e.Fault)
	require.EqualValues(t, 1, asked.Load())
	if diff := cmp.Diff([]string{`main {"data":"b25l","content-type":"text/plain","name":"a"}`}, outputs(e)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestAProgramThatCannotBeStartedIsNoVerdict(t *testing.T) {
	pool := &Pool{}
	defer pool.Close()
	job := handlerJob(t, &casefile.Handler{Input: stream("one")}, "rpc", pool)
	job.Handler.RPC = &subject.ResolvedCommand{Args: []string{"no-such-program-here"}}
	e := Stage(t.Context(), job)
	require.Empty(t, e.Invocations)
	require.Contains(t, e.Steps[0].Error.Message, "no-such-program-here")
}

func TestIdentityIsTheSameInEveryRunOfACase(t *testing.T) {
	agent, snapshot := "", int64(41)
	job := handlerJob(t, &casefile.Handler{}, "http", nil)
	id, trace := identity(job, invocation{identity: &casefile.Identity{}})
	again, _ := identity(job, invocation{identity: &casefile.Identity{}})
	require.Equal(t, id, again)
	require.Equal(t, "conform-agent", id.Agent)
	require.Equal(t, "00-"+id.Session, trace.Parent[:35], "the session ID is the trace ID (P14.1/session-trace-id)")
	given, _ := identity(job, invocation{identity: &casefile.Identity{Agent: &agent, Snapshot: &snapshot, Session: strings.Repeat("a", 32)}})
	require.Equal(t, "", given.Agent)
	require.EqualValues(t, 41, given.Snapshot)
	require.Equal(t, strings.Repeat("a", 32), given.Session)
}
