package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onTerminal runs the program with standard output on a terminal of 80 columns, and
// returns all that it wrote there.
func onTerminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer ours.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(theirs.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))

	var errs bytes.Buffer
	c := exec.Command(raced, args...)
	c.Env = append(os.Environ(), append([]string{"TERM=xterm-256color", "NO_COLOR=", "CI="}, env...)...)
	c.Stdout, c.Stderr = theirs, &errs
	require.NoError(t, c.Start())
	theirs.Close()
	var out bytes.Buffer
	if _, err := io.Copy(&out, ours); !errors.Is(err, syscall.EIO) { // which is how a terminal ends
		require.NoError(t, err)
	}
	c.Wait()
	require.Empty(t, errs.String())
	return out.String()
}

func TestProgressAndColorsOnATerminal(t *testing.T) {
	evidence := filepath.Join(t.TempDir(), "evidence")
	args := []string{"run", "--evidence", evidence, "--transport", "subprocess", "handler/framing/byte-by-byte", "handler/framing/tabs"}
	const (
		rewrite = "\r\x1b[K"
		color   = "\x1b["
	)
	for _, test := range []struct {
		name             string
		env              []string
		progress, colors bool
	}{
		{"as it is", nil, true, true},
		{"NO_COLOR", []string{"NO_COLOR=1"}, true, false},
		{"CI", []string{"CI=true"}, false, true},
		{"a terminal that can do nothing", []string{"TERM=dumb"}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := onTerminal(t, test.env, args...)
			if got := strings.Contains(text, rewrite); got != test.progress {
				t.Errorf("progress %v, want %v:\n%q", got, test.progress, text)
			}
			if got := strings.Contains(strings.ReplaceAll(text, rewrite, ""), color); got != test.colors {
				t.Errorf("colors %v, want %v:\n%q", got, test.colors, text)
			}
			plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(text, "")
			if test.progress && !regexp.MustCompile(`[01]/2  [0-9.]+ m?s  handler/framing/`).MatchString(plain) {
				t.Errorf("the progress does not tell how far the run is:\n%q", plain)
			}
			// Progress is gone when the summary begins.
			shown := plain[strings.LastIndex(plain, rewrite)+1:]
			if !strings.Contains(shown, "results  2 pass\r\n") || !strings.HasSuffix(shown, "; exit status 0\r\n") {
				t.Errorf("the summary: %q", shown)
			}
		})
	}
}
