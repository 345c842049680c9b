package fakeruntime

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// retainer is a handler that keeps the memory URL of its first invocation.
func retainer(t *testing.T) *httptest.Server {
	t.Helper()
	root := ""
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var first struct{ URL string }
		if json.NewDecoder(r.Body).Decode(&first) == nil && root == "" {
			root = first.URL
		}
		io.Copy(io.Discard, r.Body)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get(root + "facts/a")
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		w.Write(body)
	}))
	t.Cleanup(served.Close)
	return served
}

func TestKeptServersAnswerOnAndTheirRequestsAreToldApart(t *testing.T) { // P7/no-retention
	handler := retainer(t)
	before := runtime.NumGoroutine()
	kept := &Kept{}
	text := "{}"
	inv := invocation(nil)
	inv.Target = Target{URL: handler.URL}
	inv.Script.Memory = map[string]Object{"facts/a": {Body: script.Body{Text: &text}}}
	inv.Kept = kept
	again := func() transcript.Transcript {
		got, _, err := inv.Play(context.Background()) // what is kept is left behind
		require.NoError(t, err)
		return got
	}
	first, second := again(), again()
	for i, got := range []transcript.Transcript{first, second} {
		require.True(t, got.Ended().Success(), "invocation %d: %+v", i+1, got.Ended())
		require.Equal(t, "{}", output(t, got, transcript.Answer))
	}
	require.Len(t, events(first, transcript.Request, transcript.Memory), 1)
	require.Empty(t, events(first, transcript.Request, transcript.EarlierMemory))
	require.Empty(t, events(second, transcript.Request, transcript.Memory))
	earlier := events(second, transcript.Request, transcript.EarlierMemory)
	require.Len(t, earlier, 1)
	require.Equal(t, "/memories/facts/a", earlier[0].HTTP.Target)
	answers := events(second, transcript.Response, transcript.EarlierMemory)
	require.Len(t, answers, 1)
	require.Equal(t, earlier[0].HTTP.Exchange, answers[0].HTTP.Exchange)

	kept.Close()
	handler.Close()
	requireNothingLeft(t, before)
	_, err := http.Get("http://" + earlier[0].HTTP.Header["Host"][0] + "/")
	require.Error(t, err, "a closed server answers no more")
}

func TestALateRecordIsWrittenAfterItsTime(t *testing.T) {
	inv := invocation(own(t, "report"))
	inv.Script.Records[1].Late = script.Duration(300 * time.Millisecond)
	got := play(t, inv)
	sent := events(got, transcript.Sent, transcript.Stdin)
	require.Len(t, sent, 2)
	require.GreaterOrEqual(t, sent[1].At-sent[0].At, int64(290_000), "microseconds between the two writes")
}

func TestALateRecordBehindAnEmptyOneKeepsBothWaits(t *testing.T) {
	nothing := ""
	s := Script{Records: []Record{
		{Event: "memory"},
		{Raw: &nothing, Late: script.Duration(time.Second)},
		{Event: "start", Late: script.Duration(2 * time.Second)},
	}}
	s.Between, s.After = &nothing, &nothing
	out, err := Compose("handler/test", s, Roots{Objects: "http://h/", Memory: "http://h/memories/"})
	require.NoError(t, err)
	require.Len(t, out.Writes, 2)
	require.Equal(t, 3*time.Second, out.late[1])
}

func TestALateRecordHasAWriteOfItsOwn(t *testing.T) {
	s := Script{Records: []Record{{Event: "memory"}, {Event: "start", Late: script.Duration(time.Second)}}}
	s.Chunk = 5
	_, err := Compose("handler/test", s, Roots{})
	require.ErrorContains(t, err, "record 2: late: a stream that is cut into chunks")
}
