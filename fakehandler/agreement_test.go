package fakehandler

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	sessionID = "00112233445566778899aabbccddeeff"
	someTrace = "00-00112233445566778899aabbccddeeff-b7ad6b7169203331-01"
)

var identity = []string{"PUGMARK_SESSION_ID=" + sessionID, "PUGMARK_AGENT_ID=me"}

// instruct serves instructions and whatever else other serves, and returns the
// record that names them.
func instruct(t *testing.T, do string, other http.HandlerFunc) (record string, s *servers) {
	t.Helper()
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sha256:do" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"case":"c","do":[`+do+`]}`)
			return
		}
		if other == nil {
			http.NotFound(w, r)
			return
		}
		other(w, r)
	})
	return `{"name":"conform/instructions","content-type":"application/json","url":"` + s.URL + `/sha256:do"}`, s
}

// conform runs the agreement handler on the subprocess transport, the input whole.
func conform(t *testing.T, env []string, input string) finished {
	t.Helper()
	c := start(t, env, nil, verbConform)
	go func() {
		_, _ = io.WriteString(c.stdin, input)
		c.stdin.Close()
	}()
	return c.finish(t)
}

// output is a record of the handler's stream, read without package protocol.
type output map[string]any

// outputs splits the stream at its line ends: each line is one record.
func outputs(t *testing.T, stream string) (all []output) {
	t.Helper()
	lines := strings.SplitAfter(stream, "\n")
	require.Empty(t, lines[len(lines)-1], "each record ends with LF")
	for _, line := range lines[:len(lines)-1] {
		var o output
		require.NoError(t, json.Unmarshal([]byte(line), &o), "line %q", line)
		all = append(all, o)
	}
	return all
}

// answerOf is the JSON body of the only Output, which has this name.
func answerOf(t *testing.T, end finished, name string) map[string]any {
	t.Helper()
	require.Equal(t, 0, end.Status, "stderr: %s", end.Stderr)
	all := outputs(t, end.Stdout)
	require.Len(t, all, 1)
	require.Equal(t, name, all[0]["name"])
	require.Equal(t, "application/json", all[0]["content-type"])
	body, err := base64.StdEncoding.DecodeString(all[0]["data"].(string))
	require.NoError(t, err)
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}

// entriesOf is what an observe saw besides the instructions.
func entriesOf(t *testing.T, end finished) (all []any) {
	t.Helper()
	for _, e := range answerOf(t, end, "conform/observed")["entries"].([]any) {
		if e.(map[string]any)["name"] != "conform/instructions" {
			all = append(all, e)
		}
	}
	return all
}

// observing runs one observe with these records between the memory announcement and
// the instructions.
func observing(t *testing.T, records string, other http.HandlerFunc) ([]any, *servers) {
	t.Helper()
	instructions, s := instruct(t, `{"op":"observe"}`, other)
	records = strings.ReplaceAll(records, "{url}", s.URL)
	return entriesOf(t, conform(t, identity, memoryAt(s)+records+instructions+`{"event":"start"}`)), s
}

func memoryAt(s *servers) string { return `{"event":"memory","url":"` + s.URL + `/root/"}` }

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestWritesAreByteExact(t *testing.T) {
	for name, c := range map[string]struct{ do, want string }{
		"text":  {`{"op":"write","text":"hello","name":"a"}`, `{"data":"aGVsbG8=","content-type":"text/plain","name":"a"}`},
		"json":  {`{"op":"write","json":{"b":1.50,"a":12345678901234567890}}`, `{"data":"` + b64(`{"b":1.50,"a":12345678901234567890}`) + `","content-type":"application/json"}`},
		"null":  {`{"op":"write","json":null,"name":"a"}`, `{"data":"bnVsbA==","content-type":"application/json","name":"a"}`},
		"bytes": {`{"op":"write","base64":"/+8="}`, `{"data":"/+8=","content-type":"application/octet-stream"}`},
		"typed": {`{"op":"write","text":"x","content-type":"text/markdown"}`, `{"data":"eA==","content-type":"text/markdown"}`},
		"empty": {`{"op":"write","text":"","name":"a"}`, `{"content-type":"text/plain","name":"a"}`},
		"all": {`{"op":"write","base64":"eA==","name":"n","content-type":"t/t","content-encoding":"gzip","schema-url":"s:","metadata":{"b":"2","a":"é"},"session":"` + sessionID + `","fork":true}`,
			`{"data":"eA==","content-type":"t/t","content-encoding":"gzip","schema-url":"s:","name":"n","metadata":{"a":"é","b":"2"},"fork":true,"session":"` + sessionID + `"}`},
		"zero values": {`{"op":"write","text":"x","fork":false,"session":"","metadata":{}}`, `{"data":"eA==","content-type":"text/plain"}`},
		"remote":      {`{"op":"write-remote","uri":"s3://b/k","name":"n"}`, `{"uri":"s3://b/k","name":"n"}`},
		"pause":       {`{"op":"pause","reason":"done"}`, `{"data":"ZG9uZQ==","content-type":"application/vnd.pugmark.pause+text"}`},
		"half a second": {`{"op":"sleep","seconds":0.5,"reason":"r"}`,
			`{"data":"cg==","content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"0.5s"}}`},
		"1.5 s": {`{"op":"sleep","seconds":1.5}`, `{"content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"1.5s"}}`},
		"250 us": {`{"op":"sleep","seconds":0.00025}`,
			`{"content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"0.00025s"}}`},
		"90 min": {`{"op":"sleep","seconds":5.4e3}`, `{"content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"5400s"}}`},
		"0 s":    {`{"op":"sleep","seconds":0}`, `{"content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"0s"}}`},
		"unknown op": {`{"op":"dance"}`,
			`{"data":"` + b64(`{"op":"dance"}`) + `","content-type":"application/json","name":"conform/unsupported"}`},
		"unknown field": {`{"op":"pause","reason":"x","colour":1}`,
			`{"data":"` + b64(`{"op":"pause","field":"colour"}`) + `","content-type":"application/json","name":"conform/unsupported"}`},
		"unknown encoding": {`{"op":"write","text":"x","content-encoding":"br"}`,
			`{"data":"` + b64(`{"op":"write","field":"content-encoding"}`) + `","content-type":"application/json","name":"conform/unsupported"}`},
		"several in order": {`{"op":"write","text":"1"},{"op":"dance"},{"op":"write","text":"2"}`,
			`{"data":"MQ==","content-type":"text/plain"}` + "\n" +
				`{"data":"` + b64(`{"op":"dance"}`) + `","content-type":"application/json","name":"conform/unsupported"}` + "\n" +
				`{"data":"Mg==","content-type":"text/plain"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record, _ := instruct(t, c.do, nil)
			end := conform(t, append([]string{"LC_ALL=C", "LANG=C", "PUGMARK_FUTURE=1"}, identity...), record+`{"event":"start"}`)
			requireDiff(t, "process", finished{Stdout: c.want + "\n"}, end)
		})
	}
}

func TestTextIsEncodedAsAsked(t *testing.T) {
	record, _ := instruct(t, `{"op":"write","text":"hello hello","content-encoding":"zstd"}`, nil)
	all := outputs(t, conform(t, identity, record+`{"event":"wake"}`).Stdout)
	require.Len(t, all, 1)
	require.Equal(t, "zstd", all[0]["content-encoding"])
	data, err := base64.StdEncoding.DecodeString(all[0]["data"].(string))
	require.NoError(t, err)
	require.Equal(t, []byte{0x28, 0xb5, 0x2f, 0xfd}, data[:4], "the magic number of zstd")
}

func TestObservedIsAllThatIsKnown(t *testing.T) {
	instructions, s := instruct(t, `{"op":"observe"}`, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "body of "+r.URL.Path)
	})
	env := append([]string{`PUGMARK_SESSION_METADATA={"k":"\u00e9","l":"漢"}`}, identity...)
	end := conform(t, env, memoryAt(s)+
		`{"name":"a","size":9007199254740993,"content-type":"text/plain","schema-url":"s:","metadata":{"m":"1"},"data":"aGk","x":[{}],"y":123456789012345678901234567890}`+
		`{"event":"push","name":"é😀","url":"`+s.URL+`/sha256:b"}`+instructions+`{"event":"fork"}`)
	got := answerOf(t, end, "conform/observed")
	requireDiff(t, "observed", map[string]any{
		"session": sessionID, "agent": "me", "metadata": map[string]any{"k": "é", "l": "漢"},
		"entries": []any{
			map[string]any{"name": "a", "size": json.Number("9007199254740993"), "content-type": "text/plain",
				"schema-url": "s:", "metadata": map[string]any{"m": "1"}, "body": "aGk="},
			map[string]any{"event": "push", "name": "é😀", "body": b64("body of /sha256:b")},
			map[string]any{"name": "conform/instructions", "content-type": "application/json", "body": b64(`{"case":"c","do":[{"op":"observe"}]}`)},
		},
		"events": []any{map[string]any{"event": "push", "name": "é😀"}, map[string]any{"event": "fork"}},
	}, got)
}

func TestItBeginsWithTheLifecycleEvent(t *testing.T) {
	for _, event := range []string{"start", "fork", "wake"} {
		record, _ := instruct(t, `{"op":"write","text":"x"}`, nil)
		c := start(t, identity, nil, verbConform)
		_, err := io.WriteString(c.stdin, record)
		require.NoError(t, err)
		require.NoError(t, c.stdout.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		_, err = c.stdout.Read(make([]byte, 1))
		require.Error(t, err, "it must wait for the signal")
		_, err = io.WriteString(c.stdin, `{"event":"`+event+`"}`)
		require.NoError(t, err)
		require.Equal(t, 0, c.finish(t).Status, "the input is still open")
	}
}

func TestTheEmptyEventIsTheLastRecord(t *testing.T) {
	const zeros = `{"event":"","url":"","size":0,"content-type":"","content-encoding":"","schema-url":"","name":"","metadata":{},"data":""}`
	for _, last := range []string{`{}`, `{"event":""}`, zeros} {
		record, s := instruct(t, `{"op":"observe"}`, nil)
		end := conform(t, identity, memoryAt(s)+`{}{"name":"a"}`+zeros+record+last)
		got := answerOf(t, end, "conform/observed")
		require.Len(t, got["entries"], 2, "records with nothing in them are no entries")
		require.Empty(t, got["events"])
	}
	end := conform(t, identity, `{"name":"a"}`)
	require.Equal(t, 1, end.Status)
	require.Empty(t, end.Stdout)
	require.Contains(t, end.Stderr, "without a lifecycle event")
}

func TestFramingDoesNotMatter(t *testing.T) {
	record, s := instruct(t, `{"op":"observe"}`, nil)
	records := []string{memoryAt(s), `{"name":"} {\"[é","data":"eA=="}`, record, `{"event":"start"}`}
	want := conform(t, identity, strings.Join(records, "\n")+"\n")
	require.Equal(t, 0, want.Status)
	for _, between := range []string{"", " ", "\t", "\r", "\n", "\r\n", " \n\t\r\n "} {
		require.Equal(t, want, conform(t, identity, between+strings.Join(records, between)+between), "between %q", between)
	}
	c := start(t, identity, nil, verbConform)
	go func() {
		for _, b := range []byte(strings.Join(records, "")) {
			_, _ = c.stdin.Write([]byte{b})
		}
	}()
	require.Equal(t, want, c.finish(t), "byte by byte")
	require.Equal(t, want, conform(t, identity, strings.ReplaceAll(strings.Join(records, ""), `"data":`, "\n\t\"d\\u0061ta\"\r :  ")))
}

func TestBothPaddingsAreTaken(t *testing.T) {
	for encoded, body := range map[string]string{"YQ==": "a", "YQ": "a", "YWI=": "ab", "YWI": "ab", "YWJj": "abc", "+/+/": "\xfb\xff\xbf"} {
		entries, _ := observing(t, `{"name":"a","data":"`+encoded+`"}`, nil)
		requireDiff(t, encoded, []any{map[string]any{"name": "a", "body": b64(body)}}, entries)
	}
}

func TestDataWinsOverURL(t *testing.T) {
	entries, s := observing(t, `{"name":"a","data":"eA==","url":"{url}/sha256:a"}{"name":"b","data":"","url":"{url}/sha256:b"}{"name":"c"}`,
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "fetched") })
	requireDiff(t, "entries", []any{map[string]any{"name": "a", "body": "eA=="},
		map[string]any{"name": "b", "body": b64("fetched")}, map[string]any{"name": "c", "body": ""}}, entries)
	asked, _ := s.seen()
	requireDiff(t, "asked", []string{"GET /sha256:do", "GET /sha256:b"}, asked)
}

// The bodies are written here by hand: gzip and zstd with stored, not compressed,
// blocks, as RFC 1952 and RFC 8878 lay them out.
const (
	gzipHello  = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x05\x00\xfa\xffhello\x86\xa6\x10\x36\x05\x00\x00\x00"
	gzipWorld  = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x05\x00\xfa\xffworld\x43\x11\x77\x3a\x05\x00\x00\x00"
	zstdHello  = "\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello"
	zstdWorld  = "\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00world"
	helloWorld = "helloworld"
)

func TestServersEncodingIsHonoured(t *testing.T) {
	for name, c := range map[string]struct {
		encoding, record, body, want string
	}{
		"gzip":                           {"gzip", "", gzipHello + gzipWorld, helloWorld},
		"zstd":                           {"zstd", "", zstdHello + zstdWorld, helloWorld},
		"another letter case":            {"GZip", "", gzipHello, "hello"},
		"identity":                       {"identity", "", "hello", "hello"},
		"none, whatever the record says": {"", "gzip", "hello", "hello"},
		"the server over the record":     {"zstd", "gzip", zstdHello, "hello"},
		"cut short":                      {"gzip", "", gzipHello[:20], ""},
		"a cut frame":                    {"zstd", "", zstdHello + zstdWorld[:11], ""},
		"not packed":                     {"gzip", "", "hello", ""},
		"nothing at all":                 {"gzip", "", "", ""},
		"unknown":                        {"br", "", "hello", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries, _ := observing(t, `{"name":"a","url":"{url}/sha256:a","content-encoding":"`+c.record+`"}`,
				func(w http.ResponseWriter, r *http.Request) {
					if c.encoding != "" {
						w.Header().Set("Content-Encoding", c.encoding)
					}
					_, _ = io.WriteString(w, c.body)
				})
			require.Len(t, entries, 1)
			requireBodyOrError(t, entries[0], c.want)
		})
	}
	entries, _ := observing(t, `{"name":"a","data":"`+b64(gzipHello)+`","content-encoding":"gzip"}{"name":"b","data":"eA==","content-encoding":"br"}`, nil)
	require.Len(t, entries, 2)
	requireBodyOrError(t, entries[0], "hello")
	requireBodyOrError(t, entries[1], "")
}

// requireBodyOrError wants an error where no body is wanted.
func requireBodyOrError(t *testing.T, entry any, want string) {
	t.Helper()
	e := entry.(map[string]any)
	if want == "" {
		require.NotEmpty(t, e["error"])
		require.NotContains(t, e, "body")
		return
	}
	require.Equal(t, b64(want), e["body"], "error: %v", e["error"])
}

func TestWrongAnswersAreErrors(t *testing.T) {
	wrong := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/drop":
			panic(http.ErrAbortHandler) // no answer at all
		case "/right":
			_, _ = io.WriteString(w, "right")
		default:
			w.Header().Set("Location", "/right")
			var status int
			_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
			w.WriteHeader(status)
			if status != http.StatusNotModified {
				_, _ = io.WriteString(w, "body")
			}
		}
	}
	for _, path := range []string{"404", "500", "403", "301", "302", "307", "304", "cut", "drop"} {
		entries, s := observing(t, `{"name":"a","url":"{url}/`+path+`"}`, wrong)
		require.Len(t, entries, 1)
		requireBodyOrError(t, entries[0], "")
		asked, _ := s.seen()
		require.Equal(t, []string{"GET /sha256:do", "GET /" + path}, asked, "nothing is followed, nothing is repeated")
	}
	entries, _ := observing(t, `{"name":"a","url":"http://127.0.0.1:1/x"}{"name":"b","url":"{url}/right"}`, wrong)
	requireBodyOrError(t, entries[0], "")
	requireBodyOrError(t, entries[1], "right")

	_, s := instruct(t, `{"op":"write","text":"x"}`, nil)
	end := conform(t, identity, `{"name":"conform/instructions","url":"`+s.URL+`/404"}{"event":"start"}`)
	require.Equal(t, 1, end.Status)
	require.Empty(t, end.Stdout)
	require.Contains(t, end.Stderr, "status 404")
}

func TestAnUnknownVersionEndsWithoutOutputs(t *testing.T) {
	record, s := instruct(t, `{"op":"write","text":"x"}`, nil)
	rest := memoryAt(s) + record + `{"event":"start"}`
	const wrote = "{\"data\":\"eA==\",\"content-type\":\"text/plain\"}\n"
	require.Equal(t, finished{}, conform(t, identity, `{"event":"protocol","metadata":{"version":"2"}}`+rest))
	require.Equal(t, finished{}, conform(t, identity, `{"event":"protocol"}`+rest))
	require.Equal(t, finished{Stdout: wrote}, conform(t, identity, `{"event":"protocol","metadata":{"version":"1"}}`+rest))
	require.Equal(t, finished{Stdout: wrote}, conform(t, identity, memoryAt(s)+`{"event":"protocol","metadata":{"version":"2"}}`+rest), "not leading")
	require.Equal(t, finished{Stdout: wrote}, conform(t, identity, rest))
}

func TestTheLatestInstructionsCount(t *testing.T) {
	first, _ := instruct(t, `{"op":"fail"}`, nil)
	second, _ := instruct(t, `{"op":"write","text":"x"}`, nil)
	require.Equal(t, "{\"data\":\"eA==\",\"content-type\":\"text/plain\"}\n", conform(t, identity, first+second+`{"event":"start"}`).Stdout)
	require.Equal(t, finished{}, conform(t, identity, `{"name":"a","data":"eA=="}{"event":"start"}`), "without any, nothing")
	require.Equal(t, finished{}, conform(t, identity, `{"event":"memory","url":"http://127.0.0.1:1/"}{}`), "an empty session")
}

func TestFailAndLogGoToStderr(t *testing.T) {
	record, _ := instruct(t, `{"op":"log","text":"a line"},{"op":"write","text":"x"},{"op":"fail"},{"op":"write","text":"never"}`, nil)
	end := conform(t, identity, record+`{"event":"start"}`)
	require.Equal(t, 1, end.Status)
	require.Equal(t, "{\"data\":\"eA==\",\"content-type\":\"text/plain\"}\n", end.Stdout)
	require.True(t, strings.HasPrefix(end.Stderr, "a line\n"), end.Stderr)
	require.Contains(t, end.Stderr, "told to fail")
}

func TestBrokenInputFails(t *testing.T) {
	record, _ := instruct(t, `{"op":"write","text":"x"}`, nil)
	for _, broken := range []string{"\xef\xbb\xbf", "log\n", `{"name":"` + "\xff" + `"}`, `{"size":"1"}`, `{"data":"a-_b"}`, `{"metadata":{"k":null}}`} {
		end := conform(t, identity, broken+record+`{"event":"start"}`)
		require.Equal(t, 1, end.Status, "%q", broken)
		require.Empty(t, end.Stdout, "%q", broken)
		require.NotEmpty(t, end.Stderr)
	}
	require.Equal(t, 1, conform(t, identity, record+`{"event":"sta`).Status)
	require.Equal(t, 1, conform(t, nil, record+`{"event":"start"}`).Status, "no identity")
	require.Equal(t, 1, conform(t, append([]string{"PUGMARK_SESSION_METADATA=[]"}, identity...), record+`{"event":"start"}`).Status)
}

func TestNullIsTheZeroValue(t *testing.T) {
	entries, _ := observing(t, `{"name":"a","event":null,"url":null,"size":null,"metadata":null,"data":null,"content-type":null}`, nil)
	requireDiff(t, "entries", []any{map[string]any{"name": "a", "body": ""}}, entries)
}

func TestLoadIsTheLatestOfItsName(t *testing.T) {
	records := `{"name":"a","data":"b2xk"}{"name":"a","data":"eyJrIjoxLjUwfQ=="}{"name":"e"}{"name":"bin","data":"/w=="}{"name":"gone","url":"http://127.0.0.1:1/x"}`
	for op, want := range map[string]map[string]any{
		`{"op":"load","name":"a","as":"text"}`:    {"name": "a", "as": "text", "found": true, "text": `{"k":1.50}`},
		`{"op":"load","name":"a","as":"json"}`:    {"name": "a", "as": "json", "found": true, "json": map[string]any{"k": json.Number("1.50")}},
		`{"op":"load","name":"a","as":"bytes"}`:   {"name": "a", "as": "bytes", "found": true, "base64": "eyJrIjoxLjUwfQ=="},
		`{"op":"load","name":"e","as":"text"}`:    {"name": "e", "as": "text", "found": true, "text": ""},
		`{"op":"load","name":"e","as":"bytes"}`:   {"name": "e", "as": "bytes", "found": true, "base64": ""},
		`{"op":"load","name":"no","as":"text"}`:   {"name": "no", "as": "text", "found": false},
		`{"op":"load","name":"bin","as":"text"}`:  {"name": "bin", "as": "text", "found": true, "error": "the body is not UTF-8"},
		`{"op":"load","name":"e","as":"json"}`:    {"name": "e", "as": "json", "found": true, "error": "the body is not JSON"},
		`{"op":"load","name":"bin","as":"bytes"}`: {"name": "bin", "as": "bytes", "found": true, "base64": "/w=="},
	} {
		instructions, _ := instruct(t, op, nil)
		requireDiff(t, op, want, answerOf(t, conform(t, identity, records+instructions+`{}`), "conform/loaded"))
	}
	instructions, _ := instruct(t, `{"op":"load","name":"gone","as":"text"}`, nil)
	require.NotEmpty(t, answerOf(t, conform(t, identity, records+instructions+`{}`), "conform/loaded")["error"])
}

func TestMemoryIsReadBelowTheAnnouncedRoot(t *testing.T) {
	instructions, s := instruct(t, `{"op":"memory","key":"team/ops/a b%?é"}`, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, gzipHello)
	})
	env := append([]string{"TRACEPARENT=" + someTrace, "TRACESTATE=a=b"}, identity...)
	got := answerOf(t, conform(t, env, memoryAt(s)+instructions+`{"event":"start"}`), "conform/memory")
	requireDiff(t, "answer", map[string]any{"key": "team/ops/a b%?é", "body": b64("hello")}, got)
	asked, heads := s.seen()
	requireDiff(t, "asked", []string{"GET /sha256:do", "GET /root/team/ops/a%20b%25%3F%C3%A9"}, asked)
	for _, head := range heads {
		require.Equal(t, someTrace, head.Get("traceparent"))
		require.Equal(t, "a=b", head.Get("tracestate"))
	}

	instructions, s = instruct(t, `{"op":"memory","key":"n/x"}`, nil)
	require.NotEmpty(t, answerOf(t, conform(t, identity, memoryAt(s)+instructions+`{"event":"start"}`), "conform/memory")["error"])
	_, heads = s.seen()
	require.Empty(t, heads[0].Get("traceparent"), "no context, none sent")
	require.NotEmpty(t, answerOf(t, conform(t, identity, instructions+`{"event":"start"}`), "conform/memory")["error"], "never announced")
}

func TestTheSameInputGivesTheSameOutputs(t *testing.T) {
	instructions, s := instruct(t, `{"op":"observe"},{"op":"load","name":"a","as":"text"},{"op":"memory","key":"n/x"},{"op":"sleep","seconds":0.1}`, nil)
	input := memoryAt(s) + `{"name":"a","url":"` + s.URL + `/404"}` + instructions + `{"event":"start"}`
	first := conform(t, identity, input)
	require.Equal(t, 0, first.Status)
	for range 3 {
		require.Equal(t, first, conform(t, identity, input))
	}
}
