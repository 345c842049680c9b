package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
//	valid-diff FILE            holds what report diff wrote against its own
//	same-results FILE FILE     wants two reports to say the same of every case and requirement
//	same-verdicts FILE FILE    wants the same of their verdicts alone
//	no-trace VARIABLE FILE...  wants its value in none of the files, nor of those below a folder
//	case-is FILE CASE@TRANSPORT VERDICT
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "valid-report": valid(schema.Validate), "valid-diff": valid(schema.ValidateDiff), "same-results": sameResults, "same-verdicts": sameVerdicts, "no-trace": noTrace, "case-is": caseIs,
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

func valid(by func([]byte) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("one FILE is needed")
		}
		ts.Check(by([]byte(ts.ReadFile(args[0]))))
	}
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

func sameVerdicts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same-verdicts FILE FILE")
	}
	var all [2][]string
	for i, name := range args {
		run, err := report.ReadJSON(bytes.NewReader([]byte(ts.ReadFile(name))))
		ts.Check(err)
		all[i] = append(all[i], string(run.Verdict))
		for _, c := range run.Cases {
			all[i] = append(all[i], result.EvidenceFolder(c.ID, c.Transport)+" "+string(c.Verdict))
		}
		for _, q := range run.Requirements {
			all[i] = append(all[i], q.ID+" "+string(q.Verdict))
		}
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" {
		ts.Fatalf("(-%s +%s):\n%s", args[0], args[1], diff)
	}
}

// noTrace looks for a value as it is, in its usual encodings, and for what is left of it
// when it is cut: any six bytes of it in a row.
func noTrace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: no-trace VARIABLE FILE...")
	}
	const part = 6
	value := ts.Getenv(args[0])
	if len(value) < part {
		ts.Fatalf("%s is not set", args[0])
	}
	forms := []string{url.QueryEscape(value), url.PathEscape(value)}
	for i := 0; i+part <= len(value); i++ {
		forms = append(forms, value[i:i+part])
	}
	for shift := range 3 { // what of it can be seen in the base64 of something longer
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + value))
		forms = append(forms, text[4:len(text)-2])
	}
	for _, name := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(name), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(file)
			for _, form := range forms {
				if at := bytes.Index(data, []byte(form)); at >= 0 {
					return fmt.Errorf("%s holds %q of %s: %q", file, form, args[0], data[max(at-40, 0):min(at+60, len(data))])
				}
			}
			return err
		}))
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

func TestAQuotedLineIsItsWordsAgain(t *testing.T) {
	words := []string{"run", "--subject", "it's a \"dir\" $HOME/s.yaml", "", "--seed", "7", "new\nline", `back\slash`, "é"}
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, shellQuoted(word))
	}
	require.Equal(t, words, shellWords(strings.Join(quoted, " ")))
	require.Empty(t, shellWords("  "))
}

func TestShellQuotedWordsAreOneWordToAShell(t *testing.T) {
	for _, word := range []string{"", "plain/word-1.yaml", "two words", "it's", `a"b$c`, "new\nline", "*"} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellQuoted(word)).Output()
		require.NoError(t, err)
		require.Equal(t, word, string(out))
	}
	require.Equal(t, "plain/word-1.yaml", shellQuoted("plain/word-1.yaml"))
}
