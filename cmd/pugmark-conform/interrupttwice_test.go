package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestASecondSignalEndsAProgramThatIsBlocked: nobody reads what the program has to
// write after the first signal.
func TestASecondSignalEndsAProgramThatIsBlocked(t *testing.T) {
	p := newInterruptible(t, "never-exits", "--subject", "DIR/handler.yaml", "--cases", "testdata/cases",
		"--parallel", "1", "--time-scale", "100", "--output", "json=-", "handler/bad/*")
	full, unread := fullPipe(t)
	defer unread.Close()
	said, toSay, err := os.Pipe()
	require.NoError(t, err)
	defer said.Close()
	p.Stdout, p.Stderr = full, toSay
	p.begin(t)
	full.Close()
	toSay.Close()
	require.NoError(t, p.Process.Signal(os.Interrupt))
	first := time.Now()
	require.NoError(t, said.SetReadDeadline(time.Now().Add(time.Minute)))
	text := bufio.NewReader(said)
	for {
		line, err := text.ReadString('\n')
		require.NoError(t, err, "the verdict is said before the report is written")
		if strings.Contains(line, "exit status 3") {
			break
		}
	}
	time.Sleep(time.Until(first.Add(2 * sameSignal))) // before, it would be the first signal again
	status, took := p.interrupt(t, os.Interrupt)
	if status != statusError {
		t.Errorf("exit status %d, want %d", status, statusError)
	}
	if took > endTime {
		t.Errorf("it took %v", took)
	}
	if n := left(t, p.dir); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	rest, err := io.ReadAll(text)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(rest), "pugmark-conform: interrupted twice: ended at once, without a report\n"), string(rest))
}

// TestASecondSignalSaysWhichReportsAreThere: of two the second can't be written.
func TestASecondSignalSaysWhichReportsAreThere(t *testing.T) {
	p := newInterruptible(t, "never-exits", "--subject", "DIR/handler.yaml", "--cases", "testdata/cases",
		"--parallel", "1", "--time-scale", "100", "--output", "json=DIR/report.json", "--output", "html=-", "handler/bad/*")
	full, unread := fullPipe(t)
	defer unread.Close()
	p.Stdout = full
	p.begin(t)
	full.Close()
	require.NoError(t, p.Process.Signal(os.Interrupt))
	first := time.Now()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(p.dir, "report.json"))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	time.Sleep(time.Until(first.Add(2 * sameSignal)))
	status, _ := p.interrupt(t, os.Interrupt)
	if status != statusError {
		t.Errorf("exit status %d, want %d", status, statusError)
	}
	require.Contains(t, p.text.String(), "interrupted twice: ended at once, after writing "+filepath.Join(p.dir, "report.json")+"\n")
}

// TestTwoSignalsAtOnceAreOne: GNU timeout sends one to the program, and one to the group
// that it is in.
func TestTwoSignalsAtOnceAreOne(t *testing.T) {
	p := startInterruptible(t, "never-exits", "--subject", "DIR/handler.yaml", "--cases", "testdata/cases",
		"--parallel", "1", "--time-scale", "100", "--output", "json=DIR/report.json", "handler/bad/*")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	time.Sleep(sameSignal / 10) // two that wait to be delivered would be one to the system too
	status, _ := p.interrupt(t, os.Interrupt)
	if status != statusIncomplete {
		t.Errorf("exit status %d, want %d:\n%s", status, statusIncomplete, p.text.String())
	}
	require.FileExists(t, filepath.Join(p.dir, "report.json"))
	require.NotContains(t, p.text.String(), "interrupted twice")
	if n := left(t, p.dir); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// fullPipe is a pipe into which nothing goes any more, and its other end.
func fullPipe(t *testing.T) (full, unread *os.File) {
	t.Helper()
	unread, full, err := os.Pipe()
	require.NoError(t, err)
	fd := int(full.Fd())
	require.NoError(t, unix.SetNonblock(fd, true))
	for err == nil {
		_, err = unix.Write(fd, make([]byte, 4096))
	}
	require.True(t, errors.Is(err, syscall.EAGAIN), "%v", err)
	require.NoError(t, unix.SetNonblock(fd, false))
	return full, unread
}
