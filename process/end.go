//go:build unix

package process

import (
	"sync"
	"syscall"
	"time"
)

const (
	// killTime is how long End waits for processes to be gone after SIGKILL.
	// They go at once, unless the kernel holds them in a call that can't be
	// interrupted.
	killTime = 5 * time.Second
	// drainTime is how long End waits for the end of pipes when nobody that we
	// know of holds them.
	drainTime = time.Second
	// The times between two looks at the processes. There is no event to wait
	// for: a process that isn't our child tells us nothing.
	lookFirst = 500 * time.Microsecond
	lookLast  = 20 * time.Millisecond
)

// Report says what End found and left.
type Report struct {
	// Group is how many processes lived when End was called: the program
	// itself if it still ran, and all its living descendants. So after a
	// program's exit it is the number that it left behind. Zombies don't
	// count. Outside Linux see Process.Members.
	Group int
	// Strays is how many of Group had left the program's session; 0 outside
	// Linux.
	Strays int
	// Forced says that some process had to be killed with SIGKILL.
	Forced bool
	// Left is how many still live. It is 0 but for processes that the kernel
	// or another user holds.
	Left int
}

// census is one look at the processes of a Process.
type census struct {
	live, strays int
	group        bool  // something lives in the program's own group
	outside      []int // pids that live in other groups
	settling     bool  // a process has ended and was not reaped yet
}

// ending is one clean-up, shared by all the callers of End.
type ending struct {
	mu       sync.Mutex
	deadline time.Time     // of the grace
	sooner   chan struct{} // the deadline has moved
	done     chan struct{}
	report   Report // set before done is closed
}

// End ends the program and everything that descends from it: SIGTERM, then
// after at most grace SIGKILL for what still lives, until nothing does; with a
// grace of 0 or less, SIGKILL at once. It returns when all are gone and the
// writers of Command have the last of the output, or after a few seconds more
// than grace with what is left in Report.Left. The program need not live any
// more; with nothing left behind End costs one look through /proc.
//
// It may be called again, and by many: while it works all wait for the same
// clean-up, cut to the shortest grace, and get the same Report; afterwards the
// Report is given again, unless something was left: then that is tried again.
func (p *Process) End(grace time.Duration) Report {
	deadline := time.Now().Add(max(grace, 0))
	p.mu.Lock()
	e := p.ending
	switch {
	case e == nil || e.failed():
		e = &ending{deadline: deadline, sooner: make(chan struct{}, 1), done: make(chan struct{})}
		p.ending = e
		go p.end(e, grace > 0)
	default:
		e.hurry(deadline)
	}
	p.mu.Unlock()
	<-e.done
	return e.report
}

func (p *Process) end(e *ending, gently bool) {
	defer close(e.done)
	now := p.look()
	e.report.Group, e.report.Strays = now.live, now.strays

	if gently && now.live > 0 {
		p.signalGroup(now, syscall.SIGTERM)
		p.signalGroup(now, syscall.SIGCONT) // a stopped process can't act on it otherwise
		now = p.await(e, now)
	}
	pause := lookFirst
	for giveUp := time.Now().Add(killTime); (now.live > 0 || now.settling) && time.Now().Before(giveUp); now = p.look() {
		if now.live > 0 {
			// Every time anew: what forks faster than we look is caught by the
			// signal to the group, at the latest in some later round.
			e.report.Forced = true
			p.signalGroup(now, syscall.SIGKILL)
			for _, pid := range now.outside {
				p.signalOne(pid, syscall.SIGKILL)
			}
		}
		time.Sleep(pause)
		pause = min(2*pause, lookLast)
	}
	e.report.Left = now.live
	if now.live == 0 {
		// A matter of one goroutine's turn, unless /proc hides the program.
		select {
		case <-p.done:
		case <-time.After(killTime):
			e.report.Left = 1
		}
	}
	for _, st := range p.streams {
		st.finish(drainTime)
	}
	if e.report.Left == 0 {
		p.set.forget(p)
	}
}

// await looks until nothing lives or the grace is over. What lives outside of
// the group gets its SIGTERM when it is first seen there: it may have been
// inside at the first look, and gone by the time of the signal.
func (p *Process) await(e *ending, now census) census {
	told := map[int]bool{}
	pause := lookFirst
	for {
		for _, pid := range now.outside {
			if !told[pid] {
				told[pid] = true
				p.signalOne(pid, syscall.SIGTERM)
				p.signalOne(pid, syscall.SIGCONT)
			}
		}
		left := time.Until(e.until())
		if now.live == 0 || left <= 0 {
			return now
		}
		timer := time.NewTimer(min(pause, left))
		select {
		case <-timer.C:
			pause = min(2*pause, lookLast)
		case <-e.sooner:
			timer.Stop()
		}
		now = p.look()
	}
}

func (e *ending) until() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.deadline
}

// hurry moves the end of the grace forward, never back.
func (e *ending) hurry(deadline time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if deadline.Before(e.deadline) {
		e.deadline = deadline
		select {
		case e.sooner <- struct{}{}:
		default:
		}
	}
}

// failed says that the clean-up is over and something was left.
func (e *ending) failed() bool {
	select {
	case <-e.done:
		return e.report.Left > 0
	default:
		return false
	}
}

// signalGroup sends sig to the program's group, what was forked in it since the
// census included.
func (p *Process) signalGroup(c census, sig syscall.Signal) {
	// While the program isn't reaped its number can't be anybody else's.
	if c.group || !p.reaped() {
		syscall.Kill(-p.pid, sig)
	}
}
