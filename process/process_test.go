//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestExitSaysHowTheProgramEnded(t *testing.T) {
	for _, test := range []struct {
		script string
		want   Exit
		text   string
		ok     bool
	}{
		{"exit 0", Exit{}, "exit status 0", true},
		{"exit 3", Exit{Code: 3}, "exit status 3", false},
		{"exit 255", Exit{Code: 255}, "exit status 255", false},
		// 137 is what a shell makes of signal 9; as a status it is no signal.
		{"exit 137", Exit{Code: 137}, "exit status 137", false},
		{"kill -9 $$", Exit{Code: -1, Signal: 9, SignalName: "SIGKILL"}, "signal 9 (SIGKILL)", false},
		{"kill -11 $$", Exit{Code: -1, Signal: 11, SignalName: "SIGSEGV"}, "signal 11 (SIGSEGV)", false},
	} {
		t.Run(test.script, func(t *testing.T) {
			got := wait(t, start(t, sh("ulimit -c 0; "+test.script)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error("(-want +got)", diff)
			}
			if diff := cmp.Diff(test.text, got.String()); diff != "" {
				t.Error("(-want +got)", diff)
			}
			if got.OK() != test.ok {
				t.Errorf("OK: want %v, got %v", test.ok, got.OK())
			}
		})
	}
}

func TestWaitMayBeCalledByMany(t *testing.T) {
	p := start(t, sh("exit 4"))
	var wg sync.WaitGroup
	var got [20]Exit
	for i := range got {
		wg.Go(func() { got[i] = p.Wait() })
	}
	wg.Wait()
	for _, e := range got {
		require.Equal(t, Exit{Code: 4}, e)
	}
}

func TestWaitDoesNotWaitForAGrandchildThatHoldsStdout(t *testing.T) {
	var out Capture
	c := sh("sleep 60 & echo done; exit 0")
	c.Stdout = &out
	p := start(t, c)
	require.Equal(t, Exit{}, wait(t, p)) // long is less than the grandchild's 60 s

	require.Equal(t, 1, p.Members())
	report := p.End(long)
	if diff := cmp.Diff(Report{Group: 1}, report); diff != "" {
		t.Error("(-want +got)", diff)
	}
	require.Equal(t, 0, p.Members())
	require.Equal(t, "done\n", out.String())
}

func TestEndCountsTheProgramThatStillRuns(t *testing.T) {
	p, _ := startReady(t, nil, sh("sleep 60 & sleep 60 & echo; wait"))
	want := 3
	if runtime.GOOS != "linux" {
		want = 1
	}
	if diff := cmp.Diff(Report{Group: want}, p.End(long)); diff != "" {
		t.Error("(-want +got)", diff)
	}
	require.Equal(t, Exit{Code: -1, Signal: 15, SignalName: "SIGTERM"}, p.Wait())
}

func TestEndOfNothingFindsNothing(t *testing.T) {
	p := start(t, sh("exit 0"))
	wait(t, p)
	require.Equal(t, Report{}, p.End(long))
	require.Equal(t, Report{}, p.End(long), "the same report again")
}

func TestEndLetsTheProgramEndItself(t *testing.T) {
	p, _ := startReady(t, nil, sh("trap 'exit 5' TERM; echo; while :; do sleep 0.01; done"))
	report := p.End(long)
	require.False(t, report.Forced)
	require.Equal(t, 0, report.Left)
	require.Equal(t, Exit{Code: 5}, p.Wait())
}

func TestEndKillsWhatIgnoresSIGTERM(t *testing.T) {
	p, _ := startReady(t, nil, sh("trap '' TERM; echo; while :; do sleep 60; done"))
	began := time.Now()
	report := p.End(100 * time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond, "the grace is granted")
	require.True(t, report.Forced)
	require.Equal(t, 0, report.Left)
	require.Equal(t, Exit{Code: -1, Signal: 9, SignalName: "SIGKILL"}, p.Wait())
}

func TestEndWithoutGraceSendsNoSIGTERM(t *testing.T) {
	p, _ := startReady(t, nil, sh("trap 'exit 5' TERM; echo; while :; do sleep 0.01; done"))
	require.True(t, p.End(0).Forced)
	require.Equal(t, Exit{Code: -1, Signal: 9, SignalName: "SIGKILL"}, p.Wait())
}

func TestEndEndsAStoppedProgramGently(t *testing.T) {
	p, _ := startReady(t, nil, sh("trap 'exit 6' TERM; echo; kill -STOP $$; while :; do sleep 0.01; done"))
	requireSoon(t, func() bool {
		state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(p.PID())).Output()
		require.NoError(t, err)
		return strings.HasPrefix(string(state), "T")
	}, "the premise: it is stopped")
	require.Equal(t, 0, p.End(long).Left)
	require.Equal(t, Exit{Code: 6}, p.Wait())
}

func TestALaterEndShortensTheGrace(t *testing.T) {
	p, _ := startReady(t, nil, sh("trap '' TERM; echo; while :; do sleep 60; done"))
	first := make(chan Report, 1)
	go func() { first <- p.End(time.Hour) }()
	second := make(chan Report, 1)
	go func() { second <- p.End(time.Millisecond) }()
	for _, c := range []chan Report{first, second} {
		select {
		case r := <-c:
			require.True(t, r.Forced)
			require.Equal(t, 0, r.Left)
		case <-time.After(long):
			t.Fatal("End has waited for the longer grace")
		}
	}
}

func TestOutputOfAFailingWriterIsStillTaken(t *testing.T) {
	// A megabyte is far more than a pipe holds: the program ends only if
	// somebody reads it (F12), and with status 0 only if nobody has closed it.
	c := sh("dd if=/dev/zero bs=1024 count=1024 2>/dev/null && exit 7")
	c.Stdout = failing{}
	require.Equal(t, Exit{Code: 7}, wait(t, start(t, c)))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestOneWriterForBothStreamsKeepsTheOrder(t *testing.T) {
	var both Capture
	c := sh("for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done")
	c.Stdout, c.Stderr = &both, &both
	p := start(t, c)
	wait(t, p)
	p.End(0)
	require.Equal(t, "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n", both.String())
}

func TestEnvironmentIsExactlyTheGivenOne(t *testing.T) {
	t.Setenv("PUGMARK_FUTURE", "1") // F43
	for name, env := range map[string][]string{"nil": nil, "empty": {}, "one": {"A=b"}} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := start(t, Command{Args: []string{"env"}, Env: env, Stdout: &out})
			require.Equal(t, Exit{}, wait(t, p))
			p.End(0)
			require.Equal(t, strings.Join(append(env, ""), "\n"), out.String())
		})
	}
}

func TestStreamsThatAreNilAreTheNullDevice(t *testing.T) {
	p := start(t, sh("read line && exit 1; echo out || exit 2; echo err >&2 || exit 3"))
	require.Equal(t, Exit{}, wait(t, p))
}

func TestPipesCarryBothWaysAndEnd(t *testing.T) {
	p, pipes, err := startPiped(t, sh("cat; echo end >&2"))
	require.NoError(t, err)
	_, err = pipes.Stdin.WriteString("one\ntwo")
	require.NoError(t, err)
	require.NoError(t, pipes.Stdin.Close())
	var out, errs bytes.Buffer
	_, err = out.ReadFrom(pipes.Stdout)
	require.NoError(t, err)
	_, err = errs.ReadFrom(pipes.Stderr)
	require.NoError(t, err)
	require.Equal(t, Exit{}, wait(t, p))
	require.Equal(t, "one\ntwo", out.String())
	require.Equal(t, "end\n", errs.String())
}

// startPiped is StartPiped with its clean-up.
func startPiped(t *testing.T, c Command) (*Process, Pipes, error) {
	p, pipes, err := (*Set)(nil).StartPiped(c)
	if err == nil {
		t.Cleanup(func() { p.End(0); pipes.Close() })
	}
	return p, pipes, err
}

func TestRunGivesStatusAndAllOutput(t *testing.T) {
	var set Set
	var out Capture
	c := sh("echo hello; exit 9")
	c.Stdout = &out
	got, err := set.Run(t.Context(), c, time.Second)
	require.NoError(t, err)
	require.Equal(t, Result{Exit: Exit{Code: 9}}, got)
	require.Equal(t, "hello\n", out.String())
	require.Empty(t, set.live)
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var set Set
	got, err := set.Run(ctx, sh("sleep 60; exit 0"), long)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, `run "sh"`)
	require.Equal(t, 15, got.Exit.Signal)
	require.Equal(t, 0, got.Report.Left)
}

func TestEndAllEndsEverythingAndForbidsMore(t *testing.T) {
	var set Set
	var pids []int
	for range 5 {
		_, numbers := startReady(t, &set, sh("sleep 60 & echo $$ $!; wait"))
		pids = append(pids, numbers...)
	}
	require.Len(t, pids, 10)
	report := set.EndAll(long)
	require.Equal(t, 0, report.Left)
	if runtime.GOOS == "linux" {
		require.Equal(t, 10, report.Group)
	}
	for _, pid := range pids {
		requireGone(t, pid)
	}
	_, err := set.Start(sh("exit 0"))
	require.ErrorIs(t, err, ErrEnded)
	require.Empty(t, set.live)
}

func TestEndAllMissesNoStartThatIsUnderWay(t *testing.T) {
	var set Set
	var wg sync.WaitGroup
	started := make(chan *Process, 1000)
	for range 8 {
		wg.Go(func() {
			for {
				p, err := set.Start(sh("sleep 60"))
				if err != nil {
					if !errors.Is(err, ErrEnded) {
						t.Error(err)
					}
					return
				}
				started <- p
			}
		})
	}
	(<-started).End(0) // some have started, and more are about to
	report := set.EndAll(0)
	wg.Wait()
	close(started)
	require.Equal(t, 0, report.Left)
	for p := range started {
		if n := p.Members(); n != 0 {
			t.Errorf("process %d: want 0 members, got %d", p.PID(), n)
		}
	}
}

func TestAHundredParallelProgramsLeaveNothing(t *testing.T) {
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	var set Set
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			var out Capture
			c := sh("sleep 60 & echo hello; exit 0")
			c.Stdout = &out
			p, err := set.Start(c)
			if err != nil {
				t.Error(err)
				return
			}
			p.Wait()
			report := p.End(long)
			if diff := cmp.Diff(Report{Group: 1}, report); diff != "" {
				t.Error("(-want +got)", diff)
			}
			if n := p.Members(); n != 0 {
				t.Errorf("want 0 members, got %d", n)
			}
			if out.String() != "hello\n" {
				t.Errorf("want hello, got %q", out.String())
			}
		})
	}
	wg.Wait()
	require.Empty(t, set.live)
	requireSoon(t, func() bool { return runtime.NumGoroutine() <= goroutines }, "goroutines are left")
	// The poller may have come into being meanwhile: an epoll and an event descriptor.
	require.LessOrEqual(t, openFiles(t), files+2, "descriptors are left")
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	require.NoError(t, err)
	return len(list)
}

func TestOtherPeoplesExitStatusIsLeftAlone(t *testing.T) {
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 5 {
				var exit *exec.ExitError
				if err := exec.Command("sh", "-c", "exit 7").Run(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
					t.Errorf("want exit status 7, got %v", err)
				}
			}
		})
		wg.Go(func() {
			p := start(t, sh("sleep 60 & exit 0"))
			wait(t, p)
			if r := p.End(0); r.Left != 0 {
				t.Errorf("left: want 0, got %d", r.Left)
			}
		})
	}
	wg.Wait()
}

func BenchmarkStartAndEnd(b *testing.B) {
	var set Set
	for b.Loop() {
		p, err := set.Start(Command{Args: []string{"true"}})
		if err != nil {
			b.Fatal(err)
		}
		p.Wait()
		p.End(0)
	}
}

func BenchmarkEndOfNothing(b *testing.B) {
	p, err := Start(Command{Args: []string{"true"}})
	if err != nil {
		b.Fatal(err)
	}
	p.Wait()
	for b.Loop() {
		p.look()
	}
}
