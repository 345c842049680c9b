//go:build unix

package subject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockPause is the time between two looks at a lock that another one holds.
// A lock that blocks could not be given up when ctx ends.
const lockPause = 50 * time.Millisecond

// The kinds of hold that there are on a lock file.
const (
	exclusive = unix.LOCK_EX // to make what it guards, or to remove it
	shared    = unix.LOCK_SH // to use it
)

// errHeld is what becomes of an attempt on a lock that somebody else holds.
var errHeld = errors.New("somebody else holds the lock")

// lock waits for the lock file at path and holds it alone until unlock. It holds
// between processes and within one; the system lets go of it when the process
// ends, however it ends. waiting, if not nil, is called once when somebody else
// holds it.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	return hold(ctx, path, exclusive, waiting)
}

// hold is lock with a kind of hold.
func hold(ctx context.Context, path string, kind int, waiting func()) (unlock func(), err error) {
	timer := time.NewTicker(lockPause)
	defer timer.Stop()
	for {
		unlock, err := tryHold(path, kind)
		if !errors.Is(err, errHeld) {
			return unlock, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s, which another run holds: %w", path, stopped(ctx))
		}
	}
}

// tryHold is hold that does not wait: the error is errHeld then.
func tryHold(path string, kind int) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(path, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
		}
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = unix.Flock(int(f.Fd()), kind|unix.LOCK_NB)
		}
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, errHeld
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// Whoever removed what the file guards has removed the file too: then this is
		// a lock that nobody else will look at.
		held, err := f.Stat()
		if err == nil {
			if now, err := os.Stat(path); err == nil && os.SameFile(held, now) {
				return func() { f.Close() }, nil
			}
		}
		f.Close()
	}
}
