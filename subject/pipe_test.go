//go:build unix

package subject

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANamedPipeIsNoSubjectFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "subject.yaml")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := Load(pipe)
	require.ErrorContains(t, err, "is no regular file")
}
