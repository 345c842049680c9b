package reference_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
)

// P2/same-format: the input stream is the same on every transport, byte for byte,
// and looks as section 3 wants it.
func TestInputStreamOnEveryTransport(t *testing.T) {
	w := newWorld(t, parentID)
	for _, object := range []reference.Object{
		{Name: "é😀 \u2028\"\\", ContentType: "text/plain", Metadata: map[string]string{"k": "v"}, Body: bytes.NewReader([]byte{0xfb, 0xff, 0xfe})},
		{SchemaURL: "http://x/", ContentEncoding: "gzip", Body: strings.NewReader(strings.Repeat("z", 1025))},
	} {
		_, err := w.runtime.Push(t.Context(), parentID, object)
		require.NoError(t, err)
	}
	var posted []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		posted, _ = io.ReadAll(req.Body)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "stdin")
	record := rpc(t, "record")
	record.Environ = append(record.Environ, envRecord+"="+file)
	ports := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	for name, transport := range map[string]reference.Transport{
		"subprocess": shell(`cat >` + file), "http": reference.HTTP{URL: server.URL}, "rpc": record,
	} {
		require.NoError(t, os.WriteFile(file, nil, 0o666))
		_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(transport))
		require.NoError(t, err)
		stream := posted
		if name != "http" {
			stream, err = os.ReadFile(file)
			require.NoError(t, err)
		}
		// The digests by sha256sum, the base64 by base64(1).
		want := `{"event":"memory","url":"http://HOST/memories/"}
{"url":"http://HOST/sha256:dbdf9975425299709a9451b04a26c82d41d0b686d3cd90b75328acf8cd00435d","size":3,"content-type":"text/plain","name":"é😀 ` + "\u2028" + `\"\\","metadata":{"k":"v"},"data":"+//+"}
{"event":"push","url":"http://HOST/sha256:a298beeac1ecbd6fb456f4b3e6264f7bc6736b606ae83e586693a7bd3220f7d7","size":1025,"content-encoding":"gzip","schema-url":"http://x/"}
{"event":"start"}
`
		if diff := cmp.Diff(want, ports.ReplaceAllString(string(stream), "HOST")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// P3, P3.1, P3.2: what the output stream may look like.
func TestOutputStreamsThatAreTaken(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []string
	}{
		"unknown fields of every type": {
			`{"x":[1,{"y":null}],"name":"a","z":1e400,"big":123456789012345678901234567890}`, []string{"1 1.1 normal a="}},
		"records that say nothing": {`{}{"name":""} {"data":"","fork":false,"metadata":{}}{"name":"a"}`, []string{"1 1.1 normal a="}},
		"null fields":              {`{"name":"a","data":null,"metadata":null,"fork":null,"session":null}`, []string{"1 1.1 normal a="}},
		"every white space":        {"\t{\r\n\"name\" :\t\"a\"}\r\r\n \t{\"name\":\"b\"}{\"name\":\"c\"}", []string{"1 1.1 normal a=", "1 1.2 normal b=", "1 1.3 normal c="}},
		"padded base64":            {`{"name":"a","data":"YQ=="}{"name":"b","data":"YWI="}{"name":"c","data":"YWJj"}`, []string{"1 1.1 normal a=a", "1 1.2 normal b=ab", "1 1.3 normal c=abc"}},
		"unpadded base64":          {`{"name":"a","data":"YQ"}{"name":"b","data":"YWI"}`, []string{"1 1.1 normal a=a", "1 1.2 normal b=ab"}},
		"text that is not ASCII":   {`{"name":"é\ud83d\ude00"}`, []string{"1 1.1 normal é😀="}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parentID)
			file := filepath.Join(t.TempDir(), "stream")
			require.NoError(t, os.WriteFile(file, []byte(c.stream), 0o666))
			require.NoError(t, runShell(t, w, `LC_ALL=C cat `+file))
			wantLines(t, "log", c.want, w.log(parentID))
		})
	}
}

// P5.3/routing, reading R9.
func TestRoutesInTheirOrder(t *testing.T) {
	w := newWorld(t, parentID, otherID)
	both := protocol.Output{Name: "memories/ns/k", Data: []byte("x"), Fork: true, Session: otherID}
	forked := forkTo(childID, "child's", "go")
	w.once(parentID, emits(both, forked, writeTo(otherID, "theirs", "x"), writeTo(parentID, "mine", "x"),
		text("memories/none", "x"), text("memory/ns/k", "x")))
	wantLines(t, "log", []string{
		"1 1.1 normal child's=go fork:2", "1 1.2 normal theirs=x to:3", "1 1.3 normal mine=x",
		"1 1.4 normal memories/none=x", "1 1.5 normal memory/ns/k=x",
	}, w.log(parentID))
	requireMemory(t, w, "ns", "k", 1)
	wantLines(t, "other", []string{"3 1.1 provisional theirs=x from:1@1"}, w.log(otherID))
}

// F25, F26, P7/success-response, S1/immutable-body: stored bytes are what is digested
// and served, with their length and their encoding, in later invocations too.
func TestEncodedBodiesAreServedAsTheyAreStored(t *testing.T) {
	w := newWorld(t, parentID)
	want := map[string][]byte{}
	for name, plain := range map[string][]byte{"tiny when packed": bytes.Repeat([]byte("a"), 4096), "bigger when packed": []byte("12345")} {
		packed, err := protocol.Compress("gzip", plain)
		require.NoError(t, err)
		want[name] = packed
		w.once(parentID, emits(protocol.Output{Name: name, ContentType: "text/plain", ContentEncoding: "gzip", Data: packed}))
	}
	for range 2 {
		_, call := w.once(parentID, func(call *invocation) error {
			for _, input := range call.inputs {
				if input.Name == "" {
					continue
				}
				require.True(t, strings.HasSuffix(input.URL, protocol.Digest(want[input.Name])), input.URL)
				response := requireAnswer(t, input.URL, 200, "text/plain", string(want[input.Name]))
				require.Equal(t, "gzip", response.Header.Get("Content-Encoding"))
			}
			return nil
		})
		require.Len(t, call.inputs, 4)
	}
}

// P7/reachable: in parallel, and long after the inputs have ended.
func TestServersAnswerInParallel(t *testing.T) {
	w := newWorld(t, parentID)
	for i := range 20 {
		w.push(parentID, fmt.Sprint(i), strings.Repeat(fmt.Sprint(i), 100*i))
	}
	w.once(parentID, func(call *invocation) error {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				response, err := http.Get(call.inputs[1+i].URL)
				if err != nil {
					t.Error(err)
					return
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if err != nil || string(body) != strings.Repeat(fmt.Sprint(i), 100*i) {
					t.Errorf("body %d: %d bytes, %v", i, len(body), err)
				}
			})
		}
		wg.Wait()
		return nil
	})
}
