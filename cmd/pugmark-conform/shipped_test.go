package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/result"
)

// verdictsOf is the requirements of a run that have a verdict.
func verdictsOf(run *result.Run, verdict result.Verdict) (ids []string) {
	for _, r := range run.Requirements {
		if r.Verdict == verdict {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func TestThePythonHandlerWithoutAnSDKConforms(t *testing.T) {
	run, status := played(t, "--subject", "python-raw")
	require.Equal(t, result.Conformant, run.Verdict)
	require.Equal(t, statusConformant, status)
}

// Each of these was confirmed apart from the harness, with a few lines of Python
// against the SDK alone. A version that mends one is to be taken off this list.
func TestThePythonSDKFailsWhatWasConfirmedAndNothingElse(t *testing.T) {
	run, status := played(t, "--subject", "python-sdk")
	require.Equal(t, "0.16.7", run.Subject.Version)
	want := []string{
		"P3/single-object",       // the session of an Output that is written is dropped
		"P3/any-whitespace",      // records are read line by line
		"P4.2/lifecycle-begins",  // the input is read to its end first
		"P7/non-2xx-error",       // redirects are followed
		"P7/content-encoding",    // the server's header is not looked at
		"P7.1/prefer-data",       // data is not read at all
		"P8.3/read",              // memory keys are not encoded, and another root is not found
		"P10/pause-output",       // durations are rounded to hundredths of a second
		"P13/identity-available", // over RPC a stale variable stands in for an absent agent
		"P16/no-blocking",        // as P4.2/lifecycle-begins
		"P17/protocol-event",     // it goes on and writes
		"K1/read-all",            // the lifecycle record is among the entries
		"K2/json",                // a JSON string is written without its quotes
		"K5/sleep",               // as P10/pause-output
	}
	if diff := cmp.Diff(want, verdictsOf(run, result.Fail)); diff != "" {
		t.Errorf("requirements that fail (-confirmed +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"P3.2/omit-empty"}, verdictsOf(run, result.Warn)); diff != "" {
		t.Errorf("requirements that warn (-confirmed +got):\n%s", diff)
	}
	require.Equal(t, statusNotConformant, status)
}

// The Python runtime was written from the protocol alone, with another layout.
func TestThePythonRuntimeConforms(t *testing.T) {
	file := filepath.Join("..", "..", "subjects", "python-runtime", "driver.yaml")
	run, status := played(t, "--subject", file, "--transport", "subprocess")
	require.Empty(t, verdictsOf(run, result.Fail))
	require.Equal(t, result.Conformant, run.Verdict)
	require.Equal(t, statusConformant, status)
}

// The failure that the README explains is one that its command shows.
func TestTheReadmesFailureIsReal(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(repository, "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "## A first failure, explained\n")
	require.True(t, found)
	words := regexp.MustCompile("`pugmark-conform (run --subject [^`]*)`").FindStringSubmatch(rest)
	require.NotNil(t, words, "the README names no command")
	_, block, _ := strings.Cut(rest, "\n\n    FAIL ")
	block, _, _ = strings.Cut(block, "\n\nThe first line names")
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	programs := &process.Set{}
	defer programs.EndAll(0)
	require.Equal(t, statusNotConformant, Run(t.Context(), strings.Fields(words[1]), Streams{Out: &out, Err: &errs, Programs: programs, Self: plain}), errs.String())
	want := "FAIL " + regexp.MustCompile(`(?m)^    `).ReplaceAllString(block, "")
	require.Contains(t, out.String(), want+"\n")
}
