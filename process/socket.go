//go:build unix

package process

import (
	"fmt"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Socket is a TCP socket on 127.0.0.1 that the harness holds, and with it a
// port that is nobody else's until Close (F22).
type Socket struct {
	// File is the socket, for Command.ExtraFiles: as the first of them it is
	// the program's descriptor 3 (P13/rpc-url). It stays open here.
	File *os.File
	// Addr is the address, with the port that the system chose.
	Addr netip.AddrPort
}

// Listen gives a socket that listens. Connections are taken by the system from
// now on and wait for the program to accept them, so nothing has to wait until
// the program is up. They are taken as well when the program has ended:
// whoever connects watches Process.Done.
func Listen() (*Socket, error) {
	s, err := bind()
	if err != nil {
		return nil, err
	}
	if err := unix.Listen(int(s.File.Fd()), syscall.SOMAXCONN); err != nil {
		s.Close()
		return nil, fmt.Errorf("listen on %v: %w", s.Addr, err)
	}
	return s, nil
}

// Reserve gives a socket that does not listen: connections to it are refused,
// for as long as it is held.
func Reserve() (*Socket, error) { return bind() }

// Close gives the port back, unless a program still holds the socket too.
func (s *Socket) Close() error { return s.File.Close() }

// bind makes a blocking socket, as programs expect it of an inherited one. The
// net package's are not, and the mode is shared by all who hold it.
func bind() (*Socket, error) {
	syscall.ForkLock.RLock() // as everywhere where close-on-exec is set second
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), "socket")
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		file.Close()
		return nil, fmt.Errorf("bind to a port of 127.0.0.1: %w", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("ask for the port: %w", err)
	}
	in4, ok := name.(*unix.SockaddrInet4)
	if !ok {
		file.Close()
		return nil, fmt.Errorf("ask for the port: the address is a %T", name)
	}
	return &Socket{File: file, Addr: netip.AddrPortFrom(netip.AddrFrom4(in4.Addr), uint16(in4.Port))}, nil
}
