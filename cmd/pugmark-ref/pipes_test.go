//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process/programtest"
)

func TestOutputThatNobodyReadsEndsQuietly(t *testing.T) {
	started(t)
	for _, args := range [][]string{{"log"}, {"log", "--json"}, {"inspect"}} {
		c := exec.Command("pugmark-ref", args...)
		var stderr strings.Builder
		c.Stdout, c.Stderr = programtest.Unread(t), &stderr
		require.Error(t, c.Run())
		require.Equal(t, exitOther, c.ProcessState.ExitCode(), args)
		require.Empty(t, stderr.String())
	}
}

// A handler that writes to a standard error that nobody reads is played to its end: it is
// neither left behind nor failed.
func TestErrorsThatNobodyReadsFailNoInvocation(t *testing.T) {
	started(t)
	ended := alive(t)
	c := exec.Command("pugmark-ref", "run", "--once", "--", "sh", "-c",
		`echo begun >alive; exec 9>alive; cat >/dev/null; echo one >&2; sleep 0.2; echo two >&2; sleep 0.2; echo '{"data":"aGk="}'`)
	c.Stderr = programtest.Unread(t)
	out, err := c.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "is at version 2; it may have more to do")
	ended()
}

func TestHandlersGetTheUsualActionOfABrokenPipe(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system has no /proc:", err)
	}
	started(t)
	c := exec.Command("pugmark-ref", "run", "--once", "--", "sh", "-c", `cat >/dev/null; (yes; echo status $? >&2) | head -1 >/dev/null`)
	var stderr strings.Builder
	c.Stderr = &stderr
	require.NoError(t, c.Run(), stderr.String())
	require.Equal(t, "status 141\n", stderr.String())
}
