package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/spec"
)

// expectedIDs is the minimum that the registry must hold, in document order:
// ID, side letter and level. It was drawn up from the protocol before the
// registry was written, and is never generated from it.
const expectedIDs = `
P1/replay-tolerant H MUST
P1/deterministic H SHOULD
P1/whole-snapshot R DESC
P1/next-version R DESC
P2/same-format B DESC
P2.1/stdio R DESC
P2.1/stderr-free R DESC
P2.1/stderr-logs H SHOULD
P2.1/nonzero-exit R MUST
P2.2/single-post R DESC
P2.2/query-parameters R MUST
P2.2/metadata-header R MUST
P2.2/metadata-header-omitted R DESC
P2.2/content-type-json R MUST
P2.2/content-length R MUST
P2.2/no-chunked R MUST
P2.2/status-200 B DESC
P3/single-object B MUST
P3/never-split B MUST
P3/any-whitespace B MUST
P3/utf8 B DESC
P3/no-bom B MUST
P3/no-foreign-content B MUST
P3/unknown-fields B MUST
P3/trailing-lf B SHOULD
P3/no-op-record B MUST
P3/no-op-output R DESC
P3/refuses-garbage R DESC
P3.1/standard-alphabet B MUST
P3.1/no-line-breaks B MUST
P3.1/accept-unpadded B MUST
P3.2/omit-empty B SHOULD
P3.2/missing-is-zero B MUST
P4.2/memory-first R MUST
P4.2/memory-once R DESC
P4.2/log-order R MUST
P4.2/one-per-object R DESC
P4.2/no-control R MUST
P4.2/no-pending-forks R MUST
P4.2/lifecycle-last R MUST
P4.2/lifecycle-once R DESC
P4.2/lifecycle-bare R DESC
P4.2/empty-session H MUST
P4.2/lifecycle-begins H MUST
P4.3/push-after-stop R DESC
P4.3/push-latest R DESC
P4.3/tags-ignorable H MAY
P5.2/any-order R DESC
P5.2/stream-order R DESC
P5.3/inline-body R DESC
P5.3/uri-body R DESC
P5.3/routing R DESC
P6/start R DESC
P6/fork R DESC
P6/wake R DESC
P6/none R DESC
P6/ignorable H MAY
P7/object-url R DESC
P7/reachable R MUST
P7/success-response R MUST
P7/unknown-404 R MUST
P7/non-2xx-error H MUST
P7/content-encoding H MUST
P7/whole-body H DESC
P7/read-only H MUST
P7/no-retention H MUST
P7/urls-change R MAY
P7.1/inline-limit R DESC
P7.1/prefer-data H MUST
P7.1/identical R DESC
P8.1/trailing-slash R MUST
P8.1/base-url H SHOULD
P8.1/suppressible H MAY
P8.2/object-name R MUST
P8.2/longest-prefix R MUST
P8.3/read B DESC
P8.4/routed R DESC
P8.4/deduplicated R DESC
P8.4/replaces R DESC
P8.4/serialised R MUST
P8.4/no-version R DESC
P9/shape R DESC
P9/runtime-only H MUST
P10/pause-output H DESC
P10/clamp R DESC
P10/continue R DESC
P10/control-at-commit R DESC
P10/pure-pause R MUST
P10/sleep R MUST
P10/wake R MUST
P10/last-pause R DESC
P10/single-pause H SHOULD
P10/several-pauses H MAY
P10/implicit-pause R MUST
P11/child-id R DESC
P11/first-object R DESC
P11.1/pending-first R DESC
P11.1/before-inputs R DESC
P11.1/child-manifest R DESC
P11.1/existing-child R DESC
P11.1/conflict-is-success R DESC
P11.1/crash-recovery R DESC
P11.1/not-replayed R DESC
P11.2/first-invocation R DESC
P11.2/later-invocations R DESC
P11.2/parent-visible R DESC
P11.2/sibling-forks R MUST
P12/provisional R DESC
P12/source R DESC
P12/idempotent R DESC
P12/no-implicit-pause R DESC
P12/continues R DESC
P12/self R MUST
P13/identity-variables R DESC
P13/rpc-url R DESC
P13/identity-available H MUST
P14/traceparent R DESC
P14/tracestate R DESC
P14/consume H SHOULD
P14/fetch-context H SHOULD
P14.1/session-trace-id R MUST
P15/named R DESC
P15/default R DESC
P15/inherited R MUST
P16/closes-output H MUST
P16/closes-input R DESC
P16/early-exit R DESC
P16/no-blocking H MUST
P16/no-output R DESC
P16/failure R MUST
P17/closed-fields B SHOULD
P17/closed-events R DESC
P17/protocol-event H MUST
P17/unknown-variables H MUST
P17/closed-content-types B DESC
P17/closed-urls R DESC
S1/content-address R DESC
S1/one-copy R DESC
S1/immutable-body R DESC
S1/inline-limit R DESC
S2/session-id R DESC
S2/manifest R DESC
S2/manifest-atomic R DESC
S2/manifest-fixed R DESC
S3/version-step R DESC
S3/optimistic-commit R DESC
S3/append-only R DESC
S3/atomic-snapshot R DESC
S3/failed-leaves-nothing R DESC
S3/no-output-no-snapshot R DESC
S3/conflict-loses-nothing R DESC
S3/types R DESC
S4/sequence R DESC
S4/descriptor R DESC
S5/pending-fork R DESC
S5/child-first-entry R DESC
S5/fork-metadata R DESC
S5/crash-points R DESC
S6/source-pair R DESC
S6/idempotent R DESC
S7/memory-commit R DESC
S7/memory-latest R DESC
S7/memory-shared R DESC
S8/control-last R DESC
K1/read-all H DESC
K1/minimal-handler H DESC
K2/text H DESC
K2/json H DESC
K2/bytes H DESC
K2/name H DESC
K3/state H DESC
K3/load H DESC
K4/body H DESC
K5/pause H DESC
K5/sleep H DESC
K6/events H DESC
K7/version H DESC
`

func TestEveryExpectedRequirementIsThereExactlyOnceAndInOrder(t *testing.T) {
	s := load(t)
	var got []string
	for _, r := range s.Requirements() {
		got = append(got, strings.Join([]string{r.ID, r.Side.Letter(), string(r.Level)}, " "))
	}
	want := strings.Split(strings.TrimSpace(expectedIDs), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
}

func TestEveryRequirementIsFoundByItsID(t *testing.T) {
	s := load(t)
	for i, line := range strings.Split(strings.TrimSpace(expectedIDs), "\n") {
		id := strings.Fields(line)[0]
		r, ok := s.Requirement(id)
		require.True(t, ok, id)
		require.Equal(t, id, r.ID)
		require.Equal(t, i, s.Position(id), id)
	}
	_, ok := s.Requirement("P3/no-such-thing")
	require.False(t, ok)
	require.Equal(t, -1, s.Position("P3/no-such-thing"))
}

func load(t *testing.T) *spec.Spec {
	t.Helper()
	s, err := spec.Load()
	require.NoError(t, err)
	return s
}
