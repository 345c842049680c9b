package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childVerb {
		os.Exit(child(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// Every benchmark runs to its end on tiny sizes and prints its results. What they
// say of time and memory is not asserted: tests share their machine.
func TestEveryBenchmarkRuns(t *testing.T) {
	var out, diagnostics bytes.Buffer
	status := run(t.Context(), []string{"-entries=300", "-body=2000000", "-earlier=16", "-runs=2", "-rounds=5"}, &out, &diagnostics)
	require.Less(t, status, 2, "%s", diagnostics.String())
	require.Empty(t, diagnostics.String())
	for _, line := range []string{
		`subprocess +300 entries: .* MiB resident`,
		`http: memory, ten times the entries : once +\d`,
		`2 MiB by push, .* MiB +within the limit of 64`,
		`2 MiB by uri, .* MiB +within the limit of 64`,
		`2 MiB by GET, of both, .* MiB +within the limit of 64`,
		`after +16 invocations: .* ms of a processor`,
		`invocation : bare handler +\d`,
		`two processes, 5 rounds: 5 commits lost and done again, 10 entries, holes 0, duplicates 0\n`,
		`one process, 5 rounds: 5 commits lost and done again, 10 entries, holes 0, duplicates 0\n`,
	} {
		require.Regexp(t, regexp.MustCompile(line), out.String())
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{"nonsense"}, {"-nonsense"}, {"-rounds", "x"}} {
		var out, diagnostics bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, &out, &diagnostics))
		require.NotEmpty(t, diagnostics.String())
	}
}

// What the race counts can be wrong, and then it shows.
func TestCountingARaceThatLostSomething(t *testing.T) {
	b := &bench{folder: t.TempDir(), sizes: sizes{rounds: 3}, out: new(bytes.Buffer)}
	folder := b.sub("race")
	_, err := b.raceIn(t.Context(), folder, func(folder, name string) (*racing, error) {
		return startInProcess(t.Context(), folder, name, 3)
	})
	require.NoError(t, err)
	found, err := countRaced(t.Context(), folder, 3)
	require.NoError(t, err)
	require.Equal(t, raced{entries: 6}, found)
	found, err = countRaced(t.Context(), folder, 4) // as if a round of both had been lost
	require.NoError(t, err)
	require.Equal(t, raced{entries: 6, holes: 2}, found)
}
