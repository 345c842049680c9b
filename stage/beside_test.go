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
