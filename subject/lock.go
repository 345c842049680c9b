//go:build unix

package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockPause is the time between two looks at a lock that another one holds.
// A lock that blocks could not be given up when ctx ends.
const lockPause = 50 * time.Millisecond

// lock waits for the lock file at path and holds it until unlock. It holds
// between processes and within one; the system lets go of it when the process
// ends, however it ends. waiting, if not nil, is called once when somebody else
// holds it. The file stays: to remove it would let two hold it.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	timer := time.NewTicker(lockPause)
	defer timer.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for %s, which another run holds: %w", path, context.Cause(ctx))
		}
	}
}
