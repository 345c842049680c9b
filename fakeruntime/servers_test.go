package fakeruntime

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// world is two servers with what a script puts on them.
type world struct {
	*servers
	log    *transcript.Recorder
	client *http.Client
}

func serve(t *testing.T, s Script) *world {
	t.Helper()
	before := runtime.NumGoroutine()
	log := &transcript.Recorder{}
	servers, err := listen(s.MemoryRoot, log, nil)
	require.NoError(t, err)
	stream, err := Compose("handler/test", s, servers.roots())
	require.NoError(t, err)
	servers.serve(stream)
	transport := &http.Transport{DisableCompression: true} // F25
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		servers.close()
		requireNothingLeft(t, before)
	})
	return &world{servers: servers, log: log, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// url is the URL of the one object.
func (w *world) url() string {
	for path := range w.stream.objects {
		return w.roots().Objects + path[1:]
	}
	return ""
}

// get is an answer, read to its end.
func (w *world) get(t *testing.T, method, url string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, nil)
	require.NoError(t, err)
	res, err := w.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

// raw sends text on a connection of its own and returns all that comes back.
func raw(t *testing.T, root, text string) string {
	t.Helper()
	host, _, _ := strings.Cut(strings.TrimPrefix(root, "http://"), "/")
	conn, err := net.Dial("tcp", host)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(long)))
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(got)
}

func hello(serve script.Answer) Script {
	return Script{Records: []Record{{Name: "a", Body: text("hello"), Serve: serve}}}
}

func TestTheRightAnswer(t *testing.T) { // P7/success-response
	w := serve(t, hello(script.Answer{}))
	require.True(t, strings.HasPrefix(w.url(), "http://127.0.0.1:"), "F20: %s", w.url())
	res, body, err := w.get(t, "GET", w.url())
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "hello", body)
	require.Equal(t, "text/plain", res.Header.Get("Content-Type"))
	require.Equal(t, "5", res.Header.Get("Content-Length"))
	require.Empty(t, res.Header.Values("Content-Encoding"))
}

func TestEncodedBodiesAreServedAsStored(t *testing.T) { // F25, F26
	for name, plain := range map[string]string{"smaller when packed": strings.Repeat("a", 4096), "bigger when packed": "hello"} {
		for _, encoding := range []string{"gzip", "zstd"} {
			body := text(plain)
			body.Encoding = encoding
			w := serve(t, Script{Records: []Record{{Name: "a", Body: body}}})
			res, stored, err := w.get(t, "GET", w.url())
			require.NoError(t, err)
			require.Equal(t, encoding, res.Header.Get("Content-Encoding"))
			require.Equal(t, fmt.Sprint(len(stored)), res.Header.Get("Content-Length"), name)
			sum := sha256.Sum256([]byte(stored))
			require.True(t, strings.HasSuffix(w.url(), "/sha256:"+hex.EncodeToString(sum[:])), "%s, %s: the URL is the digest of what it serves", name, encoding)
			require.Contains(t, string(w.stream.Bytes()), fmt.Sprintf(`"size":%d,`, len(stored)))
		}
	}
}

func TestWrongAnswers(t *testing.T) {
	packed := text("other")
	packed.Encoding = "gzip"
	for name, c := range map[string]struct {
		answer  script.Answer
		status  int
		body    string
		header  string // name and wanted value
		wantErr string
	}{
		"status":        {script.Answer{Status: 500}, 500, "hello", "Content-Length: 5", ""},
		"redirect":      {script.Answer{Status: 302, Headers: map[string]string{"location": "/x"}}, 302, "hello", "Location: /x", ""},
		"no content":    {script.Answer{Status: 204}, 204, "", "Content-Length: ", ""},
		"header set":    {script.Answer{Headers: map[string]string{"content-encoding": "br"}}, 200, "hello", "Content-Encoding: br", ""},
		"type removed":  {script.Answer{Headers: map[string]string{"Content-Type": ""}}, 200, "hello", "Content-Type: ", ""},
		"no length":     {script.Answer{Headers: map[string]string{"Content-Length": ""}}, 200, "hello", "Content-Length: ", ""},
		"other body":    {script.Answer{Body: text("other one")}, 200, "other one", "Content-Length: 9", ""},
		"packed body":   {script.Answer{Body: packed, Headers: map[string]string{"Content-Encoding": ""}}, 200, "", "Content-Encoding: ", ""},
		"chunked":       {script.Answer{Chunked: true}, 200, "hello", "Content-Length: ", ""},
		"truncated":     {script.Answer{Truncate: ptr(2)}, 200, "he", "Content-Length: 5", "unexpected EOF"},
		"nothing of it": {script.Answer{Truncate: ptr(0)}, 200, "", "Content-Length: 5", "unexpected EOF"},
		"chunks cut":    {script.Answer{Truncate: ptr(3), Chunked: true}, 200, "hel", "Content-Length: ", "unexpected EOF"},
		"missing":       {script.Answer{Missing: true}, 404, "unknown key\n", "Content-Length: 12", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, hello(c.answer))
			res, body, err := w.get(t, "GET", w.url())
			if c.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.wantErr)
			}
			require.Equal(t, c.status, res.StatusCode)
			if name == "packed body" {
				require.Equal(t, "\x1f\x8b", body[:2])
			} else {
				require.Equal(t, c.body, body)
			}
			field, value, _ := strings.Cut(c.header, ": ")
			require.Equal(t, value, res.Header.Get(field), field)
			if c.answer.Chunked {
				require.Equal(t, []string{"chunked"}, res.TransferEncoding)
			}
			w.close() // so that the answer is recorded
			got := events(w.log.Transcript(By, ""), transcript.Response, transcript.Objects)
			require.Len(t, got, 1)
			require.Equal(t, c.status, got[0].HTTP.Status)
			require.EqualValues(t, len(body), got[0].HTTP.Length)
			require.Equal(t, c.wantErr != "", got[0].HTTP.Cut)
		})
	}
}

func TestDelayIsWaitedBeforeTheAnswer(t *testing.T) {
	w := serve(t, hello(script.Answer{Delay: script.Duration(60 * time.Millisecond)}))
	start := time.Now()
	_, body, err := w.get(t, "GET", w.url())
	require.NoError(t, err)
	require.Equal(t, "hello", body)
	require.GreaterOrEqual(t, time.Since(start), 60*time.Millisecond)
}

func TestADelayEndsWithTheServers(t *testing.T) {
	w := serve(t, hello(script.Answer{Delay: script.Duration(time.Hour)}))
	failed := make(chan error, 1)
	go func() {
		res, err := w.client.Get(w.url())
		if err == nil {
			res.Body.Close()
		}
		failed <- err
	}()
	for len(events(w.log.Transcript(By, ""), transcript.Request, transcript.Objects)) == 0 {
		time.Sleep(time.Millisecond)
	}
	w.close()
	require.Error(t, <-failed)
}

func TestUnknownKeysAreNotFound(t *testing.T) { // P7/unknown-404
	s := hello(script.Answer{})
	s.Memory = map[string]Object{"team/ops/k": {Body: *text("m")}}
	w := serve(t, s)
	objects, memory := w.roots().Objects, w.roots().Memory
	for _, url := range []string{
		objects, objects + "sha256:" + strings.Repeat("0", 64), strings.ToUpper(w.url()[len(w.url())-8:]),
		objects + "memories/team/ops/k", memory, memory + "team", memory + "team/ops/", memory + "team/ops/k/", memory + "team%2Fops/k",
		memory + "team/ops/K", strings.TrimSuffix(memory, "memories/") + "team/ops/k",
	} {
		if !strings.HasPrefix(url, "http") {
			url = objects + url
		}
		res, _, err := w.get(t, "GET", url)
		require.NoError(t, err)
		require.Equal(t, 404, res.StatusCode, url)
	}
}

func TestMemoryKeysAreEncodedSegmentBySegment(t *testing.T) { // R31
	w := serve(t, Script{Memory: map[string]Object{
		"a b/c": {Body: *text("space")}, "team/ops/é": {Body: *text("accent"), ContentType: "text/x"}, "p%/q+r": {Body: *text("signs")},
	}})
	root := w.roots().Memory
	require.True(t, strings.HasSuffix(root, "/memories/"), root)
	for path, want := range map[string]string{"a%20b/c": "space", "%61%20b/c": "space", "team/ops/%C3%A9": "accent", "p%25/q+r": "signs", "p%25/q%2Br": "signs"} {
		res, body, err := w.get(t, "GET", root+path)
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode, path)
		require.Equal(t, want, body, path)
	}
	res, _, err := w.get(t, "GET", root+"team/ops/%C3%A9")
	require.NoError(t, err)
	require.Equal(t, "text/x", res.Header.Get("Content-Type"))
}

func TestMemoryRootCanBeAnywhere(t *testing.T) { // R2
	w := serve(t, Script{MemoryRoot: "/x/y/", Memory: map[string]Object{"a/k": {Body: *text("m")}}})
	require.True(t, strings.HasSuffix(w.roots().Memory, "/x/y/"))
	res, body, err := w.get(t, "GET", w.roots().Memory+"a/k")
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "m", body)
	for _, root := range []string{"x/", "/x", "/a b/"} {
		_, err := listen(root, &transcript.Recorder{}, nil)
		require.ErrorContains(t, err, "memory-root")
	}
}

func TestEveryRequestIsRecordedAsItWasSent(t *testing.T) {
	w := serve(t, hello(script.Answer{}))
	path := strings.TrimPrefix(w.url(), strings.TrimSuffix(w.roots().Objects, "/"))
	got := raw(t, w.roots().Objects, "POST "+path+"?x=%20 HTTP/1.1\r\nHost: h\r\nTraceparent: t\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc")
	require.True(t, strings.HasPrefix(got, "HTTP/1.1 405 "), got)
	require.Contains(t, got, "\r\nAllow: GET, HEAD\r\n")
	list := events(w.log.Transcript(By, ""), transcript.Request, transcript.Objects)
	require.Len(t, list, 1)
	want := &transcript.HTTP{
		Exchange: 1, Method: "POST", Target: path + "?x=%20", Proto: "HTTP/1.1", Length: 3,
		Header: map[string][]string{"Host": {"h"}, "Traceparent": {"t"}, "Content-Length": {"3"}, "Connection": {"close"}},
	}
	if diff := cmp.Diff(want, list[0].HTTP); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChunkedRequestsAndExpectationsAreTaken(t *testing.T) {
	w := serve(t, hello(script.Answer{}))
	got := raw(t, w.roots().Memory, "PUT /memories/a/b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	require.True(t, strings.HasPrefix(got, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 405 "), got)
	list := events(w.log.Transcript(By, ""), transcript.Request, transcript.Memory)
	require.Len(t, list, 1)
	require.EqualValues(t, 3, list[0].HTTP.Length)
	require.Equal(t, []string{"chunked"}, list[0].HTTP.Header["Transfer-Encoding"])
}

func TestHeadHasTheHeaderAlone(t *testing.T) {
	w := serve(t, hello(script.Answer{}))
	res, body, err := w.get(t, "HEAD", w.url())
	require.NoError(t, err)
	require.Equal(t, "5", res.Header.Get("Content-Length"))
	require.Empty(t, body)
}

func TestOldClientsGetNoChunks(t *testing.T) {
	w := serve(t, hello(script.Answer{Chunked: true}))
	path := w.url()[strings.Index(w.url(), "/sha256:"):]
	got := raw(t, w.roots().Objects, "GET "+path+" HTTP/1.0\r\n\r\n")
	require.NotContains(t, got, "chunked")
	require.True(t, strings.HasSuffix(got, "\r\n\r\nhello"), got)
}

func TestOneConnectionServesManyRequests(t *testing.T) {
	w := serve(t, hello(script.Answer{Chunked: true}))
	path := w.url()[strings.Index(w.url(), "/sha256:"):]
	request := "GET " + path + " HTTP/1.1\r\nHost: h\r\n"
	got := raw(t, w.roots().Objects, request+"\r\n"+request+"\r\n"+request+"Connection: close\r\n\r\n")
	require.Equal(t, 3, strings.Count(got, "HTTP/1.1 200 OK\r\n"), got)
	require.Equal(t, 3, strings.Count(got, "2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n0\r\n\r\n"), got)
}

func TestParallelRequestsAreAnsweredAndRecorded(t *testing.T) { // P7/reachable
	w := serve(t, Script{Records: []Record{{Body: &script.Body{Repeat: &script.Repeat{Text: "0123456789", Times: 30000}}}}})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			res, err := http.Get(w.url())
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if n, err := io.Copy(io.Discard, res.Body); n != 300000 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	wg.Wait()
	http.DefaultClient.CloseIdleConnections()
	w.close()
	seen := map[int]int{}
	for _, e := range w.log.Transcript(By, "").Events {
		seen[e.HTTP.Exchange]++
	}
	require.Len(t, seen, 50)
	for exchange, n := range seen {
		require.Equal(t, 2, n, "exchange %d has a request and a response", exchange)
	}
}

func TestWhatIsNoHTTPIsRecorded(t *testing.T) {
	for _, text := range []string{"what?\r\n\r\n", "GET /100%?a HTTP/1.1\r\nHost: h\r\n\r\n"} {
		testNoHTTP(t, text)
	}
}

func testNoHTTP(t *testing.T, text string) {
	t.Helper()
	w := serve(t, hello(script.Answer{}))
	got := raw(t, w.roots().Objects, text)
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil)
	require.NoError(t, err)
	require.Equal(t, 400, res.StatusCode)
	notes := events(w.log.Transcript(By, ""), transcript.Note, transcript.Objects)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0].Text, "no HTTP")
}

func TestHeadersGoOutInTheLetterCaseOfTheScript(t *testing.T) {
	w := serve(t, hello(script.Answer{Headers: map[string]string{"content-encoding": "br", "content-length": "5"}}))
	u, err := url.Parse(w.url())
	require.NoError(t, err)
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.0\r\n\r\n", u.Path)
	require.NoError(t, err)
	raw, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(raw), "\r\ncontent-encoding: br\r\n")
	require.Equal(t, 1, strings.Count(strings.ToLower(string(raw)), "content-length"), "of its own fields the server writes one each")
}
