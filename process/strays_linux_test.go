package process

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestADescendantInASessionOfItsOwnIsFound(t *testing.T) {
	for name, script := range map[string]string{
		"while the program runs":        "setsid sh -c 'echo $$; exec sleep 60' & wait",
		"after the program's end":       "setsid sh -c 'echo $$; exec sleep 60' & exit 0",
		"that ignores SIGTERM":          `setsid sh -c 'trap "" TERM; echo $$; exec sleep 60' & exit 0`,
		"that has forked twice":         "setsid sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 60\" & exit 0' & exit 0",
		"with its environment replaced": "setsid env -i sh -c 'echo $$; exec sleep 60' & exit 0",
		"that has closed its streams":   "setsid sh -c 'echo $$; exec sleep 60 </dev/null >/dev/null 2>&1' & exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, pids := startReady(t, nil, sh(script))
			require.Len(t, pids, 1)
			wantGroup := 1
			if strings.HasSuffix(script, "wait") {
				wantGroup = 2
			} else {
				require.Equal(t, Exit{}, wait(t, p))
			}
			grace := long
			if strings.Contains(script, "trap") {
				grace = lookLast
			}
			requireSoon(t, func() bool { return p.Members() == wantGroup }, "only the stray and what waits for it live on")
			report := p.End(grace)
			want := Report{Group: wantGroup, Strays: 1, Forced: grace != long}
			if diff := cmp.Diff(want, report); diff != "" {
				t.Error("(-want +got)", diff)
			}
			requireGone(t, pids[0])
		})
	}
}

func TestStraysOfParallelProgramsAreToldApart(t *testing.T) {
	const n = 12
	var processes [n]*Process
	var pids [n]int
	for i := range processes {
		p, numbers := startReady(t, nil, sh("setsid sh -c 'echo $$; exec sleep 60' & exit 0"))
		wait(t, p)
		processes[i], pids[i] = p, numbers[0]
	}
	for i, p := range processes {
		report := p.End(long)
		if diff := cmp.Diff(Report{Group: 1, Strays: 1}, report); diff != "" {
			t.Errorf("program %d (-want +got) %s", i, diff)
		}
		requireGone(t, pids[i])
		for _, pid := range pids[i+1:] {
			require.NoError(t, syscall.Kill(pid, 0), "another program's stray was ended")
		}
	}
}

// The stray is born and orphaned as early as can be: an attribution that has to
// look at the program while it lives would miss some of these.
func TestStraysBornAtOnceAreFoundInAHundredParallelStarts(t *testing.T) {
	var set Set
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			p, err := set.Start(sh("setsid sleep 60 & exit 0"))
			if err != nil {
				t.Error(err)
				return
			}
			p.Wait()
			report := p.End(long)
			report.Strays = 0 // it may not have got to its setsid yet
			if diff := cmp.Diff(Report{Group: 1}, report); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
	wg.Wait()
	if list := ourSleepers(t); len(list) > 0 {
		t.Errorf("left running: %q", list)
	}
}

// ourSleepers lists children of this process that sleep, by their command line:
// a second opinion on members, sharing no code with it.
func ourSleepers(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("ps", "-o", "pid=,stat=,args=", "--ppid", strconv.Itoa(os.Getpid())).Output()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err, "ps is needed")
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "sleep") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

func TestAJobInAGroupOfItsOwnIsFound(t *testing.T) {
	job := sh("")
	job.Args = []string{"bash", "-c", "set -m; sleep 60 & echo $!; exit 0"}
	for name, forget := range map[string]bool{"by its mark": false, "by its session where there are no marks": true} {
		t.Run(name, func(t *testing.T) {
			p, pids := startReady(t, nil, job)
			if forget {
				p.mark = 0
			}
			wait(t, p)
			group, err := syscall.Getpgid(pids[0])
			require.NoError(t, err)
			require.NotEqual(t, p.PID(), group, "the premise: it has left the group")
			if diff := cmp.Diff(Report{Group: 1}, p.End(long)); diff != "" {
				t.Error("(-want +got)", diff)
			}
			requireGone(t, pids[0])
		})
	}
}

func TestTheGroupAloneTellsWhetherAnythingLives(t *testing.T) {
	p, _ := startReady(t, nil, sh("sleep 60 & echo; exit 0"))
	wait(t, p)
	if diff := cmp.Diff(census{live: 1, group: true}, p.lookAtGroup(), cmp.AllowUnexported(census{})); diff != "" {
		t.Error("(-want +got)", diff)
	}
	p.End(0)
	if diff := cmp.Diff(census{}, p.lookAtGroup(), cmp.AllowUnexported(census{})); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestOrphansThatEndByThemselvesAreReaped(t *testing.T) {
	p, pids := startReady(t, nil, sh("setsid sh -c 'echo $$' & exit 0"))
	wait(t, p)
	p.End(long)
	requireGone(t, pids[0])
}

func TestWhatOsExecStartsInTheMomentOfTheMarkIsNoMember(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	_, mark, err := startMarked(func() (*os.Process, error) {
		err := cmd.Start()
		return cmd.Process, err
	})
	require.NoError(t, err)
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	p := &Process{pid: 1 << 30, mark: mark}
	marked, known := p.marked(cmd.Process.Pid)
	require.True(t, marked && known, "the premise: it has the mark")
	require.Equal(t, 0, p.Members())
}

func TestTheHarnessKeepsNoMark(t *testing.T) {
	before, err := os.ReadFile("/proc/self/limits")
	require.NoError(t, err)
	p := start(t, sh("exit 0"))
	wait(t, p)
	after, err := os.ReadFile("/proc/self/limits")
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestPipesAreBlockingForTheProgram(t *testing.T) {
	// O_NONBLOCK (04000 in the flags that Linux shows) belongs to the pipe's
	// end, not to who holds it: a program would get EAGAIN for our mistake.
	for name, c := range map[string]Command{"pipes": {}, "writers": {Stdout: &Capture{}, Stderr: &Capture{}}} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			full := sh("for n in 0 1 2; do sed -n s/flags:.//p /proc/$$/fdinfo/$n >&3; done")
			full.Stdout, full.Stderr, full.ExtraFiles = c.Stdout, c.Stderr, []*os.File{w}
			p, pipes, err := startPiped(t, full)
			w.Close()
			require.NoError(t, err)
			defer pipes.Close()
			var out bytes.Buffer
			_, err = out.ReadFrom(r)
			require.NoError(t, err)
			require.Equal(t, Exit{}, wait(t, p))
			lines := strings.Fields(out.String())
			require.Len(t, lines, 3)
			for fd, flags := range lines {
				bits, err := strconv.ParseInt(flags, 8, 64)
				require.NoError(t, err)
				if bits&0o4000 != 0 {
					t.Errorf("descriptor %d is not blocking: flags %s", fd, flags)
				}
			}
		})
	}
}

func TestStatOfAProcessIsReadWhateverItsName(t *testing.T) {
	const rest = " 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 "
	for _, test := range []struct {
		name, line string
		want       member
		ok         bool
	}{
		{"plain", "42 (sleep) S 7 8 9" + rest + "1 0 12345 0\n", member{pid: 42, parent: 7, group: 8, session: 9}, true},
		{"parentheses in the name", "42 (a) Z 1 (b) S 7 8 9" + rest + "1 0 12345 0\n", member{pid: 42, parent: 7, group: 8, session: 9}, true},
		{"zombie", "42 (x) Z 7 8 9" + rest + "1 0 12345 0\n", member{pid: 42, parent: 7, group: 8, session: 9, dead: true}, true},
		{"first thread ended, two run on", "42 (x) Z 7 8 9" + rest + "3 0 12345 0\n", member{pid: 42, parent: 7, group: 8, session: 9}, true},
		{"cut short", "42 (x) S 7 8", member{}, false},
		{"no name", "42 S 7 8 9", member{}, false},
		{"empty", "", member{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := parseStat([]byte(test.line))
			require.Equal(t, test.ok, ok)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(member{})); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
}
