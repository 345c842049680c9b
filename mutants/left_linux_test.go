package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/stage"
)

// TestNoProcessIsLeft runs handlers in RPC mode, which outlive their invocations,
// and wants none of them to outlive the run (reading R52).
func TestNoProcessIsLeft(t *testing.T) {
	o := options(t)
	o.Cases = only(o.Cases, "handler/agreement/", "runtime/stream/")
	o.Twins = []Twin{
		{ID: "handler/writes-tabs", Transports: []string{protocol.TransportRPC}, Handler: handlerOf("handler/writes-tabs")},
		{ID: "runtime/right", Transports: []string{protocol.TransportRPC}, Runtime: func() *stage.Reference { return &stage.Reference{} }},
	}
	before := children(t)
	for _, twin := range kill(t, o).Twins {
		require.NotZero(t, twin.Results, twin.ID)
		require.Empty(t, twin.Complaints, twin.ID)
	}
	for pid := range children(t) {
		if !before[pid] {
			command, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			if err == nil && len(command) > 0 { // a zombie has none
				t.Errorf("process %s is left: %s", pid, strings.ReplaceAll(string(command), "\x00", " "))
			}
		}
	}
}

// children is the child processes of this one.
func children(t *testing.T) map[string]bool {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	all := map[string]bool{}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(text)) {
			all[pid] = true
		}
	}
	return all
}
