//go:build unix

package report

import (
	"os"

	"golang.org/x/sys/unix"
)

// windowWidth returns the columns of the terminal that f is, and whether it is one.
func windowWidth(f *os.File) (int, bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
