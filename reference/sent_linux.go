package reference

import (
	"net"

	"golang.org/x/sys/unix"
)

// acknowledged is how many bytes the system at the other end of a TCP connection has
// taken, also after the connection was reset.
func acknowledged(conn net.Conn) (bytes int64, known bool) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return 0, false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, false
	}
	var info *unix.TCPInfo
	if controlErr := raw.Control(func(fd uintptr) {
		info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); controlErr != nil || err != nil || info.Bytes_acked == 0 {
		return 0, false
	}
	return int64(info.Bytes_acked) - 1, true // the first one stands for the opening
}
