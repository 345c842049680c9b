//go:build unix

package process

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process is one started program and all that descends from it. Its methods
// are safe for concurrent use.
type Process struct {
	pid     int    // also the number of its group and session
	mark    uint64 // what its descendants inherit; 0 where there are no marks
	streams []*stream
	set     *Set

	done chan struct{} // closed when the program itself was reaped
	exit Exit          // set before done is closed

	mu     sync.Mutex
	ending *ending // the End under way, or the last one
}

// Exit is how a program ended.
type Exit struct {
	// Code is the exit status, 0 to 255; -1 if the program ended by a signal,
	// or if nobody knows how it ended.
	Code int
	// Signal is the number of the signal that ended it, or 0.
	Signal int
	// SignalName is the signal's name, as SIGKILL; empty for a signal without
	// one.
	SignalName string
}

// unknownExit is the Exit of a program that has not ended, or whose status
// could not be had.
var unknownExit = Exit{Code: -1}

// OK says that the program ended with status 0.
func (e Exit) OK() bool { return e == Exit{} }

// String is "exit status 3", "signal 9 (SIGKILL)" or "unknown exit status".
func (e Exit) String() string {
	switch {
	case e.SignalName != "":
		return fmt.Sprintf("signal %d (%s)", e.Signal, e.SignalName)
	case e.Signal != 0:
		return fmt.Sprintf("signal %d", e.Signal)
	case e == unknownExit:
		return "unknown exit status"
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// PID is the program's process ID, which is that of its group and session.
func (p *Process) PID() int { return p.pid }

// Done is closed when the program itself has ended. Its descendants may live
// on, and what it wrote may still be in a pipe.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for Done and says how the program ended. It may be called any
// number of times.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Members counts the living processes: the program and its descendants, as far
// as the package's documentation says they are found. A zombie doesn't count. Outside
// Linux it is 1 while there is anything in the program's group, else 0.
func (p *Process) Members() int { return p.look().live }

// watch reaps the program.
func (p *Process) watch(child *os.Process) {
	defer close(p.done)
	p.exit = unknownExit
	state, err := child.Wait()
	if err != nil {
		return
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		p.exit = Exit{Code: -1, Signal: int(status.Signal()), SignalName: unix.SignalName(status.Signal())}
	case ok && status.Exited():
		p.exit = Exit{Code: status.ExitStatus()}
	}
}

func (p *Process) reaped() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
