package process

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// KillDescendants kills every process that descends from the calling one, whoever
// started it, and returns when none lives, or after a few seconds. It is for a program
// that is about to exit, and has called [Adopt]: it takes no account of a [Set], and
// what it kills is reaped by nobody. Outside Linux it does nothing.
func KillDescendants() {
	pause := lookFirst
	for giveUp := time.Now().Add(killTime); time.Now().Before(giveUp); pause = min(2*pause, lookLast) {
		living := descendants(os.Getpid())
		if len(living) == 0 {
			return
		}
		// Every time anew: one may have forked since we looked.
		for _, pid := range living {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(pause)
	}
}

// descendants is the living processes that descend from one. What can't be read is
// none: then the sets of programs are all that is known.
func descendants(of int) (living []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil
	}
	children := map[int][]member{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if m, ok := readStat(pid); ok {
				children[m.parent] = append(children[m.parent], m)
			}
		}
	}
	for next := []int{of}; len(next) > 0; {
		of, next = next[0], next[1:]
		for _, m := range children[of] {
			next = append(next, m.pid)
			if !m.dead {
				living = append(living, m.pid)
			}
		}
	}
	return living
}
