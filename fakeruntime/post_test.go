package fakeruntime

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// overHTTP is an invocation of the handler at a URL.
func overHTTP(url string) Invocation {
	inv := invocation(nil)
	inv.Target = Target{URL: url}
	return inv
}

// peer is a handler that takes one connection and does with it what a test wants.
// The result is the URL.
func peer(t *testing.T, act func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		act(conn)
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String() + "/"
}

// answers is a peer that reads the whole request and writes text.
func answers(t *testing.T, text string) string {
	return peer(t, func(conn net.Conn) {
		if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			io.Copy(io.Discard, req.Body)
			io.WriteString(conn, text)
		}
	})
}

// playHTTP plays without looking for goroutines, since the peer has some.
func playHTTP(t *testing.T, inv Invocation) transcript.Transcript {
	t.Helper()
	got, _, err := inv.Play(context.Background())
	require.NoError(t, err)
	require.NotNil(t, got.Ended())
	return got
}

func TestTheRequestIsThatOfTheProtocol(t *testing.T) { // section 2.2, F16
	for name, records := range map[string][]Record{
		"three": {{Event: "memory"}, {Name: "é"}, {Event: "start"}},
		"one":   {{Event: "start"}},
		"3 MiB": {{Name: strings.Repeat("x", 3<<20)}},
		"none":  nil,
	} {
		var seen *http.Request
		var body []byte
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ = io.ReadAll(r.Body)
			seen = r
			io.WriteString(w, "{}\n")
		}))
		inv := overHTTP(server.URL + "/a%20b/?x=1")
		inv.Identity.Agent = "an agent/é&"
		inv.Identity.Snapshot = 7
		inv.Script.Records = records
		got := playHTTP(t, inv)
		server.Close()
		require.NotNil(t, seen, name)
		require.Equal(t, "POST", seen.Method)
		require.Equal(t, "HTTP/1.1", seen.Proto)
		require.Equal(t, "/a%20b/?x=1&agent=an%20agent%2F%C3%A9%26&session="+theSession+"&snapshot=7", seen.RequestURI)
		require.Equal(t, strings.TrimPrefix(server.URL, "http://"), seen.Host)
		require.Empty(t, seen.TransferEncoding)
		if diff := cmp.Diff(http.Header{
			"Content-Type": {"application/json"}, "Content-Length": {fmt.Sprint(len(body))}, "Connection": {"close"},
		}, seen.Header); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		sent, _ := got.Inputs()
		require.Equal(t, string(sent), string(body), name)

		require.Equal(t, &transcript.Ended{How: transcript.HowAnswer, Code: 200}, got.Ended())
		require.Equal(t, "http", got.Transport)
		require.Equal(t, "{}\n", output(t, got, transcript.Answer))
		require.Equal(t, "by us", events(got, transcript.Closed, transcript.Post)[0].Text)
		request := events(got, transcript.Request, transcript.Post)[0].HTTP
		require.Equal(t, seen.RequestURI, request.Target)
		require.EqualValues(t, len(body), request.Length)
		response := events(got, transcript.Response, transcript.Answer)[0].HTTP
		require.Equal(t, request.Exchange, response.Exchange)
		require.Equal(t, 200, response.Status)
		require.Equal(t, []string{"3"}, response.Header["Content-Length"])
	}
}

func TestIdentityAndTraceTravelInTheHeader(t *testing.T) { // P2.2/metadata-header, F21, P14
	var seen http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		seen = r.Header
	}))
	defer server.Close()
	inv := overHTTP(server.URL)
	inv.Identity.Metadata = map[string]string{"k": "é漢😀\x7f", "a": "\n\""}
	inv.Trace = Trace{Parent: "00-" + theSession + "-0123456789abcdef-01", State: "x=y"}
	playHTTP(t, inv)
	require.Equal(t, `{"a":"\n\"","k":"\u00e9\u6f22\ud83d\ude00\u007f"}`, seen.Get("X-Pugmark-Session-Metadata"))
	require.Equal(t, inv.Trace.Parent, seen.Get("traceparent"))
	require.Equal(t, "x=y", seen.Get("tracestate"))

	inv.Identity.Metadata, inv.Trace = nil, Trace{}
	playHTTP(t, inv)
	for _, name := range []string{"X-Pugmark-Session-Metadata", "traceparent", "tracestate"} {
		require.Empty(t, seen.Values(name), name)
	}
}

func TestAHeaderThatCannotBeSentIsAnError(t *testing.T) {
	inv := overHTTP("http://127.0.0.1:1/")
	inv.Trace.Parent = "a\r\nb: c"
	_, _, err := inv.Play(context.Background())
	require.ErrorContains(t, err, "Traceparent")
	for _, url := range []string{"https://127.0.0.1/", "http:///x", "ftp://h/", "http://[::1"} {
		_, _, err := overHTTP(url).Play(context.Background())
		require.Error(t, err, url)
	}
}

func TestByteByByteOverHTTP(t *testing.T) { // F2
	const pause = 5 * time.Millisecond
	var arrived []time.Time
	url := peer(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		one := make([]byte, 1)
		for range req.ContentLength {
			if _, err := io.ReadFull(in, one); err != nil {
				return
			}
			arrived = append(arrived, time.Now())
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	inv := overHTTP(url)
	inv.Script = Script{Framing: script.Framing{Chunk: 1, Pause: script.Duration(pause)}, Records: []Record{{Name: "😀"}}}
	got := playHTTP(t, inv)
	sent := events(got, transcript.Sent, transcript.Post)
	require.Len(t, sent, 16)
	for i := range sent {
		require.Len(t, sent[i].Data, 1)
		if i > 0 {
			require.GreaterOrEqual(t, sent[i].At-sent[i-1].At, (pause - time.Millisecond).Microseconds())
		}
	}
	require.GreaterOrEqual(t, arrived[15].Sub(arrived[0]), 10*pause, "the peer sees them one by one too")
}

// What the peer has read when the last record is held back is all that stands before a
// record which is longer than what both ends of the connection keep.
func TestTheLastRecordIsHeldBackWhileTheHandlerReads(t *testing.T) {
	read := make(chan string, 2)
	url := peer(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		head := make([]byte, 12)
		io.ReadFull(in, head)
		read <- string(head)
		rest, _ := io.ReadAll(io.LimitReader(in, req.ContentLength-12))
		read <- string(rest[len(rest)-12:])
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	inv := overHTTP(url)
	inv.Script = Script{Records: []Record{{Name: "a"}, {Filler: 1_000_000}, {Name: "z"}}}
	held := 0
	inv.Hold = func(<-chan struct{}) {
		held++
		select {
		case first := <-read:
			require.Equal(t, `{"name":"a"}`, first)
		default:
			t.Error("the peer has read nothing yet")
		}
		require.Empty(t, read, "the end is not there")
	}
	got := playHTTP(t, inv)
	require.Equal(t, 1, held)
	require.Equal(t, `"name":"z"}`+"\n", <-read)
	var order []string
	for _, e := range got.Events {
		switch {
		case e.Kind == transcript.Sent && e.Stream == transcript.Post:
			order = append(order, "sent")
		case e.Text == transcript.HeldNote, e.Text == transcript.ReleasedNote:
			order = append(order, e.Text)
		}
	}
	require.Equal(t, []string{"sent", "sent", transcript.HeldNote, transcript.ReleasedNote, "sent"}, order)
}

func TestAnAnswerEndsTheWaitForTheLastRecord(t *testing.T) { // R19
	inv := overHTTP(peer(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		io.Copy(io.Discard, conn)
	}))
	inv.Hold = func(stop <-chan struct{}) { <-stop }
	got := playHTTP(t, inv)
	require.Equal(t, transcript.HowAnswer, got.Ended().How)
	require.Empty(t, slices.DeleteFunc(slices.Clone(got.Events), func(e transcript.Event) bool { return e.Text != transcript.ReleasedNote }))
}

func TestKindsOfAnswers(t *testing.T) {
	record := `{"name":"x"}` + "\n" // 13 bytes
	for name, c := range map[string]struct {
		answer string
		want   transcript.Ended
		body   string
	}{
		"length":        {"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n" + record, transcript.Ended{How: "answer", Code: 200}, record},
		"closed":        {"HTTP/1.0 200 OK\r\n\r\n" + record, transcript.Ended{How: "answer", Code: 200}, record},
		"chunked":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"name\"\r\n6\r\n:\"x\"}\n\r\n0\r\n\r\n", transcript.Ended{How: "answer", Code: 200}, record},
		"interim":       {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n" + record, transcript.Ended{How: "answer", Code: 200}, record},
		"nothing in it": {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", transcript.Ended{How: "answer", Code: 200}, ""},
		"created":       {"HTTP/1.1 201 Created\r\nContent-Length: 13\r\n\r\n" + record, transcript.Ended{How: "answer", Code: 201}, record},
		"error":         {"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno", transcript.Ended{How: "answer", Code: 500}, "no"},
		"redirect":      {"HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", transcript.Ended{How: "answer", Code: 307}, ""},
		"switching":     {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", transcript.Ended{How: "answer", Code: 101}, ""},
		"cut": {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + record + record, // F17
			transcript.Ended{How: "cut", Code: 200, Detail: "the body ended after 26 of 500 bytes: unexpected EOF"}, record + record},
		"chunks cut":   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n" + record + "\r\n", transcript.Ended{How: "cut", Code: 200, Detail: "the body ended after 13 bytes: unexpected EOF"}, record},
		"cut error":    {"HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nno", transcript.Ended{How: "cut", Code: 503, Detail: "the body ended after 2 of 9 bytes: unexpected EOF"}, "no"},
		"half a head":  {"HTTP/1.1 200 OK\r\nConte", transcript.Ended{How: "cut", Detail: `the answer ended within its head; it begins "HTTP/1.1 200 OK\r\nConte"`}, ""},
		"no HTTP":      {record, transcript.Ended{How: "cut", Detail: `no HTTP response: malformed HTTP response "{\"name\":\"x\"}"; it begins "{\"name\":\"x\"}\n"`}, ""},
		"nothing":      {"", transcript.Ended{How: "no-answer", Detail: "the connection was closed before an answer came"}, ""},
		"interim only": {"HTTP/1.1 100 Continue\r\n\r\n", transcript.Ended{How: "no-answer", Detail: "the connection was closed before an answer came"}, ""},
	} {
		got := playHTTP(t, overHTTP(answers(t, c.answer)))
		if diff := cmp.Diff(&c.want, got.Ended()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		require.Equal(t, c.body, output(t, got, transcript.Answer), name)
		require.Equal(t, c.want.Code == 200 && c.want.How == "answer", got.Ended().Success(), name)
	}
}

func TestWhatFollowsTheAnswerIsNoted(t *testing.T) {
	got := playHTTP(t, overHTTP(answers(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}more")))
	require.Equal(t, "{}", output(t, got, transcript.Answer))
	require.Contains(t, fmt.Sprint(events(got, transcript.Note, "")), "bytes after the end of the answer")
}

func TestAnEarlyAnswerCounts(t *testing.T) { // R19
	inv := overHTTP("")
	inv.Script.Records = []Record{{Raw: ptr(strings.Repeat(" ", 16<<20))}}
	for i := range 20 {
		inv.Target.URL = peer(t, func(conn net.Conn) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}\n")
			if i%2 == 0 { // half of them leave in the proper way
				conn.(*net.TCPConn).CloseWrite()
				time.Sleep(5 * time.Millisecond)
			}
		})
		got := playHTTP(t, inv)
		require.Equal(t, &transcript.Ended{How: transcript.HowAnswer, Code: 200}, got.Ended(), "run %d", i)
		require.Equal(t, "{}\n", output(t, got, transcript.Answer))
	}
}

func TestALateAnswerCounts(t *testing.T) { // F19
	got := playHTTP(t, overHTTP(peer(t, func(conn net.Conn) {
		if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			io.Copy(io.Discard, req.Body)
			time.Sleep(3 * time.Second)
			io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\n{}\n")
		}
	})))
	require.True(t, got.Ended().Success())
}

func TestEveryInvocationHasItsOwnConnection(t *testing.T) { // F18
	var connections int
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Connection", "keep-alive")
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections++
		}
	}
	server.Start()
	for range 5 {
		got := playHTTP(t, overHTTP(server.URL))
		require.True(t, got.Ended().Success())
	}
	server.Close()
	require.Equal(t, 5, connections)
}

func TestAResetIsNoAnswer(t *testing.T) {
	got := playHTTP(t, overHTTP(peer(t, func(conn net.Conn) {
		io.ReadFull(conn, make([]byte, 10))
		conn.(*net.TCPConn).SetLinger(0)
	})))
	require.Equal(t, transcript.HowNoAnswer, got.Ended().How)
	require.Contains(t, got.Ended().Detail, "connection reset by peer")
}

func TestARefusedConnectionNamesEveryAddress(t *testing.T) { // F20, F22
	dead, err := process.Reserve()
	require.NoError(t, err)
	defer dead.Close()
	port := dead.Addr.Port()
	got := playHTTP(t, overHTTP(fmt.Sprintf("http://127.0.0.1:%d/", port)))
	want := &transcript.Ended{How: transcript.HowNoAnswer, Detail: fmt.Sprintf("connect to 127.0.0.1:%d: connection refused", port)}
	if diff := cmp.Diff(want, got.Ended()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	addresses, err := net.DefaultResolver.LookupIPAddr(context.Background(), "localhost")
	require.NoError(t, err)
	got = playHTTP(t, overHTTP(fmt.Sprintf("http://localhost:%d/", port)))
	for _, a := range addresses {
		require.Contains(t, got.Ended().Detail, net.JoinHostPort(a.String(), fmt.Sprint(port)))
	}
}

func TestEveryAddressOfAHostIsTried(t *testing.T) { // F20
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	addresses := []net.IPAddr{{IP: net.IPv6loopback}, {IP: net.IPv4(127, 0, 0, 1)}}
	conn, problems := connect(context.Background(), addresses, port)
	require.NotNil(t, conn, problems)
	conn.Close()
	l.Close()
	_, problems = connect(context.Background(), addresses, port)
	require.Contains(t, problems, "connect to [::1]:"+port+": ")
	require.Contains(t, problems, "; connect to 127.0.0.1:"+port+": connection refused")

	l, err = net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })}
	go server.Serve(l)
	defer server.Close()
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	got := playHTTP(t, overHTTP("http://localhost:"+port+"/"))
	require.True(t, got.Ended().Success())
}

func TestAHangOverHTTPEndsWithTheLimit(t *testing.T) {
	for name, say := range map[string]string{"silent": "", "half an answer": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"} {
		stop := make(chan struct{})
		inv := overHTTP(peer(t, func(conn net.Conn) { io.WriteString(conn, say); <-stop }))
		inv.Limit = 150 * time.Millisecond
		inv.Script.Records = []Record{{Raw: ptr(strings.Repeat(" ", 16<<20))}} // more than the sockets take
		start := time.Now()
		got := playHTTP(t, inv)
		close(stop)
		require.Less(t, time.Since(start), 5*time.Second)
		require.Equal(t, transcript.HowHang, got.Ended().How, name)
	}
}

func TestAFloodOverHTTPEndsAtTheLimit(t *testing.T) {
	inv := overHTTP(peer(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\n")
		for b := make([]byte, 1<<16); ; {
			if _, err := conn.Write(b); err != nil {
				return
			}
		}
	}))
	inv.OutputLimit = 1 << 20
	got := playHTTP(t, inv)
	require.Equal(t, transcript.HowFlood, got.Ended().How)
	require.Contains(t, got.Ended().Detail, "1048576 bytes on answer")
}

func TestCancellationOverHTTP(t *testing.T) {
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := make(chan struct{})
	inv := overHTTP(peer(t, func(conn net.Conn) { <-stop }))
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	got, _, err := inv.Play(ctx)
	close(stop)
	require.ErrorIs(t, err, why)
	require.Equal(t, transcript.HowCancelled, got.Ended().How)
}

func TestNothingIsLeftOfAnHTTPInvocation(t *testing.T) {
	for _, act := range []func(net.Conn){
		func(net.Conn) {},
		func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") },
		func(c net.Conn) { time.Sleep(time.Second) },
	} {
		before := runtime.NumGoroutine()
		inv := overHTTP(peer(t, act))
		inv.Limit = 200 * time.Millisecond
		playHTTP(t, inv)
		requireNothingLeft(t, before)
	}
}
