//go:build !linux

package fakehandler

import (
	"os/signal"
	"syscall"
)

// defaultAction does what it can without the kernel: the Go runtime turns a SEGV
// into a traceback and exit status 2 here.
func defaultAction(number syscall.Signal) error {
	signal.Reset(number)
	return nil
}
