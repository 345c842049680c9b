//go:build unix

package browsertest

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Browser is a running browser, with a profile of its own.
type Browser struct {
	ctx     context.Context
	profile string
}

// Start starts a browser and ends it, with all its processes, when the test ends.
// Where there is no browser and none can be installed, the test fails and says what
// to install.
func Start(t testing.TB) *Browser {
	t.Helper()
	installing, done := context.WithTimeout(context.Background(), 15*time.Minute)
	defer done()
	path, err := program(installing)
	require.NoError(t, err)
	profile, err := os.MkdirTemp("", "pugmark-conform-browser-")
	require.NoError(t, err)
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(profile), chromedp.CombinedOutput(io.Discard), chromedp.NoInheritEnv,
		// Nothing but the processor may decide what a page looks like or asks for.
		chromedp.Env("PATH="+os.Getenv("PATH"), "HOME="+profile, "TMPDIR="+profile, "LANG=C.UTF-8"),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-extensions", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-default-apps", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("enable-automation", true), chromedp.Flag("no-default-browser-check", true),
	}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		end()
		release()
		if err := remove(profile); err != nil {
			t.Errorf("the profile of the browser can't be removed: %v", err)
		}
		if left := processes(profile); len(left) > 0 {
			t.Errorf("the browser left processes: %v", left)
		}
	})
	require.NoError(t, chromedp.Do(ctx), "start %s", path)
	return &Browser{ctx, profile}
}

// remove takes the profile away. A process of the browser that is just ending may
// still write into it.
func remove(folder string) (err error) {
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if err = os.RemoveAll(folder); err == nil && len(processes(folder)) == 0 {
			return nil
		}
	}
	return err
}

// processes is the command lines of what runs with the profile; nil where the
// system does not tell.
func processes(profile string) (all []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(profile)) {
			all = append(all, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return all
}
