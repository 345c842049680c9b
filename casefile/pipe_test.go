//go:build unix

package casefile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANamedPipeIsNoCase(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "handler", "framing"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "handler", "framing", "pipe.yaml"), 0o600))
	_, problems := Load(os.DirFS(dir), nil)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, "a case is a regular file")
}
