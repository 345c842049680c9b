package reference

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// heldPipe reads a pipe whose writer may outlive the process it was made for: a
// child of a handler can hold the handler's stdout long after the handler exited.
// What the handler had written by its exit is still in the pipe and always read,
// however slowly its reader works; what others write counts until a short grace
// is over (reading R22). Then the pipe ends.
type heldPipe struct {
	file  *os.File
	grace time.Duration
	// over is when the grace ends, in Unix nanoseconds; 0 until the exit.
	over atomic.Int64
	// late counts the bytes read since the exit. More than fit into a pipe can't
	// have been written before.
	late int64
	// held says that the grace ended before the pipe did.
	held bool
}

// pipeCapacity is more than a pipe and one read can hold, in bytes.
const pipeCapacity = 1 << 20

// exited starts the grace. It may be called while Read runs.
func (p *heldPipe) exited() {
	over := time.Now().Add(p.grace)
	p.over.Store(over.UnixNano())
	_ = p.file.SetReadDeadline(over)
}

// Read implements [io.Reader].
func (p *heldPipe) Read(b []byte) (int, error) {
	for !p.held {
		over := p.over.Load()
		if over != 0 && time.Now().UnixNano() >= over {
			return p.drain(b)
		}
		n, err := p.file.Read(b)
		if over != 0 {
			p.late += int64(n)
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return 0, io.EOF
}

// drain reads what is in the pipe and waits for nothing. A deadline would not do:
// once it is over, a read fails even when there is something to read.
func (p *heldPipe) drain(b []byte) (int, error) {
	if p.late > pipeCapacity {
		p.held = true
		return 0, io.EOF
	}
	if err := p.file.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	conn, err := p.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var readErr error
	err = conn.Read(func(fd uintptr) bool {
		for {
			n, readErr = syscall.Read(int(fd), b)
			if readErr != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case readErr == syscall.EAGAIN:
		p.held = true
		return 0, io.EOF
	case readErr != nil:
		return 0, os.NewSyscallError("read", readErr)
	case n == 0:
		return 0, io.EOF
	}
	p.late += int64(n)
	return n, nil
}
