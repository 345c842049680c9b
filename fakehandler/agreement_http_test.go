package fakehandler

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

func TestTheRequestRulesOverTheEnvironment(t *testing.T) {
	instructions, s := instruct(t, `{"op":"observe"}`, nil)
	address, file := listen(t)
	c := start(t, []string{"PUGMARK_RPC_URL=fd://3", "PUGMARK_SESSION_ID=ffffffffffffffffffffffffffffffff", "PUGMARK_AGENT_ID=env",
		`PUGMARK_SESSION_METADATA={"from":"env"}`, "TRACEPARENT=00-11111111111111111111111111111111-1111111111111111-00"}, []*os.File{file}, verbConform)
	observe := func(query string, header map[string]string) map[string]any {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/?"+query, strings.NewReader(memoryAt(s)+instructions+"{}"))
		require.NoError(t, err)
		for name, value := range header {
			request.Header.Set(name, value)
		}
		response, err := newTransport().RoundTrip(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, int64(len(body)), response.ContentLength)
		require.Equal(t, 200, response.StatusCode, "%s", body)
		got := answerOf(t, finished{Stdout: string(body)}, "conform/observed")
		delete(got, "entries")
		return got
	}
	requireDiff(t, "from the request", map[string]any{"session": sessionID, "agent": "a b", "snapshot": json.Number("7"),
		"metadata": map[string]any{"k": "é😀"}, "events": []any{}},
		observe("agent=a+b&session="+sessionID+"&snapshot=7", map[string]string{
			"X-Pugmark-Session-Metadata": `{"k":"\u00e9\ud83d\ude00"}`, "traceparent": someTrace}))
	requireDiff(t, "what the request leaves out", map[string]any{"session": sessionID, "agent": "", "snapshot": json.Number("0"),
		"metadata": map[string]any{}, "events": []any{}}, observe("session="+sessionID+"&snapshot=0", nil))
	_, heads := s.seen()
	require.Equal(t, someTrace, heads[0].Get("traceparent"))
	require.Empty(t, heads[1].Get("traceparent"), "the environment's is another invocation's")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Equal(t, finished{}, c.finish(t))
}

func TestStatusesOfTheService(t *testing.T) {
	instructions, _ := instruct(t, `{"op":"write","text":"x"},{"op":"fail"}`, nil)
	var diagnostics bytes.Buffer
	server := httptest.NewServer(Agreement{Diagnostics: &diagnostics}.Handler())
	defer server.Close()
	valid := url.Values{"session": {sessionID}, "agent": {""}, "snapshot": {"1"}}.Encode()
	for _, c := range []struct {
		name, method, target, metadata, body string
		want                                 int
	}{
		{"health", "GET", "/", "", "", 200},
		{"another path", "POST", "/x?" + valid, "", "{}", 404},
		{"another method", "PUT", "/?" + valid, "", "{}", 405},
		{"nothing to do", "POST", "/?" + valid, "", "{}", 200},
		{"metadata that is no JSON", "POST", "/?" + valid, "{", "{}", 400},
		{"no session", "POST", "/?snapshot=1", "", "{}", 400},
		{"broken input", "POST", "/?" + valid, "", "nonsense", 500},
		{"no lifecycle event", "POST", "/?" + valid, "", `{"name":"a"}`, 500},
		{"told to fail", "POST", "/?" + valid, "", instructions + `{"event":"start"}`, 500},
		{"another version", "POST", "/?" + valid, "", `{"event":"protocol","metadata":{"version":"2"}}` + instructions, 200},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.target, strings.NewReader(c.body))
		require.NoError(t, err)
		if c.metadata != "" {
			request.Header.Set("X-Pugmark-Session-Metadata", c.metadata)
		}
		response, err := newTransport().RoundTrip(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		response.Body.Close()
		require.Equal(t, c.want, response.StatusCode, c.name)
		require.NotContains(t, string(body), `{"data"`, "%s: no Outputs", c.name)
	}
	server.Close()
	require.Contains(t, diagnostics.String(), "told to fail")
}

func TestAnAddressIsServed(t *testing.T) {
	address, file := listen(t)
	file.Close()
	c := start(t, identity, nil, verbConform, address)
	end := c.finish(t)
	require.Equal(t, 1, end.Status, "the address is taken")
	require.Contains(t, end.Stderr, address)

	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = free.Addr().String()
	require.NoError(t, free.Close())
	c = start(t, identity, nil, verbConform, address)
	require.Eventually(t, func() bool {
		return post(t, "http://"+address, "{}").Status == 200
	}, long, 5*time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Equal(t, finished{}, c.finish(t))
}

func TestConcurrentInvocationsDoNotMix(t *testing.T) {
	server := httptest.NewServer(ConformHandler())
	defer server.Close()
	instructions, _ := instruct(t, `{"op":"load","name":"a","as":"text"}`, nil)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			got := post(t, server.URL, `{"name":"a","data":"`+b64(itoa(i))+`"}`+instructions+"{}")
			if want := `"text":"` + itoa(i) + `"`; !contains(decodeData(got.Body), want) {
				t.Errorf("invocation %d got %q", i, got.Body)
			}
		})
	}
	group.Wait()
}

// decodeData is the data of the one Output of a stream.
func decodeData(stream string) []byte {
	_, rest, _ := strings.Cut(stream, `"data":"`)
	text, _, _ := strings.Cut(rest, `"`)
	data, _ := base64.StdEncoding.DecodeString(text)
	return data
}

// slow gives one byte a read; tally counts writes and whether it was closed.
type slow struct{ io.Reader }

func (r slow) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1)]) }

type tally struct {
	io.Writer
	writes, closes *int
}

func (w tally) Write(p []byte) (int, error) { *w.writes++; return w.Writer.Write(p) }
func (w tally) Close() error                { *w.closes++; return nil }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSeamsAreUsed: every field of Agreement stands in the way of what it says.
func TestSeamsAreUsed(t *testing.T) {
	var writes, closes, reads, asked, responded, told int
	var diagnostics, out bytes.Buffer
	a := Agreement{
		Getenv: func(name string) string {
			return map[string]string{"PUGMARK_SESSION_ID": sessionID}[name]
		},
		Identity: func(own protocol.Identity) func() protocol.Identity {
			return func() protocol.Identity { told++; own.Agent = "another"; return own }
		},
		Input:  func(r io.Reader) io.Reader { reads++; return slow{r} },
		Output: func(w io.Writer) io.Writer { return tally{w, &writes, &closes} },
		Servers: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			return newTransport().RoundTrip(r)
		}),
		Respond:     func(w http.ResponseWriter) http.ResponseWriter { responded++; return w },
		Diagnostics: &diagnostics,
	}
	instructions, _ := instruct(t, `{"op":"write","text":"x"},{"op":"write","text":"y"},{"op":"log","text":"line"}`, nil)
	require.NoError(t, a.Run(context.Background(), Invocation{
		Identity: protocol.Identity{Session: sessionID}, Input: strings.NewReader(instructions + "{}"), Output: &out,
	}))
	requireDiff(t, "reads, asked, writes, closes, responded", []int{1, 1, 2, 1, 0}, []int{reads, asked, writes, closes, responded})
	require.Equal(t, "line\n", diagnostics.String())
	require.Equal(t, "{\"data\":\"eA==\",\"content-type\":\"text/plain\"}\n{\"data\":\"eQ==\",\"content-type\":\"text/plain\"}\n", out.String())

	server := httptest.NewServer(a.Handler())
	defer server.Close()
	require.Equal(t, out.String(), post(t, server.URL, instructions+"{}").Body)
	requireDiff(t, "over HTTP", []int{2, 2, 4, 2, 1}, []int{reads, asked, writes, closes, responded})

	instructions, _ = instruct(t, `{"op":"observe"}`, nil)
	require.Contains(t, string(decodeData(post(t, server.URL, instructions+"{}").Body)), `"agent":"another"`)
	require.Equal(t, 1, told)
}
