package main

import (
	"bufio"
	"errors"
	"os"
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
	require.NoError(t, said.SetReadDeadline(time.Now().Add(time.Minute)))
	text := bufio.NewReader(said)
	for {
		line, err := text.ReadString('\n')
		require.NoError(t, err, "the verdict is said before the report is written")
		if strings.Contains(line, "exit status 3") {
			break
		}
	}
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
	line, err := text.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "interrupted twice")
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
