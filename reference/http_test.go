package reference_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func runAt(t *testing.T, w *world, url string) error {
	t.Helper()
	_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(reference.HTTP{URL: url}))
	return err
}

// P2.2, F16, F21: the whole request, for an empty log and one of 3 MiB.
func TestInvocationRequest(t *testing.T) {
	for name, entries := range map[string]int{"empty log": 0, "one entry": 1, "3 MiB": 800} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start(storage.Manifest{Session: parentID, Agent: "a&b é", Metadata: map[string]string{"k": "é漢😀"}})
			for range entries {
				w.push(parentID, strings.Repeat("n", 4000), "x")
			}
			var head *http.Request
			var body []byte
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				head = req
				body, _ = io.ReadAll(req.Body)
				fmt.Fprint(rw, `{"name":"b"}`)
			}))
			defer server.Close()
			require.NoError(t, runAt(t, w, server.URL+"/path?own=1"))
			require.Equal(t, "POST", head.Method)
			require.Equal(t, "/path", head.URL.Path)
			want := map[string][]string{
				"own": {"1"}, "agent": {"a&b é"}, "session": {parentID}, "snapshot": {fmt.Sprint(entries)},
			}
			if diff := cmp.Diff(want, map[string][]string(head.URL.Query())); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
			require.EqualValues(t, len(body), head.ContentLength)
			require.Empty(t, head.TransferEncoding)
			require.Equal(t, []string{"application/json"}, head.Header.Values("Content-Type"))
			require.Equal(t, []string{`{"k":"\u00e9\u6f22\ud83d\ude00"}`}, head.Header.Values("X-Pugmark-Session-Metadata"))
			require.Regexp(t, "^00-"+parentID+"-[0-9a-f]{16}-01$", head.Header.Get("traceparent"))
			require.Empty(t, head.Header.Values("tracestate"))
			require.Equal(t, entries+2, strings.Count(string(body), "\n"))
			require.True(t, strings.HasSuffix(string(body), "{\"event\":\"start\"}\n"))
			log := w.log(parentID)
			require.Equal(t, fmt.Sprintf("1 %d.%d normal b=", entries+1, entries+1), log[len(log)-1])
		})
	}
}

func TestNoMetadataHeaderWithoutMetadata(t *testing.T) {
	w := newWorld(t, parentID)
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { header = req.Header }))
	defer server.Close()
	require.NoError(t, runAt(t, w, server.URL))
	require.NotContains(t, header, "X-Pugmark-Session-Metadata")
}

func TestMetadataTooLargeForAHeader(t *testing.T) {
	w := newWorld(t)
	w.start(storage.Manifest{Session: parentID, Metadata: map[string]string{"k": strings.Repeat("x", 64<<10)}})
	err := runAt(t, w, "http://127.0.0.1:1/")
	var failure *reference.InvocationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, reference.ReasonLimit, failure.Reason)
	require.ErrorContains(t, err, "X-Pugmark-Session-Metadata")
}

// answer is a server that writes raw bytes to each connection, having read none or
// all of the request.
func answer(t *testing.T, readAll bool, raw string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if readAll {
				if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.Copy(io.Discard, req.Body)
				}
			}
			_, _ = io.WriteString(conn, raw)
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

// R19: a whole answer counts, every time, though nothing of the request was read.
func TestAnswerBeforeTheRequestWasRead(t *testing.T) {
	for _, entries := range []int{50, 300, 2000} { // 200 kB to 8 MB: more than a socket of the peer's takes unread
		testAnswerBeforeTheRequestWasRead(t, entries)
	}
}

func testAnswerBeforeTheRequestWasRead(t *testing.T, entries int) {
	w := newWorld(t, parentID)
	for range entries {
		w.push(parentID, strings.Repeat("n", 4000), "x")
	}
	for name, raw := range map[string]string{
		"content length": "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"name\":\"b\"}",
		"until closed":   "HTTP/1.0 200 OK\r\n\r\n{\"name\":\"b\"}",
	} {
		t.Run(name, func(t *testing.T) {
			url := answer(t, false, raw)
			for range 20 {
				require.NoError(t, runAt(t, w, url))
			}
		})
	}
}

// A connection that is reset behind a request that was read whole has not ended the
// answer (P2.2/status-200); one that says its length, or was reset behind its last chunk, had
// ended before.
func TestConnectionResetBehindAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		raw   string
		whole bool
	}{
		"until closed":   {"HTTP/1.0 200 OK\r\n\r\n{\"name\":\"b\"}", false},
		"content length": {"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"name\":\"b\"}", true},
		"chunked":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{\"name\":\"b\"}\r\n0\r\n\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				w := newWorld(t, parentID)
				w.push(parentID, "a", "x")
				err := runAt(t, w, resetting(t, c.raw))
				if c.whole {
					require.NoError(t, err)
					continue
				}
				var failure *reference.InvocationError
				require.ErrorAs(t, err, &failure)
				require.Equal(t, reference.ReasonConnection, failure.Reason)
				require.ErrorContains(t, err, "Content-Length")
				wantLines(t, "log", []string{"1 1.1 queueing a=x"}, w.log(parentID))
			}
		})
	}
}

// resetting is a server that reads a request whole, answers it with raw bytes and
// resets the connection.
func resetting(t *testing.T, raw string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.Copy(io.Discard, req.Body)
		}
		_, _ = io.WriteString(conn, raw)
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}()
	return "http://" + listener.Addr().String()
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		raw    string
		reason reference.Reason // empty: committed
		texts  []string
	}{
		"interim answer":    {"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"name\":\"b\"}", "", nil},
		"chunked":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{\"name\":\"b\"}\r\n0\r\n\r\n", "", nil},
		"cut after records": {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"name\":\"b\"}\n{\"name\":\"c\"}\n", reference.ReasonConnection, nil},
		"cut in a record":   {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"name\":", reference.ReasonConnection, nil},
		"cut chunks":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{\"name\":\"b\"}\r\n", reference.ReasonConnection, nil},
		"no answer":         {"", reference.ReasonConnection, nil},
		"no HTTP":           {"{\"name\":\"b\"}\n", reference.ReasonConnection, nil},
		"204":               {"HTTP/1.1 204 No Content\r\n\r\n", reference.ReasonStatus, []string{"204"}},
		"206":               {"HTTP/1.1 206 Partial\r\nContent-Length: 12\r\n\r\n{\"name\":\"b\"}", reference.ReasonStatus, []string{"206"}},
		"500":               {"HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\ntraceback", reference.ReasonStatus, []string{"500", "traceback"}},
		"redirect":          {"HTTP/1.1 307 Go\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n", reference.ReasonStatus, []string{"http://x/", "not followed"}},
		"garbage":           {"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"name\":\"b\"}x", reference.ReasonStream, []string{"byte 12"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parentID)
			err := runAt(t, w, answer(t, true, c.raw))
			if c.reason == "" {
				require.NoError(t, err)
				wantLines(t, "log", []string{"1 1.1 normal b="}, w.log(parentID))
				return
			}
			var failure *reference.InvocationError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, c.reason, failure.Reason, "%v", err)
			for _, text := range c.texts {
				require.ErrorContains(t, err, text)
			}
			require.Empty(t, w.log(parentID))
		})
	}
}

// deadAddress is an address that stays taken and refuses connections (F22).
func deadAddress(t *testing.T) string {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(socket) })
	require.NoError(t, syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	address, err := syscall.Getsockname(socket)
	require.NoError(t, err)
	return fmt.Sprintf("127.0.0.1:%d", address.(*syscall.SockaddrInet4).Port)
}

func TestHandlerThatIsNotThere(t *testing.T) {
	w := newWorld(t, parentID)
	dead := deadAddress(t)
	for url, reason := range map[string]reference.Reason{
		"http://" + dead: reference.ReasonConnection,
		"ftp://x/":       reference.ReasonStart, "nonsense": reference.ReasonStart, "http://": reference.ReasonStart,
	} {
		var failure *reference.InvocationError
		require.ErrorAs(t, runAt(t, w, url), &failure, url)
		require.Equal(t, reason, failure.Reason, url)
	}
	require.ErrorContains(t, runAt(t, w, "http://"+dead), dead)
}

// F20: a name stands for several addresses, and the handler listens on one of them.
func TestHandlerListensOnOneAddressOfAName(t *testing.T) {
	names := map[string]string{"::1": "localhost", "127.0.0.1": "localhost"}
	for address, name := range names {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			require.Equal(t, "::1", address, "this machine has no loopback: %v", err)
			continue // it has no IPv6
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		require.NoError(t, server.Listener.Close())
		server.Listener = listener
		server.Start()
		defer server.Close()
		_, port, err := net.SplitHostPort(listener.Addr().String())
		require.NoError(t, err)
		resolved, err := net.DefaultResolver.LookupHost(t.Context(), name)
		require.NoError(t, err)
		err = runAt(t, newWorld(t, parentID), "http://"+name+":"+port)
		if slices.Contains(resolved, address) {
			require.NoError(t, err)
			continue
		}
		for _, tried := range resolved {
			require.ErrorContains(t, err, net.JoinHostPort(tried, port))
		}
	}
}

func TestBothServersAnswerDuringTheInvocation(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "hello")
	var objectURL, memoryURL string
	_, call := w.once(parentID, func(call *invocation) error {
		memoryURL, objectURL = call.inputs[0].URL, call.inputs[1].URL
		requireAnswer(t, objectURL, 200, "text/plain", "hello")
		requireAnswer(t, objectURL[:len(objectURL)-1], 404, "", "")
		requireAnswer(t, strings.Replace(objectURL, "sha256:", "SHA256:", 1), 404, "", "")
		requireAnswer(t, strings.Replace(objectURL, "sha256:", "sha256%3A", 1), 200, "text/plain", "hello") // the same path (RFC 3986)
		requireAnswer(t, strings.Replace(objectURL, "/sha256:", "/%2Fsha256:", 1), 404, "", "")
		requireAnswer(t, memoryURL+"ns/k", 404, "", "")
		return call.emit(
			text("memories/ns/k", "first"), text("memories/ns/k", "second"),
			text("memories/ns/deep/k", "deep"), text("memories/n s/é?", "escaped"),
			protocol.Output{Name: "memories/ns/z", Data: []byte{1}, ContentEncoding: "gzip"})
	})
	require.NotNil(t, call)
	_, err := http.Get(objectURL)
	require.Error(t, err, "the object server outlived its invocation")
	wantLines(t, "log", []string{"1 1.1 queueing a=hello"}, w.log(parentID))

	w.start(storage.Manifest{Session: otherID}) // S7/memory-shared
	w.once(otherID, func(call *invocation) error {
		root := call.inputs[0].URL
		requireAnswer(t, root+"ns/k", 200, "text/plain", "second")
		requireAnswer(t, root+"ns/deep/k", 200, "text/plain", "deep")
		requireAnswer(t, root+"n%20s/%C3%A9%3F", 200, "text/plain", "escaped")
		response := requireAnswer(t, root+"ns/z", 200, "application/octet-stream", "\x01")
		require.Equal(t, "gzip", response.Header.Get("Content-Encoding"))
		for _, missing := range []string{
			"", "ns", "ns/", "ns/none", "ns%2Fk", "Ns/k", "n/k", "ns/deep", "ns/deep/k/x", "ns//k", "../memories/ns/k", "ns/%2e%2e/ns/k",
		} {
			requireAnswer(t, root+missing, 404, "", "")
		}
		requireAnswer(t, objectURL[:strings.LastIndex(objectURL, "/")], 0, "", "")
		return nil
	})
}

// requireAnswer gets a URL as it is written; status 0 wants no answer at all.
func requireAnswer(t *testing.T, url string, status int, contentType, body string) *http.Response {
	t.Helper()
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	conn, err := net.Dial("tcp", host)
	if status == 0 {
		require.Error(t, err)
		return nil
	}
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, status, response.StatusCode, url)
	if status == http.StatusOK {
		require.Equal(t, contentType, response.Header.Get("Content-Type"))
		require.Equal(t, body, string(got))
		require.EqualValues(t, len(body), response.ContentLength)
	}
	return response
}

// P7/success-response, P7.1/identical: bytes that are one entry's body as they are and another's
// encoded have URLs that tell them apart, in the one shape of URLs (P7/object-url).
func TestOneBodyWithSeveralEncodings(t *testing.T) {
	small, err := protocol.Compress("gzip", []byte("small"))
	require.NoError(t, err)
	large := []byte(strings.Repeat("not really packed ", 100))
	for _, order := range [][]string{{"", "gzip"}, {"gzip", ""}, {"zstd", "", "gzip", "zstd"}} {
		w := newWorld(t, parentID)
		for _, body := range [][]byte{small, large} {
			for _, encoding := range order {
				_, err := w.runtime.Push(t.Context(), parentID, reference.Object{
					Name: encoding, ContentType: "text/plain", ContentEncoding: encoding, Body: strings.NewReader(string(body)),
				})
				require.NoError(t, err)
			}
		}
		_, call := w.once(parentID, func(call *invocation) error {
			for i, input := range call.inputs[1 : 1+2*len(order)] {
				body := [][]byte{small, large}[i/len(order)]
				require.Regexp(t, `^http://127\.0\.0\.1:[0-9]+/`+protocol.Digest(body)+`$`, input.URL)
				require.Equal(t, order[i%len(order)], input.ContentEncoding)
				response := requireAnswer(t, input.URL, 200, "text/plain", string(body))
				require.Equal(t, input.ContentEncoding, response.Header.Get("Content-Encoding"), "entry %d of %q", i, order)
			}
			return nil
		})
		require.NotNil(t, call)
	}
}

// P17/closed-urls: the root of any entry's URL has all objects of the log.
func TestEveryRootHasEveryObject(t *testing.T) {
	w := newWorld(t, parentID)
	for _, encoding := range []string{"", "gzip"} {
		_, err := w.runtime.Push(t.Context(), parentID, reference.Object{
			ContentType: "text/plain", ContentEncoding: encoding, Body: strings.NewReader("body in " + encoding),
		})
		require.NoError(t, err)
	}
	w.once(parentID, func(call *invocation) error {
		for _, at := range call.inputs[1:3] {
			root := at.URL[:strings.LastIndex(at.URL, "/")]
			for _, input := range call.inputs[1:3] {
				response := requireAnswer(t, root+input.URL[strings.LastIndex(input.URL, "/"):], 200, "text/plain", string(input.Data))
				require.Equal(t, input.ContentEncoding, response.Header.Get("Content-Encoding"))
			}
		}
		return nil
	})
}

func TestServersAreReadOnly(t *testing.T) {
	w := newWorld(t, parentID)
	w.push(parentID, "a", "hello")
	w.once(parentID, func(call *invocation) error {
		for _, method := range []string{"PUT", "POST", "DELETE"} {
			request, err := http.NewRequest(method, call.inputs[1].URL, strings.NewReader("x"))
			require.NoError(t, err)
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			_ = response.Body.Close()
			require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
		}
		requireAnswer(t, call.inputs[1].URL, 200, "text/plain", "hello")
		return nil
	})
}

// Reading R52: bodies that are not in this session's log are not served.
func TestBodiesOfOtherSessionsAreNotServed(t *testing.T) {
	w := newWorld(t, parentID, otherID)
	w.push(otherID, "secret", "hello")
	w.push(parentID, "a", "x")
	w.once(parentID, func(call *invocation) error {
		url := call.inputs[1].URL
		root := url[:strings.LastIndex(url, "/")]
		requireAnswer(t, root+"/sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", 404, "", "")
		return nil
	})
}
