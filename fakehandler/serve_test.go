package fakehandler

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

const query = "/?agent=me&session=00112233445566778899aabbccddeeff&snapshot=3"

// answered is what came back of an invocation.
type answered struct {
	Status int
	Type   string
	Length int64 // -1: chunked
	Body   string
	Broken bool // the answer or its body was cut
}

func post(t *testing.T, url, input string) answered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+query, strings.NewReader(input))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Pugmark-Session-Metadata", `{"k":"v"}`)
	response, err := newTransport().RoundTrip(request)
	if err != nil {
		return answered{Broken: true}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answered{Status: response.StatusCode, Type: response.Header.Get("Content-Type"),
		Length: response.ContentLength, Body: string(body), Broken: err != nil}
}

// rpc starts the scripted handler in RPC mode and returns its address.
func (f folder) rpc(t *testing.T) (*child, string) {
	t.Helper()
	address, file := listen(t)
	c := start(t, []string{"PUGMARK_RPC_URL=fd://3", "PUGMARK_SESSION_ID=x"}, []*os.File{file}, verbScripted, f.script, f.records)
	return c, "http://" + address
}

func TestRPCServesInvocationsUntilTerminated(t *testing.T) {
	f := lay(t, Script{Turns: [][]Op{{{Emit: &Emit{Name: "one"}}}, {{Emit: &Emit{Name: "two"}}, {Exit: ptr(3)}}, {}}})
	c, url := f.rpc(t)
	requireDiff(t, "first", answered{Status: 200, Type: "application/json", Length: 15, Body: "{\"name\":\"one\"}\n"}, post(t, url, plainInput))
	requireDiff(t, "second", answered{Status: 500, Type: "application/json", Length: 15, Body: "{\"name\":\"two\"}\n"}, post(t, url, plainInput))
	requireDiff(t, "third", answered{Status: 200, Type: "application/json"}, post(t, url, plainInput))
	response, err := http.Get(url + "/")
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, 200, response.StatusCode, "a health check")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Equal(t, finished{}, c.finish(t))

	all := f.read(t)
	require.Len(t, all, 3, "the health check is no invocation")
	record := &all[0]
	requireDiff(t, "transport", "rpc", record.Transport)
	requireDiff(t, "events", []string{"spawn", "environment", "request post", "received post", "closed post",
		"response answer", "exited", "sent answer"}, kinds(record, transcript.Note))
	input, _ := record.Inputs()
	requireDiff(t, "inputs", plainInput, string(input))
	output, _ := record.Outputs()
	requireDiff(t, "outputs", "{\"name\":\"one\"}\n", string(output))
	requireDiff(t, "variable", "x", record.Events[1].Variables["PUGMARK_SESSION_ID"])
	var head *transcript.HTTP
	for _, e := range record.Events {
		if e.Kind == transcript.Request {
			head = e.HTTP
		}
	}
	requireDiff(t, "request line", []string{"POST", query, "HTTP/1.1"}, []string{head.Method, head.Target, head.Proto})
	header := http.Header(head.Header)
	requireDiff(t, "fields", []string{"application/json", itoa(len(plainInput)), `{"k":"v"}`, ""}, []string{
		header.Get("Content-Type"), header.Get("Content-Length"), header.Get("X-Pugmark-Session-Metadata"), header.Get("Transfer-Encoding")})
	requireDiff(t, "ends", []*transcript.Ended{{How: "answer", Code: 200}, {How: "answer", Code: 500}, {How: "answer", Code: 200}},
		[]*transcript.Ended{all[0].Ended(), all[1].Ended(), all[2].Ended()})
}

func TestAnswersAreShaped(t *testing.T) {
	a, b := Op{Emit: &Emit{Name: "a"}}, Op{Emit: &Emit{Name: "b"}}
	const both = "{\"name\":\"a\"}\n{\"name\":\"b\"}\n"
	for name, c := range map[string]struct {
		ops  []Op
		want answered
		how  string
	}{
		"status": {[]Op{{Answer: &script.Answer{Status: 202}}, a, b},
			answered{Status: 202, Type: "application/json", Length: 26, Body: both}, "answer"},
		"no content": {[]Op{{Answer: &script.Answer{Status: 204}}, a},
			answered{Status: 204, Type: "application/json"}, "answer"},
		"redirect": {[]Op{{Answer: &script.Answer{Status: 307, Headers: map[string]string{"Location": "/x", "Content-Type": "text/html"}}}, a, b},
			answered{Status: 307, Type: "text/html", Length: 26, Body: both}, "answer"},
		"missing": {[]Op{{Answer: &script.Answer{Missing: true}}, a, b},
			answered{Status: 404, Type: "application/json", Length: 26, Body: both}, "answer"},
		"body": {[]Op{{Answer: &script.Answer{Body: text("instead")}}, a, b},
			answered{Status: 200, Type: "application/json", Length: 7, Body: "instead"}, "answer"},
		"no type": {[]Op{{Answer: &script.Answer{Headers: map[string]string{"Content-Type": ""}}}, a, b},
			answered{Status: 200, Length: 26, Body: both}, "answer"},
		"cut": {[]Op{{Answer: &script.Answer{Truncate: ptr(15)}}, a, b},
			answered{Status: 200, Type: "application/json", Length: 26, Body: both[:15], Broken: true}, "cut"},
		"cut where it ends": {[]Op{{Answer: &script.Answer{Truncate: ptr(26)}}, a, b},
			answered{Status: 200, Type: "application/json", Length: 26, Body: both}, "answer"},
		"a length that is too long": {[]Op{{Answer: &script.Answer{Headers: map[string]string{"Content-Length": "500"}}}, a, b},
			answered{Status: 200, Type: "application/json", Length: 500, Body: both, Broken: true}, "answer"},
		"chunked": {[]Op{{Answer: &script.Answer{Chunked: true}}, {Framing: &script.Framing{Chunk: 1}}, a, b},
			answered{Status: 200, Type: "application/json", Length: -1, Body: both}, "answer"},
		"chunked and nothing": {[]Op{{Answer: &script.Answer{Chunked: true}}},
			answered{Status: 200, Type: "application/json", Length: -1}, "answer"},
		"cut before its body": {[]Op{{Answer: &script.Answer{Truncate: ptr(0)}}, a, b},
			answered{Status: 200, Type: "application/json", Length: 26, Broken: true}, "cut"},
		"chunked and cut": {[]Op{{Answer: &script.Answer{Chunked: true, Truncate: ptr(26)}}, a, b},
			answered{Status: 200, Type: "application/json", Length: -1, Body: both, Broken: true}, "cut"},
		"chunked and failed": {[]Op{{Answer: &script.Answer{Chunked: true}}, a, b, {Exit: ptr(1)}},
			answered{Status: 200, Type: "application/json", Length: -1, Body: both, Broken: true}, "cut"},
		"failed before a chunk": {[]Op{{Answer: &script.Answer{Chunked: true}}, {Exit: ptr(1)}},
			answered{Status: 500, Type: "application/json", Length: -1}, "answer"},
		"without reading": {[]Op{{Read: ReadNone}, a, b},
			answered{Status: 200, Type: "application/json", Length: 26, Body: both}, "answer"},
		"after the lifecycle event": {[]Op{{Read: ReadLifecycle}, a, b},
			answered{Status: 200, Type: "application/json", Length: 26, Body: both}, "answer"},
	} {
		t.Run(name, func(t *testing.T) {
			f := lay(t, turn1(c.ops...))
			server := httptest.NewServer(Handler(f.script, f.records))
			got := post(t, server.URL, plainInput)
			server.Close() // waits for the handler
			requireDiff(t, "answer", c.want, got)
			record := f.last(t)
			require.Empty(t, Fault(record))
			requireDiff(t, "how it ended", c.how, record.Ended().How)
			requireDiff(t, "transport", "http", record.Transport)
			output, _ := record.Outputs()
			requireDiff(t, "recorded", c.want.Body, string(output))
		})
	}
}

func TestAnswersAreDelayedAndPaced(t *testing.T) {
	f := lay(t, turn1(Op{Answer: &script.Answer{Delay: script.Duration(30 * time.Millisecond)}},
		Op{Framing: &script.Framing{Chunk: 7, Pause: script.Duration(20 * time.Millisecond)}}, Op{Emit: &Emit{Name: "a"}}))
	server := httptest.NewServer(Handler(f.script, f.records))
	defer server.Close()
	begun := time.Now()
	require.Equal(t, "{\"name\":\"a\"}\n", post(t, server.URL, "{}").Body)
	require.GreaterOrEqual(t, time.Since(begun), 50*time.Millisecond)
	var writes []string
	for _, e := range f.last(t).Events {
		if e.Kind == transcript.Sent {
			writes = append(writes, string(e.Data))
		}
	}
	requireDiff(t, "writes", []string{`{"name"`, ":\"a\"}\n"}, writes)
}

func TestHTTPHasNoProcessToEnd(t *testing.T) {
	for says, op := range map[string]Op{
		"process":    {Signal: "KILL"},
		"of its own": {Grandchild: &Grandchild{}},
		"subprocess": {Close: "stdout"},
		"before":     {Answer: &script.Answer{Status: 500}},
	} {
		f := lay(t, turn1(Op{Emit: &Emit{Name: "n"}}, op))
		server := httptest.NewServer(Handler(f.script, f.records))
		got := post(t, server.URL, plainInput)
		server.Close()
		require.Equal(t, 500, got.Status)
		require.Contains(t, Fault(f.last(t)), says)
	}
}

func TestHTTPHangEndsWithItsRequest(t *testing.T) {
	f := lay(t, turn1(Op{Hang: true}))
	server := httptest.NewServer(Handler(f.script, f.records))
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+query, strings.NewReader("{}"))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := http.DefaultTransport.RoundTrip(request)
		done <- err
	}()
	require.Eventually(t, func() bool {
		all := f.read(t)
		return len(all) == 1 && strings.Contains(strings.Join(kinds(&all[0]), " "), "note")
	}, long, time.Millisecond)
	select {
	case err := <-done:
		t.Fatalf("it answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	server.Close() // would never return if the handler went on
	requireDiff(t, "how it ended", "cut", f.last(t).Ended().How)
}

func TestRPCSignalEndsTheProcess(t *testing.T) {
	f := lay(t, turn1(Op{Answer: &script.Answer{Chunked: true}}, Op{Emit: &Emit{Name: "n"}}, Op{Signal: "SEGV"}))
	c, url := f.rpc(t)
	got := post(t, url, plainInput)
	require.True(t, got.Broken)
	require.Equal(t, "{\"name\":\"n\"}\n", got.Body)
	_, signal := c.ended(t)
	require.Equal(t, syscall.SIGSEGV, signal)
	requireDiff(t, "end", &transcript.Ended{How: "signal", Signal: 11, Name: "SIGSEGV"}, f.last(t).Ended())
}

// TestRPCGrandchildDoesNotInheritTheSocket: a port that a grandchild holds would be
// answered by nobody.
func TestRPCGrandchildDoesNotInheritTheSocket(t *testing.T) {
	f := lay(t, turn1(Op{Grandchild: &Grandchild{Holds: []string{"stderr"}, For: script.Duration(2 * time.Second)}}))
	address, file := listen(t)
	c := start(t, []string{"PUGMARK_RPC_URL=fd://3"}, []*os.File{file}, verbScripted, f.script, f.records)
	require.Equal(t, 200, post(t, "http://"+address, plainInput).Status)
	var pid string
	for _, e := range f.last(t).Events {
		if rest, ok := strings.CutPrefix(e.Text, "grandchild "); ok {
			pid, _, _ = strings.Cut(rest, " ")
		}
	}
	require.NotEmpty(t, pid)
	links, err := os.ReadDir("/proc/" + pid + "/fd")
	require.NoError(t, err)
	for _, link := range links {
		to, _ := os.Readlink("/proc/" + pid + "/fd/" + link.Name())
		require.NotContains(t, to, "socket:", "descriptor %s", link.Name())
	}
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	status, _ := c.ended(t)
	require.Equal(t, 0, status)
}

func TestRPCWithoutItsSocketSaysSo(t *testing.T) {
	f := lay(t, Script{})
	end := start(t, []string{"PUGMARK_RPC_URL=fd://4"}, nil, verbScripted, f.script, f.records).finish(t)
	require.Equal(t, StatusFault, end.Status)
	require.Contains(t, end.Stderr, "fd://4")
}
