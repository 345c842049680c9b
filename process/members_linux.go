package process

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// markLimit is the resource limit that carries the mark; see the package's
// documentation for why this one.
const markLimit = unix.RLIMIT_LOCKS

// markLock guards the harness's own soft markLimit from its setting to the
// fork that inherits it. A process has only one, so the lock has to be one for
// the process too, as syscall.ForkLock is. It costs nothing: forks wait for
// each other anyway.
var markLock sync.Mutex

// Adopt makes the calling program the parent of orphans among its descendants,
// for good. Programs that start others call it once, in main. An error says
// that descendants which leave a program's session will not all be found and
// reaped here; everything else works as ever.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	markLock.Lock()
	defer markLock.Unlock()
	old, err := setMark(newMark())
	if err != nil {
		return fmt.Errorf("mark descendants: %w", err)
	}
	return unix.Prlimit(0, markLimit, &old, nil)
}

// newMark gives a number that is no limit anybody would set, and nobody else's
// mark: 61 random bits.
func newMark() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.NativeEndian.Uint64(b[:])>>3 | 1<<61
}

// setMark sets the harness's own mark and gives the limit that was.
func setMark(mark uint64) (unix.Rlimit, error) {
	var old unix.Rlimit
	if err := unix.Prlimit(0, markLimit, nil, &old); err != nil {
		return old, err
	}
	if old.Max < mark {
		return old, fmt.Errorf("the hard limit of RLIMIT_LOCKS is %d", old.Max)
	}
	return old, unix.Prlimit(0, markLimit, &unix.Rlimit{Cur: mark, Max: old.Max}, nil)
}

// startMarked calls start such that the process it makes has a new mark from
// its birth. The mark is 0 where that can't be done.
func startMarked(start func() (*os.Process, error)) (*os.Process, uint64, error) {
	markLock.Lock()
	defer markLock.Unlock()
	mark := newMark()
	old, err := setMark(mark)
	if err != nil {
		child, err := start()
		return child, 0, err
	}
	defer unix.Prlimit(0, markLimit, &old, nil)
	child, err := start()
	return child, mark, err
}

// member is what /proc says of one process.
type member struct {
	pid, parent, group, session int
	dead                        bool // a zombie
}

// look takes a census, and reaps those orphans of the program that we have
// adopted: by their own pids, so that nobody else's exit status is taken.
func (p *Process) look() census {
	members, err := p.members()
	if err != nil {
		return p.lookAtGroup()
	}
	var c census
	dead := map[int]member{}
	for _, m := range members {
		if m.dead {
			dead[m.pid] = m
			continue
		}
		c.live++
		if m.session != p.pid {
			c.strays++
		}
		if m.group == p.pid {
			c.group = true
		} else {
			c.outside = append(c.outside, m.pid)
		}
	}
	for _, m := range dead {
		_, orphanSoon := dead[m.parent]
		switch {
		case m.pid == p.pid: // watch reaps it
			c.settling = true
		case m.parent == os.Getpid():
			if _, err := unix.Wait4(m.pid, nil, unix.WNOHANG, nil); err != nil && !errors.Is(err, unix.ECHILD) {
				c.settling = true
			}
		case orphanSoon: // its parent died while we were reading: it is about to be ours
			c.settling = true
		}
	}
	return c
}

// members lists the program and its descendants.
func (p *Process) members() ([]member, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := proc.Readdirnames(-1)
	proc.Close()
	if err != nil {
		return nil, err
	}
	ourSession, err := unix.Getsid(0)
	if err != nil {
		return nil, err
	}
	var list []member
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		marked, known := p.marked(pid)
		if known && !marked {
			continue
		}
		m, ok := readStat(pid)
		// A program is never in our session, nor is what descends from it. What
		// is in it and has the mark was started with os/exec in the moment
		// in which we had the mark ourselves.
		if !ok || m.session == ourSession {
			continue
		}
		if marked || m.session == p.pid {
			list = append(list, m)
		}
	}
	return list, nil
}

// marked says whether a process has our mark, and whether that can be known.
func (p *Process) marked(pid int) (marked, known bool) {
	if p.mark == 0 {
		return false, false
	}
	var limit unix.Rlimit
	switch err := unix.Prlimit(pid, markLimit, nil, &limit); {
	case err == nil:
		return limit.Cur == p.mark, true
	case errors.Is(err, unix.ESRCH):
		return false, true
	}
	return false, false
}

// signalOne sends sig to one process outside of the group. Between a look and
// a signal a pid can change hands; a pidfd can't, so the mark is read again
// once we hold one.
func (p *Process) signalOne(pid int, sig syscall.Signal) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // before Linux 5.3, and in some sandboxes
		unix.Kill(pid, sig)
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if marked, known := p.marked(pid); known && !marked {
		return
	}
	unix.PidfdSendSignal(fd, sig, nil, 0)
}

func readStat(pid int) (member, bool) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return member{}, false
	}
	return parseStat(line)
}

// parseStat reads a line of /proc/PID/stat: pid, name in parentheses (which may
// hold anything, parentheses too), state, parent, group, session, and so on.
func parseStat(line []byte) (member, bool) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return member{}, false
	}
	fields := bytes.Fields(line[end+1:])
	const state, parent, group, session, threads = 0, 1, 2, 3, 17
	if len(fields) <= threads {
		return member{}, false
	}
	var m member
	var count int
	for _, n := range []struct {
		text []byte
		to   *int
	}{{bytes.TrimSpace(line[:open]), &m.pid}, {fields[parent], &m.parent}, {fields[group], &m.group}, {fields[session], &m.session}, {fields[threads], &count}} {
		v, err := strconv.Atoi(string(n.text))
		if err != nil {
			return member{}, false
		}
		*n.to = v
	}
	// A process whose first thread has ended is shown as a zombie while its
	// other threads run on.
	s := string(fields[state])
	m.dead = (s == "Z" || s == "X" || s == "x") && count <= 1
	return m, true
}
