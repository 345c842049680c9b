package stage

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// twoAtATime is a case that plays two invocations at the same time.
func twoAtATime() *casefile.Handler {
	beside := stream("two")
	beside.Records = slices.Insert(beside.Records, 2, fakeruntime.Record{Name: "long", Filler: 1_000_000})
	return &casefile.Handler{Input: stream("one"), Beside: &casefile.Beside{Input: beside}}
}

func TestTwoInvocationsAreInFlightAtTheSameTime(t *testing.T) {
	for _, transport := range []string{"rpc", "http"} {
		t.Run(transport, func(t *testing.T) {
			pool := &Pool{}
			defer pool.Close()
			e := Stage(t.Context(), handlerJob(t, twoAtATime(), transport, pool))
			require.Empty(t, e.Fault)
			if diff := cmp.Diff([]string{
				`beside {"data":"dHdv","content-type":"text/plain","name":"a"}`,
				`main {"data":"b25l","content-type":"text/plain","name":"a"}`,
			}, outputs(e)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
			require.NotEqual(t, e.Sessions[RoleMain], e.Sessions[RoleBeside])
			// What is held back goes out after the note, and the answer comes after that.
			var order []string
			for _, event := range e.Invocations[0].Transcript.Events {
				switch {
				case event.Text == transcript.HeldNote, event.Text == transcript.ReleasedNote:
					order = append(order, event.Text)
				case event.Kind == transcript.Sent && bytes.Contains(event.Data, []byte(`"start"`)):
					order = append(order, "start")
				case event.Kind == transcript.Response && event.Stream == transcript.Answer:
					order = append(order, "answer")
				}
			}
			if diff := cmp.Diff([]string{transcript.HeldNote, transcript.ReleasedNote, "start", "answer"}, order); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			require.Equal(t, 1, idle(pool), "both had one process")
		})
	}
}

// A handler that has written something waits for the answer that is held until the main
// invocation is over; what asks for nothing that is held has nothing to wait for.
func TestAnAnswerIsHeldUntilTheMainInvocationIsOver(t *testing.T) {
	held := func(key string) *casefile.Handler {
		c := twoAtATime()
		first := "first"
		c.Beside.Input.Records = []fakeruntime.Record{
			{Event: "memory"},
			{Instructions: []fakeruntime.Instruction{{Op: "write", Text: &first, Name: "f"}, {Op: "memory", Key: key}, {Op: "memory", Key: key}}},
			{Event: "start"},
		}
		c.Beside.Input.Memory = map[string]fakeruntime.Object{
			"facts/a": {Body: text("fact"), Serve: script.Answer{Held: true}}, "facts/b": {Body: text("fact")},
		}
		return c
	}
	notes := func(e *result.Evidence) (list []string) {
		for _, event := range e.Invocations[0].Transcript.Events {
			switch {
			case event.Text == transcript.HeldNote, event.Text == transcript.HeldAnswerNote, event.Text == transcript.ReleasedAnswerNote:
				list = append(list, event.Stream+": "+event.Text)
			case event.Kind == transcript.Response && event.Stream == transcript.Memory:
				list = append(list, "memory: answered")
			}
		}
		return list
	}
	hold := []string{"memory: " + transcript.HeldAnswerNote, "memory: " + transcript.ReleasedAnswerNote, "memory: answered"}
	for _, transport := range []string{"rpc", "http"} {
		for key, c := range map[string]struct {
			want  []string
			roles []string
		}{
			"facts/a": {slices.Concat(hold, hold), []string{RoleBeside, RoleMain}},
			"facts/b": {[]string{"memory: answered", "memory: answered"}, []string{RoleBeside}},
		} {
			t.Run(transport+" "+key, func(t *testing.T) {
				pool := &Pool{}
				defer pool.Close()
				e := Stage(t.Context(), handlerJob(t, held(key), transport, pool))
				require.Empty(t, e.Fault)
				if diff := cmp.Diff(c.want, notes(e)); diff != "" {
					t.Errorf("of the answers (-want +got):\n%s", diff)
				}
				var roles []string
				for _, i := range e.Invocations {
					roles = append(roles, i.Role)
				}
				require.Equal(t, c.roles, roles)
				for _, end := range ends(e) {
					require.Equal(t, transcript.HowAnswer, end)
				}
			})
		}
	}
}

// serial takes one request at a time, from its head to its end.
func serial() http.Handler {
	var turn sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		fakehandler.ConformHandler().ServeHTTP(w, r)
	})
}

func TestAHandlerThatTakesOneRequestAtATimeHangsInTheMainInvocation(t *testing.T) {
	pool := &Pool{}
	defer pool.Close()
	job := handlerJob(t, twoAtATime(), "http", pool)
	job.Handler = &HandlerSubject{Name: "serial", Served: serial()}
	job.Case.Limit = script.Duration(time.Second)
	began := time.Now()
	e := Stage(t.Context(), job)
	require.Less(t, time.Since(began), 5*time.Second)
	require.Empty(t, e.Fault)
	require.Equal(t, []string{transcript.HowAnswer, transcript.HowHang}, ends(e), "the other one is answered behind it")
	require.Equal(t, []string{"beside"}, e.Steps[0].Args)
	require.Equal(t, []string{"main"}, e.Steps[1].Args)
}

func ends(e *result.Evidence) (list []string) {
	for _, i := range e.Invocations {
		list = append(list, i.Transcript.Ended().How)
	}
	return list
}

func TestAHandlerThatIsNotReadyForOneIsNotAskedForTwo(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		limit   time.Duration
		want    string
	}{
		"it answers early":   {func(w http.ResponseWriter, _ *http.Request) {}, 20 * time.Second, transcript.HowAnswer},
		"it never reads":     {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 300 * time.Millisecond, transcript.HowHang},
		"it ends in between": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 20 * time.Second, transcript.HowNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &Pool{}
			defer pool.Close()
			job := handlerJob(t, twoAtATime(), "http", pool)
			job.Handler = &HandlerSubject{Name: name, Served: c.handler}
			job.Case.Limit = script.Duration(c.limit)
			e := Stage(t.Context(), job)
			require.Empty(t, e.Fault)
			require.Equal(t, []string{c.want}, ends(e))
		})
	}
}
