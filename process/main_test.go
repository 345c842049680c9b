//go:build unix

package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// long is how long a test waits for what takes milliseconds, on a machine that
// is busy with other things.
const long = 20 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv("PROCESS_TEST") == "accept" {
		os.Exit(acceptOnThree())
	}
	if runtime.GOOS == "linux" {
		if err := Adopt(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// sh is a command that runs script; the harness's PATH is in its environment.
func sh(script string) Command {
	return Command{Args: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

// start starts c, and sees to it that it is ended.
func start(t *testing.T, c Command) *Process {
	t.Helper()
	p, err := Start(c)
	require.NoError(t, err)
	t.Cleanup(func() { p.End(0) })
	return p
}

// startReady starts c and reads one line of its stdout, by which it says that it is
// where the test wants it, as numbers.
func startReady(t *testing.T, set *Set, c Command) (*Process, []int) {
	t.Helper()
	p, pipes, err := set.StartPiped(c)
	require.NoError(t, err)
	t.Cleanup(func() { p.End(0); pipes.Close() })
	require.NoError(t, pipes.Stdout.SetReadDeadline(time.Now().Add(long)))
	line, err := bufio.NewReader(pipes.Stdout).ReadString('\n')
	require.NoError(t, err, "the program must say that it is ready")
	var numbers []int
	for _, word := range strings.Fields(line) {
		n, err := strconv.Atoi(word)
		require.NoError(t, err)
		numbers = append(numbers, n)
	}
	return p, numbers
}

// wait is Wait that can't hang the test.
func wait(t *testing.T, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(long):
		t.Fatal("the program has not ended")
	}
	return p.Wait()
}

// requireGone fails if pid still exists, a zombie included.
func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.True(t, errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), "process %d is still there", pid)
}

// requireSoon fails if the condition does not come to hold. It uses no
// goroutine of its own, since goroutines are what some conditions count.
func requireSoon(t *testing.T, holds func() bool, why string) {
	t.Helper()
	for giveUp := time.Now().Add(long); !holds(); time.Sleep(lookLast) {
		require.True(t, time.Now().Before(giveUp), why)
	}
}
