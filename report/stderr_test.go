package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
)

// numbered is n lines, the first with the number from.
func numbered(from, n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("line %d", from+i))
	}
	return lines
}

func TestTheLinesThatTellMostAreShown(t *testing.T) {
	const served = `127.0.0.1 - - [30/Nov/2026 01:58:21] "POST / HTTP/1.1" 500 -`
	join := func(parts ...any) (lines []string) {
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				lines = append(lines, p)
			case []string:
				lines = append(lines, p...)
			}
		}
		return lines
	}
	for name, c := range map[string]struct{ wrote, want []string }{
		"all of a few":             {join(numbered(1, 5), served, "", "\tKeyError: 'a'\x1b"), join(numbered(1, 5), `    KeyError: 'a'\x1b`)},
		"why at the end":           {join(numbered(1, 8), "KeyError: 'a'", served), join("... (4 lines left out) ...", numbered(5, 4), "KeyError: 'a'")},
		"why far before the end":   {join(numbered(1, 2), "KeyError: 'a'", numbered(3, 9)), join("... (2 lines left out) ...", "KeyError: 'a'", "... (6 lines left out) ...", numbered(9, 3))},
		"why at the start":         {join("panic: no", numbered(1, 9)), join("panic: no", "... (5 lines left out) ...", numbered(6, 4))},
		"no line that says why":    {numbered(1, 20), join("line 1", "... (15 lines left out) ...", numbered(17, 4))},
		"what was left out before": {join(numbered(1, 3), " ... (77 bytes left out) ... ", numbered(4, 9)), join("line 1", "... (8 lines and 77 bytes left out) ...", numbered(9, 4))},
		"nothing but requests":     {join(served, served), nil},
	} {
		if diff := cmp.Diff(c.want, telling(strings.Join(c.wrote, "\n")+"\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStderrIsABlockOfWholeLines(t *testing.T) {
	run := sample(t)
	folder := withStderr(t, run, "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'name'\n127.0.0.1 - - [d] \"POST / HTTP/1.1\" 500 -\n")
	const block = "    stderr    Traceback (most recent call last):\n                File \"a.py\", line 3\n              KeyError: 'name'\n    rerun "
	require.Contains(t, summary(t, &Terminal{Evidence: folder}, run), block)
	require.Contains(t, rendered(t, Renderer.Markdown, Renderer{Evidence: folder}, run), block)
	require.NotContains(t, summary(t, &Terminal{}, run), "stderr    Traceback")
}

func TestTheWordsOfAHandlerCountAndNotHowATransportShowsThem(t *testing.T) {
	m := newMaker(t)
	m.requirement("P3/utf8", result.Fail)
	add := func(id, transport, got string) {
		m.add(result.Case{ID: id, Verdict: result.Fail, Checks: []result.Check{
			{ID: "exit", Requirement: "P3/utf8", Verdict: result.Fail, Where: "end of the handler", Got: got}}}, transport)
	}
	add("handler/a/a", "rpc", "nothing")
	add("handler/a/b", "rpc", `answered with HTTP status 500; stderr says "KeyError: 1"`)
	add("handler/a/b", "subprocess", `exited with status 1; stderr says "KeyError: 1"`)
	add("handler/a/c", "rpc", `answered with HTTP status 500; stderr says "KeyError: 2"`)
	add("handler/a/c", "subprocess", `exited with status 1; stderr says "ValueError: 2"`)
	add("handler/a/d", "subprocess", `exited with status 1; stderr says "RuntimeError: `+strings.Repeat("x", 60)+`"`)
	add("handler/a/e", "subprocess", `exited with status 1; stderr says "RuntimeError: `+strings.Repeat("x", 60)+`"`)
	require.Contains(t, summary(t, &Terminal{Width: 100}, m.run), `
  also handler/a/b on rpc, subprocess: stderr says "KeyError: 1"
  also handler/a/c on rpc: stderr says "KeyError: 2"
  also handler/a/c on subprocess: stderr says "ValueError: 2"
  also handler/a/d on subprocess:
       stderr says "RuntimeError: `+strings.Repeat("x", 60)+"\"\n  also handler/a/e on subprocess: the same\n")
}
