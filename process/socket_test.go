//go:build unix

package process

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestConnectionsWaitForTheProgram(t *testing.T) {
	s, err := Listen()
	require.NoError(t, err)
	defer s.Close()
	conn, err := net.Dial("tcp", s.Addr.String())
	require.NoError(t, err, "before any program is there")
	defer conn.Close()

	p := start(t, Command{Args: []string{os.Args[0]}, Env: []string{"PROCESS_TEST=accept"}, ExtraFiles: []*os.File{s.File}})
	require.NoError(t, conn.SetDeadline(time.Now().Add(long)))
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "hello from 3", string(got))
	require.Equal(t, Exit{}, wait(t, p))

	again, err := net.Dial("tcp", s.Addr.String())
	require.NoError(t, err, "the port is still held")
	again.Close()
}

func TestTheSocketIsBlocking(t *testing.T) {
	s, err := Listen()
	require.NoError(t, err)
	defer s.Close()
	flags, err := unix.FcntlInt(s.File.Fd(), unix.F_GETFL, 0)
	require.NoError(t, err)
	require.Zero(t, flags&unix.O_NONBLOCK)
}

func TestAReservedPortRefuses(t *testing.T) {
	s, err := Reserve()
	require.NoError(t, err)
	defer s.Close()
	for range 3 {
		_, err = net.Dial("tcp", s.Addr.String())
		require.True(t, errors.Is(err, syscall.ECONNREFUSED), "got %v", err)
	}
	_, err = net.Listen("tcp", s.Addr.String())
	require.True(t, errors.Is(err, syscall.EADDRINUSE), "nobody else gets it: %v", err)
}

// acceptOnThree is what the test binary does as a program under a test: it
// accepts one connection with plain blocking calls.
func acceptOnThree() int {
	fd, _, err := syscall.Accept(3)
	if err != nil {
		return 1
	}
	if _, err := syscall.Write(fd, []byte("hello from 3")); err != nil {
		return 1
	}
	return 0
}
