package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the README, the package's comment and the help say of exit statuses is one.
func TestExitStatusesAreDocumentedAlike(t *testing.T) {
	words := []string{
		"0 all is well",
		"1 an invocation failed by its handler",
		"2 everything else: wrong usage",
	}
	status, topic, _ := call(t, "help", "exit-status")
	require.Zero(t, status)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, word := range words {
		require.Contains(t, plain(topic), word)
		require.Contains(t, plain(string(readme)), word)
	}
	const short = "Exit status: 0 when all is well, 1 when an invocation failed by its handler, 2 for wrong usage, an interruption and everything else"
	_, help, _ := call(t, "--help")
	require.Contains(t, plain(help), short)
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.Contains(t, plain(string(source)), short)
}

// The transcript that the README shows is the one that is tested.
func TestTheReadmeShowsTheTranscript(t *testing.T) {
	script, err := os.ReadFile("testdata/sdk-page.txtar")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, help, _ := call(t, "--help")
	for _, line := range []string{
		"pugmark-ref start",
		`pugmark-ref push <<<'{"kind":"input","text":"hello"}'`,
		"pugmark-ref run --once -- python handler.py",
		"pugmark-ref log -A",
	} {
		for _, text := range []string{string(script), string(readme), help} {
			require.Contains(t, text, line+"\n", "or with a comment: "+line)
		}
	}
}

// plain is a text as it is read: without the marks of tables and comments, and with
// single spaces.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("|", " ", "//", " ", "`", "").Replace(text)), " ")
}

// The handler that the README shows is one: it answers what was pushed, once.
func TestTheReadmesHandlerAnswersOnce(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "`handler.py`, which uses no SDK:\n\n")
	require.True(t, found, "the README shows no handler.py")
	block, _, _ := strings.Cut(rest, "\n\nThese lines run it")
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("handler.py", []byte(regexp.MustCompile(`(?m)^    `).ReplaceAllString(block, "")), 0o600))
	require.NoError(t, os.WriteFile("said.json", []byte(`{"kind":"input","text":"hello"}`), 0o600))
	for _, args := range [][]string{
		{"start"}, {"push", "said.json"}, {"run", "--once", "--", "python3", "handler.py"}, {"run", "--", "python3", "handler.py"},
	} {
		status, _, errs := call(t, args...)
		require.Zero(t, status, "%v: %s", args, errs)
	}
	_, log, _ := call(t, "log", "-A")
	require.Equal(t, 1, strings.Count(log, "hello to you"), log)
}
