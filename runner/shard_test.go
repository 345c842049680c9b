package runner_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
)

// TestShardsAreAPartition: together the shards are the whole, none has what another
// has, they differ in size by one at the most, and the order in which keys come does
// not matter.
func TestShardsAreAPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var keys []runner.Key
		for i := range rapid.IntRange(0, 60).Draw(t, "cases") {
			for _, transport := range []string{"http", "rpc", "subprocess"}[:rapid.IntRange(1, 3).Draw(t, "transports")] {
				keys = append(keys, runner.Key{ID: fmt.Sprintf("handler/a/case-%d", i), Transport: transport})
			}
		}
		n := rapid.IntRange(1, 9).Draw(t, "shards")
		shuffled := rapid.Permutation(keys).Draw(t, "order")
		seen := map[runner.Key]int{}
		least, most := len(keys), 0
		for i := 1; i <= n; i++ {
			part := runner.Shard{Index: i, Count: n}.Of(keys)
			least, most = min(least, len(part)), max(most, len(part))
			for _, k := range part {
				seen[k]++
			}
			again := runner.Shard{Index: i, Count: n}.Of(shuffled)
			for _, k := range part {
				if !slices.Contains(again, k) {
					t.Fatalf("%v is in shard %d/%d in one order only", k, i, n)
				}
			}
		}
		for _, k := range keys {
			if seen[k] != 1 {
				t.Fatalf("%v is in %d shards", k, seen[k])
			}
		}
		if most-least > 1 {
			t.Fatalf("the shards have from %d to %d of %d keys", least, most, len(keys))
		}
	})
}

func TestShardsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]runner.Shard{"1/1": {1, 1}, "2/3": {2, 3}, "3/3": {3, 3}} {
		got, err := runner.ParseShard(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	require.Equal(t, "1/1", runner.Shard{}.String())
	for _, text := range []string{"", "1", "0/3", "4/3", "-1/3", "a/b", "1/", "/2", "1/2/3", "1 /2"} {
		_, err := runner.ParseShard(text)
		require.Error(t, err, "%q", text)
	}
}

func TestTimesThatDifferAreFlaky(t *testing.T) {
	time := func(n int, c result.Case) runner.Time { return runner.Time{Number: n, Seed: int64(6 + n), Result: c} }
	pass, fail := ended("handler/a/one", "rpc", "pass"), ended("handler/a/one", "rpc", "fail", "P1/a")
	pass.Reason = ""

	same, told := runner.Repeated([]runner.Time{time(1, fail), time(2, fail), time(3, fail)})
	if diff := cmp.Diff(fail, same); diff != "" || len(told) != 1 {
		t.Errorf("the same each time (-want +got):\n%s", diff)
	}
	for _, times := range [][]runner.Time{{time(1, pass), time(2, pass), time(3, fail)}, {time(1, pass), time(2, fail), time(3, fail)}} {
		bad := times[1]
		if bad.Result.Verdict == result.Pass {
			bad = times[2]
		}
		flaky, told := runner.Repeated(times)
		require.Equal(t, result.Flaky, flaky.Verdict)
		require.Equal(t, fmt.Sprintf("the case does not end the same way each time: time %d (seed %d) fail: as it was; time 1 (seed 7) pass", bad.Number, bad.Seed), flaky.Reason)
		want := []result.Check{
			{ID: "of-P1/a", Requirement: "P1/a", Verdict: "fail", Where: fmt.Sprintf("time %d", bad.Number), Want: "this", Got: "that"},
			{ID: "of-P1/a#time-1", Requirement: "P1/a", Verdict: "pass", Where: "time 1", Got: "as wanted"},
			{ID: "of-P1/b", Requirement: "P1/b", Verdict: "pass"},
		}
		if diff := cmp.Diff(want, flaky.Checks); diff != "" {
			t.Errorf("checks (-want +got):\n%s", diff)
		}
		require.Len(t, told, 2)
	}
	// Two failures that are not the same are flaky too.
	other := ended("handler/a/one", "rpc", "fail", "P1/b")
	flaky, _ := runner.Repeated([]runner.Time{time(1, fail), time(2, other)})
	require.Equal(t, result.Flaky, flaky.Verdict)
	require.Len(t, flaky.Checks, 4)
	// And so is one that fails at another place, but for the number of a byte.
	here, there, near := at("stdout, byte 9", fail), at("end of the handler", fail), at("stdout, byte 12", fail)
	flaky, told = runner.Repeated([]runner.Time{time(1, here), time(2, near), time(3, there)})
	require.Equal(t, result.Flaky, flaky.Verdict)
	require.Len(t, told, 2)
	require.Equal(t, []string{"time 1, stdout, byte 9", "time 3, end of the handler"}, []string{flaky.Checks[0].Where, flaky.Checks[1].Where})
	// What the harness could not judge is said, and nothing of the subject.
	broken := ended("handler/a/one", "rpc", "harness-error")
	flaky, _ = runner.Repeated([]runner.Time{time(1, fail), time(2, broken)})
	require.Equal(t, result.HarnessError, flaky.Verdict)

	require.Equal(t, 1, runner.TimeOf("handler/a/one@rpc"))
	require.Equal(t, 3, runner.TimeOf("repeat-3/handler/a/one@rpc"))
}
