package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal opens a terminal and what stands for its keyboard.
func openTerminal(t *testing.T) (terminal, keyboard *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { keyboard.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { terminal.Close() })
	return terminal, keyboard
}

func TestPushAtATerminalSaysWhatItReadsAndHowToEndIt(t *testing.T) {
	started(t)
	terminal, keyboard := openTerminal(t)
	_, err := keyboard.WriteString("typed\n\x04")
	require.NoError(t, err)
	var stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"push"}, streams{in: terminal, out: io.Discard, err: &stderr}))
	require.Equal(t, "pugmark-ref: reading the object from the terminal; end it with Ctrl-D on a line of its own, or give a file\n", stderr.String())
	_, log, _ := call(t, "log")
	require.Equal(t, "1.1  queueing  text/plain  5 bytes\n    hello\n2.2  queueing  text/plain  6 bytes\n    typed", log)

	// Not before it is known that there is a session to push to.
	stderr.Reset()
	args := []string{"push", "--session", "11111111111111111111111111111111"}
	require.Equal(t, exitOther, run(t.Context(), args, streams{in: terminal, out: io.Discard, err: &stderr}))
	require.NotContains(t, stderr.String(), "terminal")
}

func TestOnlyATerminalIsOne(t *testing.T) {
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, isTerminal(null))
	require.False(t, isTerminal(new(bytes.Buffer)))
}
