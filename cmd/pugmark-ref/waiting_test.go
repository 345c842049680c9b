package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A handler that answers whatever it sees never comes to an end, which has to be said.
func TestARunThatGoesOnAndOnSaysSo(t *testing.T) {
	started(t)
	const counted = `n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) >n; test $n -ge 12 || echo '{"name":"again","data":"aGk="}'`
	status, _, stderr := call(t, "run", "--", "sh", "-c", counted)
	require.Zero(t, status, stderr)
	require.Equal(t, 1, strings.Count(stderr, "added to the log 10 times in a row; Ctrl-C ends the run"), stderr)
}
