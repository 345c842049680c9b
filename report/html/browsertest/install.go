//go:build unix

package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// program is the path of the browser. Where it is missing, and this is a system of
// Debian's kind on which we may install, it is installed, by one of several test
// programs that need it.
func program(ctx context.Context) (string, error) {
	if path, ok := installed(); ok {
		return path, nil
	}
	missing := errors.New("the tests need a browser: install Debian's package chromium, or put chromium, chromium-browser or google-chrome on PATH")
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Getuid() != 0 {
		return "", missing
	}
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "pugmark-conform-chromium.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("install chromium: %w", err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("install chromium: lock %s: %w", lock.Name(), err)
	}
	if path, ok := installed(); ok {
		return path, nil
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "chromium"}} {
		c := exec.CommandContext(ctx, apt, args...)
		c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if output, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w (apt-get %s: %w\n%s)", missing, args[0], err, output)
		}
	}
	if path, ok := installed(); ok {
		return path, nil
	}
	return "", missing
}

func installed() (string, bool) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}
