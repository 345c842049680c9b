//go:build unix

package s3test

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAServerThatCantBeInstalledIsAClearFailure(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("PATH", "")
	_, err := install(t.Context())
	require.ErrorContains(t, err, "installing it failed")
	require.ErrorContains(t, err, "install it by hand: GOBIN=")
	require.ErrorContains(t, err, "go install github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	var files []string
	require.NoError(t, filepath.WalkDir(cache, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, filepath.Base(path))
		}
		return err
	}))
	require.Equal(t, []string{"lock"}, files, "what is left in the cache")
}
