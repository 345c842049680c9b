package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/process/programtest"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// allWays has the runtimes that are plugged in in several ways run over every runtime
// case on every transport:
//
//	go test ./cmd/pugmark-conform -run 'InThreeWays|InBothWays' -all-ways -timeout 3h
//
// Without it a share is run, since a command line starts a process for each operation.
var allWays = flag.Bool("all-ways", false, "run the runtimes that are plugged in in several ways over every runtime case")

// wayShare is of how many pairs of a case and a transport one is compared. It has no
// factor in common with the number of transports, so that the pairs that are taken
// go through all of them, and through all areas.
const wayShare = 40

// differences is the cases whose verdict has to differ between the ways, with the
// reason. None has to: all three claim the same, and none sees the store but through
// the operations of the agreement.
var differences = map[string]string{}

// shareOf is the runtime cases that are compared, by transport.
func shareOf(t *testing.T) map[string][]string {
	t.Helper()
	registry, err := spec.Load()
	require.NoError(t, err)
	cases, problems := casefile.Load(spec.Cases(), registry)
	require.Empty(t, problems)
	share, pair := map[string][]string{}, 0
	for _, c := range cases {
		if c.Kind != casefile.KindRuntime {
			continue
		}
		for _, transport := range []string{protocol.TransportSubprocess, protocol.TransportRPC, protocol.TransportHTTP} {
			if !c.Supports(transport) {
				continue
			}
			if *allWays || pair%wayShare == 0 {
				share[transport] = append(share[transport], c.ID)
			}
			pair++
		}
	}
	return share
}

// The reference is a subject in process, through its command line and through its
// driver, and each shows the same of every requirement and in every case.
func TestTheReferenceGetsTheSameVerdictsInThreeWays(t *testing.T) {
	withReference(t)
	share := shareOf(t)
	require.Len(t, share, 3)
	compared := 0
	for transport, ids := range share {
		args := append([]string{"--transport", transport, "--seed", "7", "--time-scale", "4"}, ids...)
		want, _ := played(t, append([]string{"--subject", referenceName}, args...)...)
		require.NotEmpty(t, want.Cases)
		for _, way := range []string{"reference-cli", "reference-driver"} {
			t.Run(transport+" "+way, func(t *testing.T) {
				got, _ := played(t, append([]string{"--subject", way}, args...)...)
				if diff := cmp.Diff(verdicts(want), verdicts(got)); diff != "" {
					t.Errorf("verdicts (-in process +%s):\n%s", way, diff)
				}
			})
		}
		compared += len(want.Cases)
	}
	t.Logf("%d pairs of a case and a transport, three times", compared)
}

// The Python runtime, which was written from the protocol alone, conforms by its
// command line and by its driver on every transport.
func TestThePythonRuntimeConformsInBothWays(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	driver := filepath.Join("..", "..", "subjects", "python-runtime", "driver.yaml")
	for transport, ids := range shareOf(t) {
		for name, way := range map[string]string{"commands": "python-runtime", "driver": driver} {
			t.Run(transport+" "+name, func(t *testing.T) {
				run, status := played(t, append([]string{"--subject", way, "--transport", transport, "--seed", "7", "--time-scale", "4"}, ids...)...)
				require.Empty(t, verdictsOf(run, result.Fail))
				require.Equal(t, result.Conformant, run.Verdict)
				require.Equal(t, statusConformant, status)
			})
		}
	}
}

// verdicts is what a run says of each requirement, case and check, those aside whose
// difference is accounted for.
func verdicts(run *result.Run) map[string]result.Verdict {
	all := map[string]result.Verdict{}
	for _, q := range run.Requirements {
		// The one in process is a handler too, whose requirements no case here tests.
		if q.Verdict != result.Untested && !slices.ContainsFunc(q.Cases, func(id string) bool { return differences[id] != "" }) {
			all[q.ID] = q.Verdict
		}
	}
	for _, c := range run.Cases {
		if differences[c.ID] != "" {
			continue
		}
		all[c.ID] = c.Verdict
		for _, check := range c.Checks {
			all[fmt.Sprintf("%s: %s", c.ID, check.ID)] = check.Verdict
		}
	}
	return all
}

// withReference puts the reference's program on PATH, as an installation does.
func withReference(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, programtest.Build(bin, "pugmark-ref"))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}
