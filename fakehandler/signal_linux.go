package fakehandler

import (
	"syscall"
	"unsafe"
)

// defaultAction takes away the handler that the Go runtime installs and does not
// give back: without this a SEGV would end in a traceback and exit status 2, where
// a runtime under test is to see a death by signal 11.
func defaultAction(number syscall.Signal) error {
	if number == syscall.SIGKILL {
		return nil
	}
	// The kernel's sigaction differs between machines in the order of its fields
	// but is nowhere longer than this, and all zero means the default everywhere.
	var action [64]byte
	const setSize = 8 // of the kernel's signal set, in bytes
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(number),
		uintptr(unsafe.Pointer(&action)), 0, setSize, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
