//go:build unix

package process

import "syscall"

// lookAtGroup is the census of what every Unix can tell: whether there is
// anything in the program's group.
func (p *Process) lookAtGroup() census {
	// EPERM means, on macOS, that nothing but zombies is left.
	if err := syscall.Kill(-p.pid, 0); err != nil {
		return census{}
	}
	return census{live: 1, group: true}
}
