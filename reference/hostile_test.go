package reference_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
)

// hostile is what must reach no terminal: line ends, escape sequences of 7 and of 8
// bits, DEL, NUL, and bytes that are no UTF-8.
const hostile = "a\nb\rc\x1b[31md\u009b31me\x7ff\x00g\xff\xfeh"

// requireHarmless wants one line of printable text.
func requireHarmless(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	said := err.Error()
	require.True(t, utf8.ValidString(said), "%q", said)
	for _, r := range said {
		require.True(t, unicode.IsPrint(r), "%q in %q", r, said)
	}
}

// refused runs a handler that emits an output, which must fail the invocation and
// leave nothing.
func refused(t *testing.T, w *world, output protocol.Output) error {
	t.Helper()
	before := w.log(parentID)
	_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(&scripted{steps: []func(*invocation) error{emits(output)}}))
	var failure *reference.InvocationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, reference.ReasonOutput, failure.Reason)
	if diff := cmp.Diff(before, w.log(parentID)); diff != "" {
		t.Errorf("log (-before +after):\n%s", diff)
	}
	return err
}

func TestErrorsCarryNoRawBytesOfAnOutput(t *testing.T) {
	folder := t.TempDir()
	plain := strings.NewReplacer("\x00", "").Replace(hostile)
	require.NoError(t, os.Mkdir(filepath.Join(folder, plain), 0o777))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(folder, plain+"link")))
	escaped := ""
	for _, b := range []byte(plain) {
		escaped += fmt.Sprintf("%%%02x", b)
	}
	bucket, err := dirbucket.Open(t.TempDir())
	require.NoError(t, err)
	sources := reference.Schemes{
		"file": reference.Folders{folder}, "s3": reference.Stored{Root: "s3://bucket/", Bucket: bucket},
	}
	outputs := map[string]protocol.Output{
		"content type":        {ContentType: hostile, Name: "x"},
		"encoding":            {ContentEncoding: hostile, Name: "x"},
		"encoding of a pause": {ContentType: protocol.TypePause, ContentEncoding: hostile, Data: []byte("x")},
		"session":             {Session: hostile},
		"forked session":      {Session: hostile, Fork: true},
		"memory object":       {Name: "memories/" + hostile + "/.."},
		"memory space":        {Name: "memories/../" + hostile + "/x"},
		"empty segment":       {Name: "memories/" + hostile + "//x"},
		"long space":          {Name: "memories/" + strings.Repeat(plain, 50) + "/x"},
		"control":             {ContentType: protocol.TypeControl, Name: hostile, URI: hostile, Session: hostile},
		"uri":                 {URI: hostile},
		"scheme":              {URI: hostile + "://x"},
		"file":                {URI: "file://" + folder + "/" + hostile},
		"file host":           {URI: "file://" + plain + "/x"},
		"file query":          {URI: "file:///x?" + plain},
		"absent file":         {URI: "file://" + folder + "/" + escaped + "no"},
		"folder":              {URI: "file://" + folder + "/" + escaped},
		"link":                {URI: "file://" + folder + "/" + escaped + "link"},
		"outside":             {URI: "file:///" + escaped},
		"key":                 {URI: "s3://bucket/" + hostile},
		"key outside":         {URI: "s3://" + hostile},
		"uri of a pause":      {ContentType: protocol.TypePause, URI: "file:///" + escaped},
		"uri of a memory":     {Name: "memories/ns/" + plain, URI: "file:///" + escaped},
	}
	w := newWorld(t, parentID)
	w.runtime = w.on(bucket) // a folder: its errors name paths
	w.start(storage.Manifest{Session: parentID})
	w.push(parentID, "a", "x")
	for name, output := range outputs {
		for sourceName, from := range map[string]reference.Sources{"schemes": sources, "folders": reference.Folders{folder}, "store": sources["s3"], "none": nil} {
			t.Run(name+" "+sourceName, func(t *testing.T) {
				w.runtime.Sources = from
				requireHarmless(t, refused(t, w, output))
			})
		}
	}
}

// The same of what comes over a wire: records that are none, and answers that are no HTTP.
func TestErrorsCarryNoRawBytesOfAStream(t *testing.T) {
	const c1, del = "\u009b31m", "\x7f"
	answers := map[string]string{
		"no HTTP": hostile, "no version": "HTTP/" + hostile + " 200 OK\r\n\r\n", "status": "HTTP/1.1 \x1b[31m OK\r\n\r\n",
		"field name": "HTTP/1.1 200 OK\r\n\x1b[31m" + c1 + ": x\r\n\r\n", "field": "HTTP/1.1 200 OK\r\n\x1b[31mx\r\n\r\n",
		"first line": "HTTP/1.1 200 OK\r\n \x1b[31mx" + del + ": y\r\n\r\n",
		"length":     "HTTP/1.1 200 OK\r\nContent-Length: \x1b[31m\r\n\r\n", "coding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: \x1b[31m\r\n\r\n",
		"refusal": "HTTP/1.1 500 No\r\nConnection: close\r\n\r\n" + hostile, "redirect": "HTTP/1.1 307 No\r\nLocation: /\x1b[31m" + c1 + "\r\n\r\n",
	}
	for name, stream := range map[string]string{
		"text": hostile, "string": `{"name":"` + hostile + `"}`, "cut": `{"name":"` + c1 + del,
		"twice": `{"` + c1 + del + `":1,"` + c1 + del + `":2}`, "escaped twice": `{"\u001b[31m":1,"\u001b[31m":2}`,
		"type": `{"metadata":{"` + c1 + del + `":1}}`, "base64": `{"data":"` + c1 + `"}`, "other type": `{"name":["` + c1 + `"]}`,
		"escaped base64": `{"data":"\u001b"}`, "literal": "{\"a\": \x1b}", "nested": `{"` + c1 + `":{"x":{"` + del + `":tru}}}`,
	} {
		answers["stream: "+name] = "HTTP/1.0 200 OK\r\n\r\n" + stream
	}
	for name, raw := range answers {
		t.Run(name, func(t *testing.T) {
			err := runAt(t, newWorld(t, parentID), answer(t, true, raw))
			var failure *reference.InvocationError
			require.ErrorAs(t, err, &failure)
			requireHarmless(t, err)
		})
	}
}

// What a handler writes to stderr keeps its lines in an error, and nothing that a terminal would obey.
func TestStderrInAnErrorIsHarmless(t *testing.T) {
	w := newWorld(t, parentID)
	_, err := w.runtime.RunOnce(t.Context(), parentID, handledBy(reference.Subprocess{
		Command: []string{"/bin/sh", "-c", `printf 'one\n\ttwo\033[31m\302\233 \377\r\n' >&2; exit 3`},
	}))
	require.ErrorContains(t, err, "its stderr:\none\n\ttwo\\x1b[31m\\u009b \uFFFD\\r")
}

// Errors about what a caller asked for are no better trusted.
func TestRequestErrorsCarryNoRawBytes(t *testing.T) {
	w := newWorld(t, parentID)
	calls := map[string]error{}
	_, calls["push to"] = w.runtime.Push(t.Context(), hostile, reference.Object{})
	_, calls["push name"] = w.runtime.Push(t.Context(), parentID, reference.Object{Name: hostile})
	_, calls["push type"] = w.runtime.Push(t.Context(), parentID, reference.Object{ContentType: "\x1b[31m"})
	_, calls["push encoding"] = w.runtime.Push(t.Context(), parentID, reference.Object{ContentEncoding: "\x1b[31m"})
	_, calls["start"] = w.runtime.StartSession(t.Context(), storage.Manifest{Session: hostile})
	_, calls["inspect"] = w.runtime.Inspect(t.Context(), hostile)
	_, calls["memory"] = w.runtime.MemoryObject(t.Context(), hostile)
	_, calls["run"] = w.runtime.RunOnce(t.Context(), hostile, handledBy(&scripted{}))
	calls["write"] = w.runtime.WriteMemory(t.Context(), "a/"+hostile, reference.Object{})
	named := reference.Registry{Named: map[string]reference.Transport{"\x1b[31m": &scripted{}}}
	_, calls["handler"] = w.runtime.RunOnce(t.Context(), parentID, reference.RunOptions{Handlers: named})
	for name, err := range calls {
		t.Run(name, func(t *testing.T) {
			var refused *reference.RequestError
			require.ErrorAs(t, err, &refused)
			requireHarmless(t, err)
		})
	}
}

// STORAGE B, section 5.3: a name that starts with memories/<namespace>/ goes to memory, where a
// segment that is empty is refused. With one segment it goes there not at all (R10).
func TestMemoryNamesWithEmptySegments(t *testing.T) {
	for name, says := range map[string]string{
		"memories//x": `namespace ""`, "memories/a/": `object name ""`, "memories//": `namespace ""`,
		"memories/a//x": `namespace "a/"`, "memories//a/x": `namespace "/a"`,
	} {
		t.Run(name, func(t *testing.T) {
			err := refused(t, newWorld(t, parentID), protocol.Output{Name: name, Data: []byte("x")})
			require.ErrorContains(t, err, fmt.Sprintf("%q", name))
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, `the segment ""`)
		})
	}
	w := newWorld(t, parentID)
	w.once(parentID, emits(text("memories/x", "1"), text("memories/", "2")))
	wantLines(t, "log", []string{"1 1.1 normal memories/x=1", "1 1.2 normal memories/=2"}, w.log(parentID))
}

// Sections 4.1 and 5.1: an encoding is gzip, zstd or absent. Section 7 sends both it and the type as header
// fields, which hold no control characters.
func TestFieldsThatCanNotBeServed(t *testing.T) {
	for _, encoding := range []string{"br", "GZIP", "gzip, zstd", "gzip\r\nX-Other: 1", " gzip", "deflate"} {
		for route, output := range map[string]protocol.Output{
			"local": {Name: "x"}, "memory": {Name: "memories/ns/x"}, "fork": {Fork: true}, "write": {Session: otherID},
			"pause": {ContentType: protocol.TypePause, Data: []byte("x")},
		} {
			t.Run(route+" "+encoding, func(t *testing.T) {
				output.ContentEncoding = encoding
				err := refused(t, newWorld(t, parentID, otherID), output)
				require.ErrorContains(t, err, fmt.Sprintf("content-encoding %q", encoding))
				require.ErrorContains(t, err, "gzip, zstd or none")
			})
		}
		_, err := newWorld(t, parentID).runtime.Push(t.Context(), parentID, reference.Object{ContentEncoding: encoding})
		var refused *reference.RequestError
		require.ErrorAs(t, err, &refused)
		err = newWorld(t).runtime.WriteMemory(t.Context(), "ns/x", reference.Object{ContentEncoding: encoding})
		require.ErrorAs(t, err, &refused)
	}
	for _, kind := range []string{"text/plain\r\nX-Other: 1", "text/plain\x00", "\x1b[31m", "text/plain\x7f", "text/plain\n"} {
		t.Run(fmt.Sprintf("%q", kind), func(t *testing.T) {
			err := refused(t, newWorld(t, parentID), protocol.Output{ContentType: kind, Data: []byte("x")})
			require.ErrorContains(t, err, "content-type "+fmt.Sprintf("%q", kind))
			require.ErrorContains(t, err, "control character")
			_, err = newWorld(t, parentID).runtime.Push(t.Context(), parentID, reference.Object{ContentType: kind})
			var refused *reference.RequestError
			require.ErrorAs(t, err, &refused)
		})
	}
	w := newWorld(t, parentID)
	w.once(parentID, emits(
		protocol.Output{Name: "a", ContentType: "text/plain;\tcharset=\"ü\"", ContentEncoding: "gzip", Data: []byte("x")},
		protocol.Output{Name: "b", ContentEncoding: "zstd", Data: []byte("x")},
		protocol.Output{Name: "c", ContentEncoding: "identity", Data: []byte("x")},
	))
	_, call := w.once(parentID)
	var encodings []string
	for _, input := range call.inputs[1:4] {
		encodings = append(encodings, input.ContentEncoding)
	}
	require.Equal(t, []string{"gzip", "zstd", ""}, encodings)
}

// Section 10: the reason is UTF-8. What is kept of another is said, and so is what is cut off.
func TestReasonsThatCanNotBeKeptWhole(t *testing.T) {
	const most = 1 << 20
	for name, c := range map[string]struct{ reason, kept, says string }{
		"whole":                 {"é 漢 😀", "é 漢 😀", ""},
		"longest":               {strings.Repeat("x", most), strings.Repeat("x", most), ""},
		"longest, by character": {strings.Repeat("é", most/2), strings.Repeat("é", most/2), ""},
		"too long":              {strings.Repeat("x", most+1), strings.Repeat("x", most), "cut"},
		"cut in a character":    {"x" + strings.Repeat("é", most/2), "x" + strings.Repeat("é", most/2-1), "cut"},
		"cut in a long one":     {"x" + strings.Repeat("😀", most/4), "x" + strings.Repeat("😀", most/4-1), "cut"},
		"no UTF-8":              {"a\xffb", "a\uFFFDb", "UTF-8"},
		"half a character":      {"a\xf0\x9f", "a\uFFFD", "UTF-8"},
		"too long, no UTF-8":    {"\xff" + strings.Repeat("x", most), "\uFFFD" + strings.Repeat("x", most-1), "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parentID)
			var said bytes.Buffer
			w.runtime.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
			w.once(parentID, emits(pause(c.reason)))
			dump, err := w.runtime.Inspect(t.Context(), parentID)
			require.NoError(t, err)
			got := dump.Snapshots[0].Entries[0].Control.Reason
			require.True(t, got == c.kept, "got %d bytes, %.20q...%q, want %d bytes", len(got), got, got[max(0, len(got)-20):], len(c.kept))
			if c.says == "" {
				require.Empty(t, said.String())
				return
			}
			require.Contains(t, said.String(), c.says)
			require.Contains(t, said.String(), "session="+parentID)
		})
	}
}
