package judge_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/judge"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
)

// TestTruthTable judges stored evidence, good and bad in each way that the judge can
// find, by the function that the verb `judge` uses, and holds the findings against
// what was written by hand.
//
// A row is a txtar file of testdata/truth: a sentence, the files of an evidence
// folder as it is stored, and `expect`. The rows of a folder are about the cases in
// its `cases`. In `expect` stand the verdict of the case, perhaps a part of its
// reason, and every check in order:
//
//	fail
//	reason: wanted exit status 0
//	exit pass P3/utf8
//	observed fail P3/utf8
//	    where: conform/observed, entry 1, name
//	    want: "a"
//	    got: "b"
//
// where, want and got are parts of what the finding says; a check that does not say
// one of them leaves it open. `error` in place of a verdict is evidence that is
// refused, with a part of the error behind it.
func TestTruthTable(t *testing.T) {
	registry, err := spec.Load()
	require.NoError(t, err)
	j := judge.New(registry)
	cases, problems := casefile.Load(os.DirFS("testdata/truth/cases"), registry)
	require.Empty(t, problems)
	rows, err := filepath.Glob("testdata/truth/*/*.txtar")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(rows), 200)
	judged := map[string]bool{}
	for _, file := range rows {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/truth/"), ".txtar")
		t.Run(name, func(t *testing.T) {
			row := readRow(t, file)
			got, e, err := runner.JudgeStored(row.folder, cases, j)
			if err != nil {
				got = result.Case{Verdict: "error", Reason: err.Error()}
			} else {
				judged[e.Case] = true
			}
			if diff := row.differs(got); diff != "" {
				t.Errorf("%s: %s\n%s\nall of it:\n%s", file, row.sentence, diff, shown(got))
			}
		})
	}
	for _, c := range cases {
		if !judged[c.ID] {
			t.Errorf("no row is about the case %s", c.ID)
		}
	}
}

// TestTheTruthTableHasEveryCheck wants a row in which each key of an expectation
// passes, and one in which it fails, is not run, or warns.
func TestTheTruthTableHasEveryCheck(t *testing.T) {
	good, bad := map[string]bool{}, map[string]bool{}
	rows, err := filepath.Glob("testdata/truth/*/*.txtar")
	require.NoError(t, err)
	for _, file := range rows {
		for _, k := range readRow(t, file).want.Checks {
			// The invocation, the number of a block and the name of an expectation of a
			// story aside.
			id := strings.TrimPrefix(k.ID, "beside/")
			if before, rest, ok := strings.Cut(id, "/"); ok && (strings.HasSuffix(before, ".yaml") || strings.Trim(before, "0123456789") == "") {
				id = rest
			}
			if k.Verdict == result.Pass {
				good[id] = true
			} else {
				bad[id] = true
			}
		}
	}
	var want []string
	for _, word := range []string{
		"delivered", "exit", "observed", "loaded", "memory", "outputs", "silent", "stderr", "fetches", "before-close",
		"after-lifecycle", "own-servers", "same-outputs", "any-of",
		"run", "says", "waited", "invocations", "fed/memory-first", "fed/entries", "fed/lifecycle", "fed/object-urls",
		"fed/identical", "fed/slept", "fed/input-closed", "fed/environment", "fed/request", "fed/trace", "fed/fetched",
		"log", "version", "types", "snapshots", "rising", "manifest", "parent-version", "parent",
	} {
		want = append(want, word)
	}
	for rule := range casefile.StreamRules() {
		if rule != "closed-events" { // of Inputs only
			want = append(want, "stream/"+rule)
		}
	}
	want = append(want, "fed/stream/closed-events")
	for _, word := range want {
		if !good[word] {
			t.Errorf("no row in which %s passes", word)
		}
		if !bad[word] {
			t.Errorf("no row in which %s does not pass", word)
		}
	}
	for _, word := range []string{
		"always/no-control-message", "always/read-only", "always/no-bom", "always/closed-fields",
		"always/memory-first", "always/memory-once", "always/trailing-slash", "always/lifecycle-once",
		"always/lifecycle-last", "always/lifecycle-bare", "always/inline-limit", "always/closed-events",
	} {
		if !bad[word] {
			t.Errorf("no row in which %s is broken", word)
		}
	}
}

// row is one file of the table.
type row struct {
	sentence string
	folder   string // where its evidence was unpacked to
	want     result.Case
}

func readRow(t *testing.T, file string) row {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	r := row{sentence: strings.TrimSpace(string(archive.Comment)), folder: t.TempDir()}
	require.NotEmpty(t, r.sentence, "%s: a row begins with a sentence", file)
	for _, f := range archive.Files {
		if f.Name == "expect" {
			r.want = readExpectation(t, file, string(f.Data))
			continue
		}
		require.True(t, fs.ValidPath(f.Name))
		require.NoError(t, os.WriteFile(filepath.Join(r.folder, f.Name), f.Data, 0o600))
	}
	require.NotEmpty(t, r.want.Verdict, "%s: it expects nothing", file)
	return r
}

func readExpectation(t *testing.T, file, text string) (c result.Case) {
	t.Helper()
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		part, detail := strings.CutPrefix(line, "    ")
		words := strings.Fields(line)
		switch {
		case i == 0:
			c.Verdict = result.Verdict(line)
		case strings.HasPrefix(line, "reason: "):
			c.Reason = strings.TrimPrefix(line, "reason: ")
		case detail && len(c.Checks) > 0:
			key, value, ok := strings.Cut(part, ": ")
			require.True(t, ok, "%s: %q", file, line)
			k := &c.Checks[len(c.Checks)-1]
			at := map[string]*string{"where": &k.Where, "want": &k.Want, "got": &k.Got}[key]
			require.NotNil(t, at, "%s: %q", file, line)
			*at = value
		default:
			require.Len(t, words, 3, "%s: a check is ID, verdict and requirement, not %q", file, line)
			c.Checks = append(c.Checks, result.Check{ID: words[0], Verdict: result.Verdict(words[1]), Requirement: words[2]})
		}
	}
	return c
}

// differs says how a judged case is another than the one that is wanted.
func (r row) differs(got result.Case) string {
	if r.want.Verdict != got.Verdict || !strings.Contains(got.Reason, r.want.Reason) {
		return fmt.Sprintf("want %s (%s), got %s (%s)", r.want.Verdict, r.want.Reason, got.Verdict, got.Reason)
	}
	lines := func(checks []result.Check) (list []string) {
		for _, k := range checks {
			list = append(list, k.ID+" "+string(k.Verdict)+" "+k.Requirement)
		}
		return list
	}
	if want, got := lines(r.want.Checks), lines(got.Checks); !slices.Equal(want, got) {
		return "checks (-want +got):\n" + cmp.Diff(want, got)
	}
	for i, want := range r.want.Checks {
		k := got.Checks[i]
		for _, p := range [][3]string{{"where", want.Where, k.Where}, {"want", want.Want, k.Want}, {"got", want.Got, k.Got}} {
			if !strings.Contains(p[2], p[1]) {
				return fmt.Sprintf("%s, %s: want %q in it, got %q", k.ID, p[0], p[1], p[2])
			}
		}
	}
	return ""
}

// shown is a judged case as `expect` has it.
func shown(c result.Case) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nreason: %s\n", c.Verdict, c.Reason)
	for _, k := range c.Checks {
		fmt.Fprintf(&b, "%s %s %s\n", k.ID, k.Verdict, k.Requirement)
		for _, p := range [][2]string{{"where", k.Where}, {"want", k.Want}, {"got", k.Got}} {
			if p[1] != "" {
				fmt.Fprintf(&b, "    %s: %s\n", p[0], p[1])
			}
		}
	}
	return b.String()
}
