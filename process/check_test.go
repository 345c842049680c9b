//go:build unix

package process

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestCheckGivesTheErrorOfStart(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{nil, {"no-such-tool"}, {"./none"}, {dir}} {
		c := Command{Args: args, Dir: dir}
		_, err := Start(c)
		require.Error(t, err)
		check := c.Check()
		require.IsType(t, &StartError{}, check)
		if diff := cmp.Diff(err.Error(), check.Error()); diff != "" {
			t.Error("(-want +got)", diff)
		}
	}
	require.NoError(t, sh("exit 1").Check())
}
