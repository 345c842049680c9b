package process

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDescendantsAreFoundWhereverTheyWent: the program, its child, and one in a session
// of its own.
func TestDescendantsAreFoundWhereverTheyWent(t *testing.T) {
	p, pids := startReady(t, nil, sh("sleep 60 & setsid sleep 60 & echo $$ $!; wait"))
	found := descendants(os.Getpid())
	for _, pid := range append(pids, p.PID()) {
		require.Contains(t, found, pid)
	}
	require.GreaterOrEqual(t, len(descendants(p.PID())), 2)
	p.End(0)
	for _, pid := range pids {
		require.False(t, slices.Contains(descendants(os.Getpid()), pid))
	}
}
