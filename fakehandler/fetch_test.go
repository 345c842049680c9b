package fakehandler

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/transcript"
)

// servers stands for the two servers of section 7; it keeps what was asked of it.
type servers struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	heads []http.Header
}

func serve(t *testing.T, handler http.HandlerFunc) *servers {
	t.Helper()
	s := &servers{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.RequestURI)
		s.heads = append(s.heads, r.Header.Clone())
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// seen is what was asked, in order, with the heads.
func (s *servers) seen() ([]string, []http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...), append([]http.Header(nil), s.heads...)
}

func objects(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", "now")
	switch r.URL.Path {
	case "/sha256:a":
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip") // and the body is none: nothing may be decoded on the way
		_, _ = w.Write([]byte("alpha"))
	case "/sha256:b":
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	case "/sha256:cut":
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "/memories/team/ops/a b":
		_, _ = w.Write([]byte("value"))
	default:
		http.NotFound(w, r)
	}
}

func (s *servers) input() string {
	return `{"event":"memory","url":"` + s.URL + `/memories/"}` +
		`{"name":"a","url":"` + s.URL + `/sha256:old"}{"name":"a","event":"push","url":"` + s.URL + `/sha256:a"}` +
		`{"name":"b","url":"` + s.URL + `/sha256:b"}{"name":"inline","data":"eA=="}` +
		`{"name":"cut","url":"` + s.URL + `/sha256:cut"}{"event":"start"}`
}

// exchange is what the record says of one request.
type exchange struct {
	Asked    string
	Stream   string
	Status   int
	Encoding string
	Body     string
	Length   int64
	Cut      bool
}

func exchanges(record *transcript.Transcript) []exchange {
	byNumber := map[int]*exchange{}
	var order []int
	for _, e := range record.Events {
		if e.HTTP == nil || e.Stream != transcript.Objects && e.Stream != transcript.Memory {
			continue
		}
		switch x := byNumber[e.HTTP.Exchange]; e.Kind {
		case transcript.Request:
			byNumber[e.HTTP.Exchange] = &exchange{Asked: e.HTTP.Method + " " + e.HTTP.Target, Stream: e.Stream}
			order = append(order, e.HTTP.Exchange)
		case transcript.Response:
			x.Status, x.Length, x.Cut = e.HTTP.Status, e.HTTP.Length, e.HTTP.Cut
			x.Encoding = http.Header(e.HTTP.Header).Get("Content-Encoding")
		case transcript.Received:
			x.Body = string(e.Data)
		}
	}
	var all []exchange
	for _, n := range order {
		all = append(all, *byNumber[n])
	}
	return all
}

func TestFetchesAreMadeAndRecorded(t *testing.T) {
	s := serve(t, objects)
	f := lay(t, turn1(
		Op{Fetch: &Fetch{Entries: true}}, Op{Fetch: &Fetch{Name: "a"}}, Op{Fetch: &Fetch{Object: "%2e%2e/../secret"}},
		Op{Fetch: &Fetch{Memory: "team/ops/a b"}}, Op{Fetch: &Fetch{Name: "a", Method: "DELETE"}},
		Op{Fetch: &Fetch{Name: "inline"}}, Op{Fetch: &Fetch{Name: "nobody"}}, Op{Emit: &Emit{Name: "n"}}))
	require.Equal(t, finished{Stdout: "{\"name\":\"n\"}\n"}, f.run(t, s.input()))
	asked, _ := s.seen()
	requireDiff(t, "asked", []string{
		"GET /sha256:old", "GET /sha256:a", "GET /sha256:b", "GET /sha256:cut", "GET /sha256:a", "GET /%2e%2e/../secret",
		"GET /memories/team/ops/a%20b", "DELETE /sha256:a",
	}, asked)
	const none = "404 page not found\n"
	requireDiff(t, "recorded", []exchange{
		{Asked: "GET /sha256:old", Stream: "objects", Status: 404, Body: none, Length: 19},
		{Asked: "GET /sha256:a", Stream: "objects", Status: 200, Encoding: "gzip", Body: "alpha", Length: 5},
		{Asked: "GET /sha256:b", Stream: "objects", Status: 302},
		{Asked: "GET /sha256:cut", Stream: "objects", Status: 200, Body: "half", Length: 4, Cut: true},
		{Asked: "GET /sha256:a", Stream: "objects", Status: 200, Encoding: "gzip", Body: "alpha", Length: 5},
		{Asked: "GET /%2e%2e/../secret", Stream: "objects", Status: 404, Body: none, Length: 19},
		{Asked: "GET /memories/team/ops/a%20b", Stream: "memory", Status: 200, Body: "value", Length: 5},
		{Asked: "DELETE /sha256:a", Stream: "objects", Status: 200, Encoding: "gzip", Body: "alpha", Length: 5},
	}, exchanges(f.last(t)))
	var notes []string
	for _, e := range f.last(t).Events {
		if e.Kind == transcript.Note {
			notes = append(notes, e.Text)
		}
	}
	requireDiff(t, "notes", []string{"working folder: /", `fetch: no entry "inline" with a url was read`,
		`fetch: no entry "nobody" with a url was read`}, notes)
}

func TestParallelFetchesAreAtTheSameTime(t *testing.T) {
	var together sync.WaitGroup
	together.Add(6)
	var served atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if served.Add(1) <= 6 { // each of the first six waits for the other five
			together.Done()
			together.Wait()
		}
		objects(w, r)
	})
	f := lay(t, turn1(Op{Fetch: &Fetch{Name: "a", Parallel: 6}}, Op{Fetch: &Fetch{Entries: true, Parallel: 3}}))
	require.Equal(t, finished{}, f.run(t, s.input()))
	require.Len(t, exchanges(f.last(t)), 6+4)
}

func TestUnreachableServersAreRecorded(t *testing.T) {
	s := serve(t, objects)
	input := s.input()
	s.Close()
	f := lay(t, turn1(Op{Fetch: &Fetch{Name: "a"}}))
	require.Equal(t, 0, f.run(t, input).Status)
	require.Contains(t, kinds(f.last(t)), "closed objects")
}

func TestARequestWithoutAnswerIsNotRepeated(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drop" {
			panic(http.ErrAbortHandler)
		}
	})
	f := lay(t, turn1(Op{Fetch: &Fetch{Name: "a"}}, Op{Fetch: &Fetch{Name: "b"}}))
	require.Equal(t, 0, f.run(t, `{"name":"a","url":"`+s.URL+`/a"}{"name":"b","url":"`+s.URL+`/drop"}{}`).Status)
	asked, _ := s.seen()
	requireDiff(t, "asked", []string{"GET /a", "GET /drop"}, asked)
	require.Contains(t, kinds(f.last(t)), "closed objects")
}

func TestFetchesCarryTheTraceOnward(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	s := serve(t, objects)
	f := lay(t, turn1(Op{Fetch: &Fetch{Name: "a"}}))
	c := start(t, []string{"TRACEPARENT=" + parent, "TRACESTATE=a=b", "HTTP_PROXY=http://127.0.0.1:1"}, nil, verbScripted, f.script, f.records)
	_, err := c.stdin.WriteString(s.input())
	require.NoError(t, err)
	c.stdin.Close()
	require.Equal(t, finished{}, c.finish(t))
	_, heads := s.seen()
	require.Len(t, heads, 1)
	require.Equal(t, parent, heads[0].Get("traceparent"))
	require.Equal(t, "a=b", heads[0].Get("tracestate"))
}

func TestKeptFetchesShareAConnection(t *testing.T) {
	var opened atomic.Int32
	s := &servers{Server: httptest.NewUnstartedServer(http.HandlerFunc(objects))}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	f := lay(t, turn1(
		Op{Fetch: &Fetch{Name: "a", Kept: true}}, Op{Fetch: &Fetch{Memory: "team/ops/a b", Kept: true}},
		Op{Fetch: &Fetch{Name: "a"}}, Op{Emit: &Emit{Name: "n"}}))
	require.Equal(t, finished{Stdout: "{\"name\":\"n\"}\n"}, f.run(t, s.input()))
	require.EqualValues(t, 2, opened.Load(), "one that is kept, and one of the plain fetch")
}
