package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
)

// Times of the cases under testdata/cases.
const (
	// badLimit is the limit of the case in which a subject is bad. The others have the
	// default: under the race detector, on a busy machine, a good handler may need it.
	badLimit = 2 * time.Second
	// leeway is what a case may take over its limit: half a second for what holds
	// the handler's streams, a second between SIGTERM and SIGKILL of a command,
	// and the rest for a machine with too much to do.
	leeway = 6 * time.Second
)

// outcome is what a subject's conduct has to come to.
type outcome struct {
	conduct string
	verdict result.Verdict
	// says is what the case's reason or a finding has to name.
	says []string
	// scale is --time-scale; zero is 1.
	scale float64
}

// laidOut copies testdata/subjects to a folder of its own, whose path is then in the
// argument list of every process that a subject starts.
func laidOut(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/subjects")))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	return dir
}

// played runs the program in process with a report, and returns the report and the
// exit status.
func played(t *testing.T, args ...string) (*result.Run, int) {
	t.Helper()
	var out, errs bytes.Buffer
	programs := &process.Set{}
	defer programs.EndAll(0)
	args = append([]string{"run", "--evidence", filepath.Join(t.TempDir(), "evidence"), "--output", "json=-"}, args...)
	status := Run(t.Context(), args, Streams{Out: &out, Err: &errs, Programs: programs, Self: plain})
	run, err := report.ReadJSON(&out)
	require.NoError(t, err, "exit status %d\n%s", status, errs.String())
	require.Equal(t, status, report.ExitStatus(run), "the status and the report agree")
	require.Contains(t, errs.String(), fmt.Sprintf("exit status %d\n", status), "the text and the status agree")
	return run, status
}

// left counts the living processes that have the marker in their argument list, and
// those that are children of this test, orphans that it adopted included.
func left(t *testing.T, marker string) int {
	t.Helper()
	ps := exec.Command("ps", "-A", "-o", "pid=,ppid=,stat=,args=")
	list, err := ps.Output()
	require.NoError(t, err)
	count := 0
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		require.GreaterOrEqual(t, len(fields), 3, line)
		child := fields[1] == strconv.Itoa(os.Getpid()) && fields[0] != strconv.Itoa(ps.Process.Pid)
		if !strings.HasPrefix(fields[2], "Z") && (child || strings.Contains(line, marker)) {
			t.Logf("left: %s", line)
			count++
		}
	}
	return count
}

// only returns the one result of a case.
func only(t *testing.T, run *result.Run, id string) result.Case {
	t.Helper()
	i := slices.IndexFunc(run.Cases, func(c result.Case) bool { return c.ID == id })
	require.GreaterOrEqual(t, i, 0, "no result of %s", id)
	return run.Cases[i]
}

// words is all that a result says.
func words(c result.Case) string {
	text := c.Reason
	for _, k := range c.Checks {
		text += "\n" + strings.Join([]string{k.Requirement, string(k.Verdict), k.Where, k.Got}, " ")
	}
	return text
}

// table is what the tests of bad subjects tell.
type table struct {
	text bytes.Buffer
	*tabwriter.Writer
}

func newTable() *table {
	t := &table{}
	t.Writer = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "subject\tconduct\tverdict\tlimit\twall time\tleft\treason")
	return t
}

func (b *table) log(t *testing.T) {
	b.Flush()
	t.Log("\n" + b.text.String())
}

// misbehaves plays the three cases of a kind to a subject that is bad in the middle
// one, and holds the outcome against what it has to be.
func misbehaves(t *testing.T, b *table, kind, file string, want outcome) {
	t.Helper()
	dir := laidOut(t)
	t.Setenv("CONDUCT", want.conduct)
	scale := max(want.scale, 1)
	run, status := played(t, "--subject", filepath.Join(dir, file), "--cases", "testdata/cases", "--parallel", "1",
		"--time-scale", strconv.FormatFloat(scale, 'f', -1, 64), kind+"/bad/*")
	remaining := left(t, dir)

	require.Len(t, run.Cases, 3)
	bad := only(t, run, kind+"/bad/b-bad")
	took := time.Duration(bad.DurationMS) * time.Millisecond
	limit := time.Duration(float64(badLimit) * scale)
	reason := bad.Reason
	if reason == "" {
		reason = strings.ReplaceAll(words(bad), "\n", " ")
	}
	fmt.Fprintf(b, "%s\t%s\t%s\t%v\t%v\t%d\t%.90s\n", run.Subject.Name, want.conduct, bad.Verdict, limit, took, remaining, reason)

	if bad.Verdict != want.verdict {
		t.Errorf("verdict %s, want %s: %s", bad.Verdict, want.verdict, words(bad))
	}
	for _, text := range want.says {
		if !strings.Contains(words(bad), text) {
			t.Errorf("nothing says %q:\n%s", text, words(bad))
		}
	}
	if took > limit+leeway {
		t.Errorf("the case took %v, its limit is %v", took, limit)
	}
	if remaining != 0 {
		t.Errorf("%d processes are left", remaining)
	}
	if status == statusConformant {
		t.Error("the run is conformant")
	}
	if kind == "handler" { // bad in the middle only: the others keep their verdicts
		for _, id := range []string{"handler/bad/a-before", "handler/bad/c-after"} {
			if c := only(t, run, id); c.Verdict != result.Pass {
				t.Errorf("%s ended in %s: %s", id, c.Verdict, words(c))
			}
		}
	}
	for _, c := range run.Cases {
		if c.Verdict == result.NotRun || c.Verdict == result.HarnessError || kind == "runtime" && c.Verdict == result.Pass {
			t.Errorf("%s ended in %s: %s", c.ID, c.Verdict, words(c))
		}
	}
}

func TestBadHandlersGetAVerdict(t *testing.T) {
	b := newTable()
	for _, want := range []outcome{
		{conduct: "does-nothing", verdict: result.Fail, says: []string{"exited with status 0, and wrote no Output"}},
		{conduct: "exits-1", verdict: result.Fail, says: []string{"exited with status 1"}},
		{conduct: "never-exits", verdict: result.Hang, says: []string{"the time limit of 2s passed"}},
		{conduct: "floods-stdout", verdict: result.Crash, says: []string{"wrote more than a handler may: more than 67108864 bytes on stdout"}, scale: 20},
		{conduct: "floods-stderr", verdict: result.Crash, says: []string{"wrote more than a handler may: more than 67108864 bytes on stderr"}, scale: 20},
		{conduct: "dies-by-sigkill", verdict: result.Crash, says: []string{"killed by signal 9 (SIGKILL)"}},
		{conduct: "dies-by-sigsegv", verdict: result.Crash, says: []string{"killed by signal 11 (SIGSEGV)"}},
		{conduct: "leaves-grandchild", verdict: result.Fail, says: []string{"left behind in its group: ", "wrote no Output"}},
		{conduct: "leaves-daemon", verdict: result.Fail, says: []string{"left behind in its group: ", "wrote no Output"}},
		{conduct: "closes-stdin", verdict: result.Fail, says: []string{"wrote 1 Output: \"late\""}},
		{conduct: "writes-without-reading", verdict: result.Fail, says: []string{"wrote 1 Output: \"early\""}},
		{conduct: "prints-garbage", verdict: result.Fail, says: []string{"P3/no-foreign-content fail", "starting v1"}},
	} {
		t.Run(want.conduct, func(t *testing.T) { misbehaves(t, b, "handler", "handler.yaml", want) })
	}
	for _, want := range []outcome{
		{conduct: "dies-in-the-middle", verdict: result.Crash, says: []string{"killed by signal 9 (SIGKILL)", "during this invocation"}},
		{conduct: "exits-without-answer", verdict: result.Fail, says: []string{"the program ended during this invocation: exit status 0"}},
		{conduct: "hangs", verdict: result.Hang, says: []string{"the time limit of 2s passed"}},
		{conduct: "answers-nonsense", verdict: result.Fail, says: []string{"malformed HTTP"}},
		{conduct: "answers-text", verdict: result.Fail, says: []string{"P3/no-foreign-content fail", "hello"}},
	} {
		t.Run("rpc-"+want.conduct, func(t *testing.T) { misbehaves(t, b, "handler", "rpc-handler.yaml", want) })
	}
	t.Run("http-never-listens", func(t *testing.T) { neverListens(t, b) })
	b.log(t)
}

// neverListens: what can't be started is said once, and waited for once.
func neverListens(t *testing.T, b *table) {
	dir := laidOut(t)
	started := time.Now()
	run, status := played(t, "--subject", filepath.Join(dir, "silent-service.yaml"), "--cases", "testdata/cases", "--time-scale", "0.1", "handler/bad/*")
	took, remaining := time.Since(started), left(t, dir)
	require.Len(t, run.Cases, 3)
	fmt.Fprintf(b, "%s\t%s\t%s\t%v\t%v\t%d\t%.90s\n", run.Subject.Name, "never listens, 3 cases", run.Cases[0].Verdict, time.Second, took.Round(time.Millisecond), remaining, run.Cases[0].Reason)
	require.Zero(t, remaining)
	require.Equal(t, statusIncomplete, status)
	if took > time.Second+leeway { // a tenth of ten seconds
		t.Errorf("it took %v", took)
	}
	for _, c := range run.Cases {
		if c.Verdict != result.NotTestable || !strings.Contains(c.Reason, "it does not accept connections within 1s") {
			t.Errorf("%s ended in %s: %s", c.ID, c.Verdict, c.Reason)
		}
		if c.Reason != run.Cases[0].Reason {
			t.Errorf("another reason: %s", c.Reason)
		}
	}
}

func TestBadRuntimesGetAVerdict(t *testing.T) {
	b := newTable()
	for _, want := range []outcome{
		{conduct: "does-nothing", verdict: result.Fail, says: []string{"P2.1/stdio fail"}},
		{conduct: "prints-nonsense", verdict: result.Crash, says: []string{"`start main`", "the session ID", `"session started!"`}},
		{conduct: "prints-nonsense-log", verdict: result.Crash, says: []string{"`log main`", "is to be a JSON object", `"this is the log"`}},
		{conduct: "run-never-ends", verdict: result.Hang, says: []string{"`run-once main` was still running after 2s"}},
		{conduct: "run-floods", verdict: result.Hang, says: []string{"`run-once main` was still running after 2s"}},
		{conduct: "run-dies-by-sigkill", verdict: result.Crash, says: []string{"signal 9 (SIGKILL)"}},
		{conduct: "run-dies-by-sigsegv", verdict: result.Crash, says: []string{"signal 11 (SIGSEGV)"}},
		{conduct: "run-exits-1", verdict: result.Fail, says: []string{"exit status 1", "no such session"}},
		{conduct: "run-leaves-processes", verdict: result.Fail, says: []string{"P2.1/stdio fail"}},
	} {
		t.Run(want.conduct, func(t *testing.T) { misbehaves(t, b, "runtime", "runtime.yaml", want) })
	}
	b.log(t)
}

// TestDoingNothingPassesNothing plays every case that there is to subjects that do
// nothing and exit 0 (F37).
func TestDoingNothingPassesNothing(t *testing.T) {
	b := newTable()
	for _, name := range []string{"idle-handler", "idle-runtime", "mute-runtime"} {
		t.Run(name, func(t *testing.T) {
			dir := laidOut(t)
			started := time.Now()
			run, status := played(t, "--subject", filepath.Join(dir, name+".yaml"))
			took := time.Since(started).Round(time.Millisecond)
			remaining := left(t, dir)
			fmt.Fprintf(b, "%s\t%s\t%s\t\t%v\t%d\t%s\n", name, "does nothing, all cases", run.Verdict, took, remaining, tally(run))
			if !run.Selection.All || len(run.Cases) < 50 {
				t.Errorf("%d cases are not all", len(run.Cases))
			}
			if run.Verdict == result.Conformant || run.Verdict == result.AsExpected || status == statusConformant {
				t.Errorf("the run is %s, exit status %d", run.Verdict, status)
			}
			for _, c := range run.Cases {
				switch c.Verdict {
				case result.Pass, result.HarnessError, result.NotRun: // a warn is a SHOULD that does not hold
					t.Errorf("%s over %s ended in %s: %s", c.ID, c.Transport, c.Verdict, c.Reason)
				}
				for _, k := range c.Checks {
					if k.Verdict == result.Pass {
						t.Errorf("%s over %s: the check %s passes", c.ID, c.Transport, k.ID)
					}
				}
			}
			for _, q := range run.Requirements {
				if q.Verdict == result.Pass {
					t.Errorf("%s passes", q.ID)
				}
			}
			if remaining != 0 {
				t.Errorf("%d processes are left", remaining)
			}
		})
	}
	b.log(t)
}

// tally is how many cases came to each verdict.
func tally(run *result.Run) string {
	var list []string
	for verdict, n := range run.Totals {
		if n > 0 && verdict != "cases" {
			list = append(list, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
