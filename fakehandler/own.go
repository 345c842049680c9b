package fakehandler

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// grandchildVerb in place of the script's path makes Main the process that a
// `grandchild` operation starts; the second argument is how long it lives.
const grandchildVerb = "--grandchild"

// grandchild starts a process of this program that does nothing but live: no other
// program need be there for it.
func (p *player) grandchild(g *Grandchild) error {
	if !p.out.own() {
		return errNoProcess
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(program)
	child.Args = append(slices.Clone(p.prefix), grandchildVerb, time.Duration(g.For).String())
	if slices.Contains(g.Holds, "stdout") {
		child.Stdout = os.Stdout
	}
	if slices.Contains(g.Holds, "stderr") {
		child.Stderr = os.Stderr
	}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: g.Detached}
	if err := child.Start(); err != nil {
		return err
	}
	p.rec.note("grandchild %d lives for %v and holds %q", child.Process.Pid, time.Duration(g.For), g.Holds)
	return child.Process.Release()
}

// liveFor is the grandchild's whole life.
func liveFor(text string) int {
	d, err := time.ParseDuration(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, "grandchild:", err)
		return StatusFault
	}
	time.Sleep(d)
	return 0
}

// signalNumber knows the names that a script may use.
func signalNumber(name string) (syscall.Signal, error) {
	switch name {
	case "KILL":
		return syscall.SIGKILL, nil
	case "SEGV":
		return syscall.SIGSEGV, nil
	case "TERM":
		return syscall.SIGTERM, nil
	}
	return 0, fmt.Errorf("KILL, SEGV or TERM, not %q", name)
}

// endBySignal ends this process by a signal, as if it had been sent from outside or
// had been earned. It returns only if the signal can't be sent.
func endBySignal(name string) error {
	number, err := signalNumber(name)
	if err != nil {
		return err
	}
	if err := defaultAction(number); err != nil {
		return fmt.Errorf("default action of signal %s: %w", name, err)
	}
	if err := syscall.Kill(os.Getpid(), number); err != nil {
		return fmt.Errorf("signal %s: %w", name, err)
	}
	for {
		time.Sleep(time.Hour)
	}
}

func ignoreTermination() { signal.Ignore(syscall.SIGTERM) }

// keepBrokenPipes makes a write to a pipe without reader an error that can be
// recorded, not the end of the process.
func keepBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }
