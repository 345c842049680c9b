package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/report/schema"
	"pugmark.dev/conform/result"
)

// TestABrokenEntryIsRedInEveryFormat: every case is as it should be, and an entry of
// the known-failures file matches nothing.
func TestABrokenEntryIsRedInEveryFormat(t *testing.T) {
	run := clear(t)
	run.Known = &result.Excuses{File: "ci/known.yaml", Entries: []result.Excuse{
		{Line: 3, Case: "handler/a/b", Requirements: []string{}, Checks: []string{}, Where: []string{}, Failed: []string{}, At: []string{}},
		{Line: 9, Case: "handler/a/*", Transport: "rpc", Requirements: []string{}, Checks: []string{}, Where: []string{}, Failed: []string{}, At: []string{}, Problem: "matches nothing\x1b<b>"},
	}}
	run.Masked = []string{"API_TOKEN"}
	run.Verdict = result.NotConformant // coverage.Verdict sees to it
	var text, junit, markdown, github, stored bytes.Buffer
	require.NoError(t, (&Terminal{Out: &text}).Summary(run, nil))
	require.NoError(t, Renderer{}.JUnit(&junit, run))
	require.NoError(t, Renderer{}.Markdown(&markdown, run))
	require.NoError(t, Renderer{}.GitHub(&github, run))
	require.NoError(t, WriteJSON(&stored, run))
	require.Contains(t, text.String(), "KNOWN-FAILURES FILE  1 entry does not hold\n  ci/known.yaml:9: handler/a/* on rpc: matches nothing\\x1b<b>\n")
	require.Contains(t, text.String(), "masked   the values of API_TOKEN, wherever they stood\n")
	require.Contains(t, junit.String(), "ci/known.yaml:9: handler/a/* on rpc: matches nothing\\x1b&lt;b&gt;")
	require.Contains(t, markdown.String(), "- `ci/known.yaml:9: handler/a/* on rpc: matches nothing\\x1b<b>`\n")
	require.Contains(t, markdown.String(), "`API_TOKEN`")
	require.Contains(t, github.String(), "::error file=ci/known.yaml,line=9,title=known failure%3A handler/a/*::matches nothing\\x1b<b>\n")
	for _, s := range []string{text.String(), junit.String(), markdown.String(), github.String()} {
		require.NotContains(t, s, "known.yaml:3", "an entry that holds is not told of")
	}
	require.NoError(t, schema.Validate(stored.Bytes()))
	again, err := decoded(stored.Bytes())
	require.NoError(t, err)
	require.Equal(t, run.Known, again.Known)
}
