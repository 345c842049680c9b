//go:build unix

package s3test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The server. Another version is another folder of the cache.
const (
	program = "versitygw"
	version = "v1.8.0"
	source  = "github.com/versity/versitygw/cmd/versitygw@" + version
)

// install returns the path of the server's program, and builds it if the cache
// has none. Of several test programs that need it, one builds.
func install(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for %s: %w; set HOME or XDG_CACHE_HOME", program, err)
	}
	folder := filepath.Join(cache, "pugmark-conform", "tools", program+"-"+version)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", fmt.Errorf("making a folder for %s: %w", program, err)
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return "", fmt.Errorf("locking the folder of %s: %w", program, err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	path := filepath.Join(folder, program)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, build(ctx, folder, path)
}

// build builds beside the path and moves the result there, so that what stands
// at the path is whole.
func build(ctx context.Context, folder, path string) error {
	scratch, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return fmt.Errorf("building %s: %w", program, err)
	}
	defer os.RemoveAll(scratch)
	command := exec.CommandContext(ctx, "go", "install", source)
	command.Dir = scratch
	command.Env = append(os.Environ(), "GOBIN="+scratch)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("the tests need a real S3 server, and installing it failed: %w\n%s\n"+
			"make the go command and the Go module proxy reachable, or install it by hand: GOBIN=%s go install %s",
			err, output, folder, source)
	}
	if err := os.Rename(filepath.Join(scratch, program), path); err != nil {
		return fmt.Errorf("building %s: %w", program, err)
	}
	return nil
}
