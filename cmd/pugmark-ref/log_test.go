package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
)

// said makes an invocation write an output.
func said(t *testing.T, output string) {
	t.Helper()
	require.NoError(t, os.WriteFile("output", []byte(output), 0o666))
	status, _, stderr := call(t, "run", "--once", "--", "sh", "-c", "cat >/dev/null; cat output")
	require.Zero(t, status, stderr)
}

// Nothing that a handler can set makes a line, or a fact, of its own.
func TestNobodyForgesTheLog(t *testing.T) {
	session := started(t) // 1.1: hello
	for _, output := range []string{
		`{"name":"a\n9.9  normal  stopped  reason forged"}`,
		`{"name":"a  to 11111111111111111111111111111111"}`,
		`{"name":"\u001b[2J\u009b1m\u202e\r\b\u007f \ttab"}`,
		`{"name":" a"}{"name":"\"a\""}{"name":"a\\n"}{"name":"\u00a0"}`,
		`{"content-type":"stopped"}{"content-type":"name a/b"}{"content-type":"text/plain; charset=utf-8"}`,
		`{"data":"bGluZQoJdGFiChtbMkoNOS45ICBub3JtYWwKwptY4oCu"}`,                                     // line\n\ttab\n\x1b[2J\r9.9  normal\n\u009bX\u202e
		`{"content-type":"application/vnd.pugmark.pause+text","data":"aApcCjkuOSAgbm9ybWFsG1sySg=="}`, // h\n\\\n9.9  normal\x1b[2J
	} {
		said(t, output)
	}
	want := strings.Join([]string{
		`1.1  queueing  text/plain  5 bytes`,
		`    hello`,
		`2.2  normal  name "a\n9.9  normal  stopped  reason forged"  0 bytes`,
		`3.3  normal  name "a  to 11111111111111111111111111111111"  0 bytes`,
		`4.4  normal  name "\x1b[2J\u009b1m\u202e\r\b\x7f \ttab"  0 bytes`,
		`5.5  normal  name " a"  0 bytes`,
		`5.6  normal  name "\"a\""  0 bytes`,
		`5.7  normal  name "a\\n"  0 bytes`,
		`5.8  normal  name "\u00a0"  0 bytes`,
		`6.9  normal  "stopped"  0 bytes`,
		`6.10  normal  "name a/b"  0 bytes`,
		`6.11  normal  text/plain; charset=utf-8  0 bytes`,
		`7.12  normal  33 bytes`,
		`    line`,
		"    \ttab",
		`    \x1b[2J\r9.9  normal`,
		`    \u009bX\u202e`,
		`8.13  normal  stopped  reason "h\n\\\n9.9  normal\x1b[2J"`,
		`9.14  "x\n9.9"  name a  "t/p\n9.9  normal"  encoding "stopped  reason x\x1b"  0 bytes`,
		`    (it can't be decoded: unknown content encoding "stopped  reason x\x1b" (known: gzip, zstd))`,
	}, "\n")
	// Another runtime may have written what this one refuses.
	bucket, err := dirbucket.Open(defaultStore)
	require.NoError(t, err)
	defer bucket.Close()
	store := &storage.Store{Bucket: bucket}
	none, err := store.PutBody(t.Context(), strings.NewReader(""))
	require.NoError(t, err)
	_, err = store.Append(t.Context(), session, "x\n9.9", []storage.Entry{{
		Name: "a", ContentType: "t/p\n9.9  normal", ContentEncoding: "stopped  reason x\x1b", Digest: none.Digest,
	}})
	require.NoError(t, err)
	status, got, stderr := call(t, "log", "-A")
	require.Zero(t, status, stderr)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONLeavesATerminalAlone(t *testing.T) {
	started(t)
	const name = "\x7f\u009b1m\u202e\u2028\U000E0001é☃"
	said(t, `{"name":"\u007f\u009b1m\u202e\u2028\udb40\udc01é☃"}{"name":"memories/ns/\u009b\u202e"}`)
	for _, args := range [][]string{{"log", "--json"}, {"inspect"}, {"memory", "list", "--json"}} {
		status, out, stderr := call(t, args...)
		require.Zero(t, status, stderr)
		require.Equal(t, strings.ReplaceAll(out, "\n", ""), safe(strings.ReplaceAll(out, "\n", "")), "%q", args)
	}
	_, out, _ := call(t, "log", "--json")
	lines := strings.Split(out, "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[1], `"name":"\u007f\u009b1m\u202e\u2028\udb40\udc01é☃"`)
	var entry struct{ Name string }
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &entry))
	require.Equal(t, name, entry.Name)
	_, out, _ = call(t, "memory", "list")
	require.Equal(t, `"ns/\u009b\u202e"  0 bytes`, out)
}
