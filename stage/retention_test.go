package stage

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

func TestEarlierServersOfACaseStayUpUntilItIsOver(t *testing.T) { // P7/no-retention
	root := ""
	retainer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var first struct{ URL string }
		if json.NewDecoder(r.Body).Decode(&first) == nil && root == "" {
			root = first.URL
		}
		io.Copy(io.Discard, r.Body)
		if answer, err := http.Get(root + "facts/a"); err == nil {
			answer.Body.Close()
		}
	})
	pool := &Pool{}
	defer pool.Close()
	text := "the fact"
	job := handlerJob(t, &casefile.Handler{
		KeepServers: true, Invocations: 2,
		Input: fakeruntime.Script{
			Records: []fakeruntime.Record{{Event: "memory"}, {Event: "start"}},
			Memory:  map[string]fakeruntime.Object{"facts/a": {Body: script.Body{Text: &text}}},
		},
		Control: &casefile.Control{Input: fakeruntime.Script{
			Memory: map[string]fakeruntime.Object{"facts/a": {Body: script.Body{Text: &text}}},
		}},
	}, protocol.TransportHTTP, pool)
	job.Handler = &HandlerSubject{Name: "retainer", Served: retainer}
	e := Stage(t.Context(), job)
	require.Empty(t, e.Fault)
	require.Len(t, e.Invocations, 3)
	answered := func(i int, stream string) (n int) {
		for _, event := range e.Invocations[i].Transcript.Events {
			if event.Kind == transcript.Response && event.Stream == stream && event.HTTP.Status == http.StatusOK {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, answered(0, transcript.Memory), "the control has asked its own server")
	for i := 1; i < 3; i++ {
		require.Zero(t, answered(i, transcript.Memory))
		require.Equal(t, 1, answered(i, transcript.EarlierMemory), "invocation %d has asked the control's server, which answers still", i)
	}
	_, err := http.Get(root)
	require.Error(t, err, "the servers end with the case")
}

func TestTheInvocationsOfACaseAreServedByOneProcess(t *testing.T) {
	pool := &Pool{}
	defer pool.Close()
	job := handlerJob(t, &casefile.Handler{Input: stream("one"), Invocations: 2}, protocol.TransportRPC, pool)
	h := &held{}
	first, err := h.lend(t.Context(), job, nil)
	require.NoError(t, err)
	require.Zero(t, idle(pool), "another case can't take the process meanwhile")
	second, err := h.lend(t.Context(), job, nil)
	require.NoError(t, err)
	require.Equal(t, first, second)
	_, err = h.lend(t.Context(), job, map[string]string{"A": "b"})
	require.NoError(t, err)
	require.Equal(t, 1, idle(pool), "other variables need another process")
	h.letGo()
	require.Equal(t, 1, idle(pool), "which is of no use to other cases")
}
