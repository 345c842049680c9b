package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
)

// endTime is what an interrupted program may take to end: two seconds between
// SIGTERM and SIGKILL, and the rest for a machine with too much to do.
const endTime = 10 * time.Second

// interruptible is the program, started, whose subject has said that it is there.
type interruptible struct {
	*exec.Cmd
	dir  string
	text strings.Builder
	// ready is the pipe through which the subject says that it hangs.
	ready *os.File
}

// startInterruptible starts the program with a subject of testdata/subjects that
// says through the named pipe READY that it hangs.
func startInterruptible(t *testing.T, conduct string, args ...string) *interruptible {
	t.Helper()
	p := newInterruptible(t, conduct, args...)
	p.begin(t)
	return p
}

// newInterruptible is startInterruptible before the start.
func newInterruptible(t *testing.T, conduct string, args ...string) *interruptible {
	t.Helper()
	p := &interruptible{dir: laidOut(t)}
	ready := filepath.Join(p.dir, "ready")
	require.NoError(t, unix.Mkfifo(ready, 0o600))
	pipe, err := os.OpenFile(ready, os.O_RDWR, 0) // our own end keeps it open
	require.NoError(t, err)
	p.ready = pipe
	t.Cleanup(func() { pipe.Close() })
	require.NoError(t, os.Mkdir(filepath.Join(p.dir, "tmp"), 0o700))

	p.Cmd = exec.Command(raced, append([]string{"run", "--evidence", filepath.Join(p.dir, "evidence")}, args...)...)
	for i, a := range p.Args {
		p.Args[i] = strings.ReplaceAll(a, "DIR", p.dir)
	}
	p.Env = append(os.Environ(), "CONDUCT="+conduct, "READY="+ready, "TMPDIR="+filepath.Join(p.dir, "tmp"))
	p.Stdout, p.Stderr = &p.text, &p.text
	return p
}

// begin starts the program, and waits until the subject hangs.
func (p *interruptible) begin(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Start())
	t.Cleanup(func() { p.Process.Kill() })
	require.NoError(t, p.ready.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := bufio.NewReader(p.ready).ReadString('\n')
	require.NoError(t, err, "the subject must say that it hangs")
}

// interrupt sends the signal, and returns the exit status and how long the end took.
func (p *interruptible) interrupt(t *testing.T, signal os.Signal) (int, time.Duration) {
	t.Helper()
	sent := time.Now()
	require.NoError(t, p.Process.Signal(signal))
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the program does not end")
	}
	return p.ProcessState.ExitCode(), time.Since(sent)
}

// TestAnInterruptedRunLeavesAReportAndNoProcess (F15, F40): the subject hangs in the
// second of three cases, ignores SIGTERM, and the signal comes then.
func TestAnInterruptedRunLeavesAReportAndNoProcess(t *testing.T) {
	for _, test := range []struct {
		name, kind, conduct, file string
		signal                    os.Signal
		first                     result.Verdict
	}{
		{"a handler, by SIGINT", "handler", "never-exits", "handler.yaml", os.Interrupt, result.Pass},
		{"a handler, by SIGTERM", "handler", "never-exits", "handler.yaml", syscall.SIGTERM, result.Pass},
		{"a handler, by SIGHUP", "handler", "never-exits", "handler.yaml", syscall.SIGHUP, result.Pass},
		{"an RPC process, by SIGINT", "handler", "hangs", "rpc-handler.yaml", os.Interrupt, result.Pass},
		{"a runtime, by SIGINT", "runtime", "run-never-ends", "runtime.yaml", os.Interrupt, result.Fail},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startInterruptible(t, test.conduct, "--subject", "DIR/"+test.file, "--cases", "testdata/cases",
				"--parallel", "1", "--time-scale", "100", "--output", "json=DIR/report.json", test.kind+"/bad/*")
			status, took := p.interrupt(t, test.signal)
			remaining := left(t, p.dir)
			t.Logf("ended after %v with status %d, %d processes left", took.Round(time.Millisecond), status, remaining)

			f, err := os.Open(filepath.Join(p.dir, "report.json"))
			require.NoError(t, err, "the report is written in every event:\n%s", p.text.String())
			defer f.Close()
			run, err := report.ReadJSON(f)
			require.NoError(t, err)
			if status != report.ExitStatus(run) || test.first == result.Pass && status != statusIncomplete || status == statusConformant {
				t.Errorf("exit status %d, the report says %s", status, run.Verdict)
			}
			if took > endTime {
				t.Errorf("it took %v", took)
			}
			if remaining != 0 {
				t.Errorf("%d processes are left", remaining)
			}
			for id, want := range map[string]result.Verdict{"a-before": test.first, "b-bad": result.NotRun, "c-after": result.NotRun} {
				if c := only(t, run, test.kind+"/bad/"+id); c.Verdict != want {
					t.Errorf("%s ended in %s (%s), want %s", id, c.Verdict, c.Reason, want)
				}
			}
			if !strings.Contains(p.text.String(), "the run was interrupted") {
				t.Errorf("the text does not say it:\n%s", p.text.String())
			}
			scratch, err := os.ReadDir(filepath.Join(p.dir, "tmp"))
			require.NoError(t, err)
			if len(scratch) > 0 {
				t.Errorf("%s is left in the temporary folder", scratch[0].Name())
			}
		})
	}
}

// TestAnInterruptionBeforeTheFirstCaseIsNotTheSubjects: there is a report of what was not
// run, and nobody is told to put something right.
func TestAnInterruptionBeforeTheFirstCaseIsNotTheSubjects(t *testing.T) {
	for subject, what := range map[string]string{
		"endless-setup":   "set up endless-setup: line 1 of 1 of `setup`, sh -c ",
		"endless-version": "subject endless-version: `version`, sh -c ",
	} {
		t.Run(subject, func(t *testing.T) {
			p := startInterruptible(t, "never-exits", "--subject", "DIR/"+subject+".yaml", "--cases", "testdata/cases",
				"--output", "json=DIR/report.json", "handler/bad/*")
			status, took := p.interrupt(t, os.Interrupt)
			if status != statusIncomplete {
				t.Errorf("exit status %d, want %d", status, statusIncomplete)
			}
			if took > endTime {
				t.Errorf("it took %v", took)
			}
			if n := left(t, p.dir); n != 0 {
				t.Errorf("%d processes are left", n)
			}
			text := p.text.String()
			if !strings.Contains(text, "interrupted before "+subject+" was ready: "+what) {
				t.Errorf("the text does not say what was interrupted:\n%s", text)
			}
			for _, blame := range []string{"put the cause right", "context canceled", "if it worked before"} {
				if strings.Contains(text, blame) {
					t.Errorf("the text says %q:\n%s", blame, text)
				}
			}
			for _, file := range []string{"report.json", "evidence/" + storedReport} {
				f, err := os.Open(filepath.Join(p.dir, file))
				require.NoError(t, err)
				defer f.Close()
				run, err := report.ReadJSON(f)
				require.NoError(t, err)
				require.Equal(t, result.Incomplete, run.Verdict)
				require.Equal(t, subject, run.Subject.Name)
				require.Len(t, run.Cases, 3)
				for _, c := range run.Cases {
					require.Equal(t, result.NotRun, c.Verdict, c.ID)
				}
			}
		})
	}
}

func TestAnInterruptedDoctorBlamesNobody(t *testing.T) {
	for _, subject := range []string{"endless-setup", "endless-version"} {
		t.Run(subject, func(t *testing.T) {
			p := newInterruptible(t, "never-exits")
			p.Args = []string{raced, "doctor", "--subject", filepath.Join(p.dir, subject+".yaml")}
			p.begin(t)
			status, _ := p.interrupt(t, os.Interrupt)
			if status != statusIncomplete {
				t.Errorf("exit status %d, want %d", status, statusIncomplete)
			}
			if n := left(t, p.dir); n != 0 {
				t.Errorf("%d processes are left", n)
			}
			text := p.text.String()
			if !strings.HasSuffix(text, "pugmark-conform: interrupted\n") || strings.Contains(text, "problem") {
				t.Errorf("the text is\n%s", text)
			}
		})
	}
}
