package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/report/schema"
	"pugmark.dev/conform/result"
)

// TestScripts runs the program as users do. The scripts have these commands beside
// the library's:
//
//	exits STATUS COMMAND...    runs a command that has to exit with the status
//	valid-report FILE          holds a report against the published schema
//	same-results FILE FILE     wants two reports to say the same of every case and requirement
//	case-is FILE CASE@TRANSPORT VERDICT
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "valid-report": validReport, "same-results": sameResults, "case-is": caseIs,
		},
		RequireUniqueNames: true,
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var ended *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func validReport(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: valid-report FILE")
	}
	ts.Check(schema.Validate([]byte(ts.ReadFile(args[0]))))
}

func sameResults(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same-results FILE FILE")
	}
	var runs [2]*result.Run
	for i, name := range args {
		run, err := report.ReadJSON(bytes.NewReader([]byte(ts.ReadFile(name))))
		ts.Check(err)
		runs[i] = run
	}
	if diff := cmp.Diff(runs[0].Cases, runs[1].Cases); diff != "" {
		ts.Fatalf("cases (-%s +%s):\n%s", args[0], args[1], diff)
	}
	if diff := cmp.Diff(runs[0].Requirements, runs[1].Requirements); diff != "" {
		ts.Fatalf("requirements (-%s +%s):\n%s", args[0], args[1], diff)
	}
	if runs[0].Verdict != runs[1].Verdict {
		ts.Fatalf("%s and %s", runs[0].Verdict, runs[1].Verdict)
	}
}

func caseIs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: case-is FILE CASE@TRANSPORT VERDICT")
	}
	run, err := report.ReadJSON(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	ts.Check(err)
	for _, c := range run.Cases {
		if result.EvidenceFolder(c.ID, c.Transport) != args[1] {
			continue
		}
		if string(c.Verdict) != args[2] {
			ts.Fatalf("%s ended in %s (%s), want %s", args[1], c.Verdict, c.Reason, args[2])
		}
		return
	}
	ts.Fatalf("the report has no %s", args[1])
}

func TestFreshFolderEmptiesOnlyWhatItMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "evidence")
	require.NoError(t, freshFolder(dir))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "handler", "a@rpc"), 0o777))
	require.NoError(t, freshFolder(dir))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, marker, entries[0].Name())
}

func TestShellQuotedWordsAreOneWordToAShell(t *testing.T) {
	for _, word := range []string{"", "plain/word-1.yaml", "two words", "it's", `a"b$c`, "new\nline", "*"} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellQuoted(word)).Output()
		require.NoError(t, err)
		require.Equal(t, word, string(out))
	}
	require.Equal(t, "plain/word-1.yaml", shellQuoted("plain/word-1.yaml"))
}
