//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"syscall"
)

// Adopt says that this system has no way to find descendants that leave a
// program's session. Everything else works as ever.
func Adopt() error {
	return errors.New("become the parent of orphans: only Linux can")
}

func startMarked(start func() (*os.Process, error)) (*os.Process, uint64, error) {
	child, err := start()
	return child, 0, err
}

func (p *Process) look() census { return p.lookAtGroup() }

func (p *Process) signalOne(pid int, sig syscall.Signal) { syscall.Kill(pid, sig) }
