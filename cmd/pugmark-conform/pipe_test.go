package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pugmark.dev/conform/process/programtest"
	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
)

// TestWhatNobodyReadsDoesNotCostTheResult: whoever read standard output, and perhaps the
// errors too, goes away in the middle of a run.
func TestWhatNobodyReadsDoesNotCostTheResult(t *testing.T) {
	for name, both := range map[string]bool{"standard output": false, "both": true} {
		t.Run(name, func(t *testing.T) {
			dir := laidOut(t)
			c := exec.Command(raced, "run", "--evidence", filepath.Join(dir, "evidence"), "--output", "json="+filepath.Join(dir, "report.json"),
				"handler/framing/*")
			var text strings.Builder
			c.Stdout, c.Stderr = programtest.Unread(t), &text
			if both {
				c.Stderr = c.Stdout
			}
			require.Error(t, c.Run())
			require.Equal(t, statusError, c.ProcessState.ExitCode(), text.String())
			if !both {
				require.Contains(t, text.String(), "pugmark-conform: standard output: broken pipe\n")
			}
			for _, file := range []string{"report.json", "evidence/" + storedReport} {
				f, err := os.Open(filepath.Join(dir, file))
				require.NoError(t, err)
				defer f.Close()
				run, err := report.ReadJSON(f)
				require.NoError(t, err)
				require.Equal(t, result.Conformant, run.Verdict)
			}
			require.Zero(t, left(t, dir))
		})
	}
}

// TestDoctorEndsWithItsReaderAndLeavesNoProcess: as before head -1, and before head -6,
// when handlers run.
func TestDoctorEndsWithItsReaderAndLeavesNoProcess(t *testing.T) {
	for _, lines := range []int{0, 1, 6} {
		t.Run(strconv.Itoa(lines), func(t *testing.T) {
			tmp := t.TempDir() // in the environment of what is started, so that it can be told
			read, write, err := os.Pipe()
			require.NoError(t, err)
			c := exec.Command(raced, "doctor")
			c.Env = append(os.Environ(), "TMPDIR="+tmp)
			c.Stdout, c.Stderr = write, write
			if lines == 0 {
				require.NoError(t, read.Close())
			}
			require.NoError(t, c.Start())
			require.NoError(t, write.Close())
			if lines > 0 {
				text := bufio.NewReader(read)
				for range lines {
					_, err := text.ReadString('\n')
					require.NoError(t, err)
				}
				require.NoError(t, read.Close())
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("it goes on")
			}
			require.Equal(t, statusError, c.ProcessState.ExitCode())
			require.Zero(t, left(t, tmp))
			scratch, err := os.ReadDir(tmp)
			require.NoError(t, err)
			require.Empty(t, scratch)
		})
	}
}

// TestAListThatIsCutShortIsNoComplaint: list | head -1.
func TestAListThatIsCutShortIsNoComplaint(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"--help"}, {"explain", "P3/any-whitespace"}} {
		c := exec.Command(raced, args...)
		var text strings.Builder
		c.Stdout, c.Stderr = programtest.Unread(t), &text
		require.Error(t, c.Run())
		require.Equal(t, statusError, c.ProcessState.ExitCode(), args)
		require.Empty(t, text.String())
	}
}

// TestWhatCantBeWrittenIsAnError: a disk that is full.
func TestWhatCantBeWrittenIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full:", err)
	}
	defer full.Close()
	for _, args := range [][]string{
		{"list"}, {"--help"}, {"run", "--help"}, {"help", "run"}, {"explain", "P3/any-whitespace"}, {"show", "handler/framing/tabs"},
		{"version"}, {"coverage"}, {"doctor"},
	} {
		c := exec.Command(raced, args...)
		var text strings.Builder
		c.Stdout, c.Stderr = full, &text
		require.Error(t, c.Run(), args)
		require.Equal(t, statusError, c.ProcessState.ExitCode(), args)
		require.Equal(t, "pugmark-conform: standard output: no space left on device\n", text.String(), args)
	}
}

// TestSubjectsGetTheUsualActionOfABrokenPipe: that the harness survives one is not passed
// on, whatever the harness was given itself.
func TestSubjectsGetTheUsualActionOfABrokenPipe(t *testing.T) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("this system has no /proc:", err)
	}
	require.Contains(t, string(status), "\nSigIgn:")
	dir := t.TempDir()
	file := filepath.Join(dir, "subject.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`name: asks
kind: handler
setup: [[grep, SigIgn, /proc/self/status]]
version: [grep, SigIgn, /proc/self/status]
transports:
  subprocess: {command: [sh, -c, 'cat >/dev/null; grep SigIgn /proc/self/status >&2; exit 3']}
features: [instructions]
`), 0o666))
	c := exec.Command("sh", "-c", `trap '' PIPE; exec "$0" "$@"`, raced, "run", "--subject", file, "--evidence", filepath.Join(dir, "evidence"),
		"handler/agreement/observe")
	c.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	c.Stdout, c.Stderr = io.Discard, io.Discard
	_ = c.Run()
	f, err := os.Open(filepath.Join(dir, "evidence", storedReport))
	require.NoError(t, err)
	defer f.Close()
	run, err := report.ReadJSON(f)
	require.NoError(t, err)
	ignores := func(line string) bool {
		_, mask, ok := strings.Cut(line, "SigIgn:")
		require.True(t, ok, line)
		bits, err := strconv.ParseUint(strings.Fields(mask)[0], 16, 64)
		require.NoError(t, err)
		return bits&(1<<(unix.SIGPIPE-1)) != 0
	}
	require.False(t, ignores(run.Subject.Version))
	told, err := filepath.Glob(filepath.Join(dir, "evidence", "handler", "agreement", "*", "*.stderr"))
	require.NoError(t, err)
	require.NotEmpty(t, told)
	for _, name := range told {
		line, err := os.ReadFile(name)
		require.NoError(t, err)
		require.False(t, ignores(string(line)))
	}
	logs, err := filepath.Glob(filepath.Join(dir, "cache", "pugmark-conform", "setup", "*", "setup.log"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	log, err := os.ReadFile(logs[0])
	require.NoError(t, err)
	_, printed, _ := strings.Cut(string(log), "\n")
	require.False(t, ignores(printed))
}
