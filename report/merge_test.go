package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/result"
)

// suiteOf is made-up cases, each covering two requirements of the registry.
func suiteOf(t testing.TB, n int) []*casefile.Case {
	requirements := registry(t).Requirements()
	var all []*casefile.Case
	for i := range n {
		all = append(all, &casefile.Case{
			ID: fmt.Sprintf("handler/a/%02d", i), Kind: casefile.KindHandler,
			Covers: []string{requirements[i%9].ID, requirements[(i+4)%11].ID},
		})
	}
	return all
}

// runOf is the run of some of the cases, as the program completes it.
func runOf(t testing.TB, cases []*casefile.Case, results []result.Case, shard string) *result.Run {
	run := newMaker(t).run
	run.Cases = slices.Clone(results)
	run.Selection.Shard = shard
	if shard != "1/1" {
		run.Command = []string{"pugmark-conform", "run", "--shard", shard, "--subject", "my-sdk"}
	}
	coverage.Complete(run, registry(t), cases)
	return run
}

// split deals results to n shards, the cases in turn as --shard does.
func split(t testing.TB, cases []*casefile.Case, results []result.Case, n int) []Shard {
	var all []Shard
	for i := range n {
		var own []result.Case
		for _, c := range results {
			if at := slices.IndexFunc(cases, func(f *casefile.Case) bool { return f.ID == c.ID }); at%n == i {
				own = append(own, c)
			}
		}
		name := fmt.Sprintf("%d/%d", i+1, n)
		all = append(all, Shard{Run: runOf(t, cases, own, name), Name: "shard-" + name})
	}
	return all
}

func TestMergedShardsAreTheRunThatWasNotSplit(t *testing.T) {
	cases := suiteOf(t, 12)
	rapid.Check(t, func(rt *rapid.T) {
		var results []result.Case
		for _, c := range cases {
			for _, transport := range []string{"rpc", "subprocess"} {
				v := rapid.SampledFrom(coverage.CaseVerdicts()).Draw(rt, "verdict")
				check := rapid.SampledFrom([]result.Verdict{result.Pass, result.Fail, result.Warn, result.NotRun}).Draw(rt, "check")
				results = append(results, result.Case{ID: c.ID, Transport: transport, Verdict: v, Reason: string(v),
					Checks: []result.Check{{ID: "a", Requirement: c.Covers[0], Verdict: check}}})
			}
		}
		shards := split(t, cases, results, rapid.IntRange(2, 12).Draw(rt, "shards"))
		for i := range shards {
			shards[i].Run.Started, shards[i].Run.DurationMS = fmt.Sprintf("2030-01-02T03:%02d:05Z", 20+i), 100
		}
		merged, err := Merge(rapid.Permutation(shards).Draw(rt, "order"))
		require.NoError(rt, err)
		require.EqualValues(rt, 100*len(shards), merged.DurationMS)
		require.Equal(rt, "2030-01-02T03:20:05Z", merged.Started)
		want := runOf(t, cases, results, "1/1")
		merged.DurationMS, merged.Started = want.DurationMS, want.Started
		if diff := cmp.Diff(written(t, want), written(t, merged)); diff != "" {
			rt.Fatalf("report (-unsplit +merged):\n%s", diff)
		}
	})
}

func TestShardsThatAreNoRunAreNotMerged(t *testing.T) {
	cases := suiteOf(t, 6)
	var results []result.Case
	for _, c := range cases {
		results = append(results, result.Case{ID: c.ID, Transport: "rpc", Verdict: result.Pass})
	}
	three := func() []Shard { return split(t, cases, results, 3) }
	for name, c := range map[string]struct {
		change func([]Shard) []Shard
		want   string
	}{
		"none":      {func(s []Shard) []Shard { return nil }, "there is no report to merge"},
		"missing":   {func(s []Shard) []Shard { return s[:2] }, "shard 3/3 is missing; a run is merged from all of its shards"},
		"only one":  {func(s []Shard) []Shard { return s[1:2] }, "shard 1/3, 3/3 is missing"},
		"twice":     {func(s []Shard) []Shard { return append(s, s[1]) }, "shard 2/3 is there twice: shard-2/3 and shard-2/3"},
		"totals":    {func(s []Shard) []Shard { s[1].Run.Selection.Shard = "2/4"; return s }, "shard-2/3 is shard 2 of 4, and shard-1/3 is one of 3"},
		"unsplit":   {func(s []Shard) []Shard { s[0].Run.Selection.Shard = "1/1"; return s[:1] }, "shard-1/3 is of a run that was not split (shard 1/1), so there is nothing to merge"},
		"no shard":  {func(s []Shard) []Shard { s[0].Run.Selection.Shard = "x\xff"; return s }, `shard-1/3: its shard is "x\\xff", and I/N with I from 1 to N is wanted`},
		"over":      {func(s []Shard) []Shard { s[0].Run.Selection.Shard = "4/3"; return s }, `its shard is "4/3"`},
		"suite":     {func(s []Shard) []Shard { s[2].Run.Suite.Cases = "sha256:00"; return s }, "the suites of shard-1/3 and shard-3/3 differ; run every shard with the same version and the same case files"},
		"version":   {func(s []Shard) []Shard { s[2].Run.Suite.Version = "2"; return s }, "the suites of shard-1/3 and shard-3/3 differ"},
		"subject":   {func(s []Shard) []Shard { s[1].Run.Subject.Version = "2"; return s }, "the subjects of shard-1/3 and shard-2/3 differ"},
		"features":  {func(s []Shard) []Shard { s[1].Run.Subject.Features = nil; return s }, "the subjects of shard-1/3 and shard-2/3 differ"},
		"seed":      {func(s []Shard) []Shard { s[1].Run.Seed = 8; return s }, "the seeds of shard-1/3 and shard-2/3 differ; give every shard the same --seed"},
		"repeat":    {func(s []Shard) []Shard { s[1].Run.Repeat = 3; return s }, "the numbers of repeats of shard-1/3 and shard-2/3 differ; give every shard the same --repeat"},
		"selection": {func(s []Shard) []Shard { s[1].Run.Selection.All = false; return s }, "the choices of cases of shard-1/3 and shard-2/3 differ"},
		"platform":  {func(s []Shard) []Shard { s[1].Run.Platform = "plan9/mips"; return s }, "the platforms of shard-1/3 and shard-2/3 differ"},
		"case":      {func(s []Shard) []Shard { s[1].Run.Cases = append(s[1].Run.Cases, s[0].Run.Cases[0]); return s }, "shard-1/3 and shard-2/3 both have handler/a/00 on rpc: they are no shards of one run"},
		"registry":  {func(s []Shard) []Shard { s[1].Run.Requirements = s[1].Run.Requirements[1:]; return s }, "shard-1/3 and shard-2/3 list different requirements"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Merge(c.change(three()))
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := Merge(three())
	require.NoError(t, err)
}

func TestEvidenceOfShardsComesTogether(t *testing.T) {
	cases := suiteOf(t, 4)
	var results []result.Case
	for _, c := range cases {
		results = append(results, result.Case{ID: c.ID, Transport: "rpc", Verdict: result.Fail, Reason: "it failed"})
	}
	unsplit := runOf(t, cases, results, "1/1")
	root := withStderr(t, unsplit, "what it said\n")
	shards := split(t, cases, unsplit.Cases, 2)
	for i := range shards {
		shards[i].Evidence = t.TempDir()
		require.NoError(t, os.CopyFS(shards[i].Evidence, os.DirFS(root)))
		for _, other := range shards[1-i].Run.Cases { // each has its own cases only
			require.NoError(t, os.RemoveAll(filepath.Join(shards[i].Evidence, other.Evidence)))
		}
	}
	merged, err := Merge(shards)
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, CopyEvidence(folder, shards))
	for _, f := range formats() {
		want := rendered(t, f.render, Renderer{Registry: registry(t), Evidence: root}, unsplit)
		got := rendered(t, f.render, Renderer{Registry: registry(t), Evidence: folder}, merged)
		steadily := strings.NewReplacer(fmt.Sprint(merged.DurationMS), "MS", fmt.Sprint(unsplit.DurationMS), "MS", "8.642", "S", "4.321", "S")
		if diff := cmp.Diff(steadily.Replace(want), steadily.Replace(got)); diff != "" {
			t.Errorf("%s (-unsplit +merged):\n%s", f.name, diff)
		}
	}
	_, err = result.ReadEvidence(filepath.Join(folder, "handler/a/03@rpc"))
	require.NoError(t, err)

	for where, want := range map[string]string{
		"../x": `the report names "../x", which is outside of the folder`, "absent": "keep the whole evidence folder of each shard, and name that",
	} {
		shards[1].Run.Cases[0].Evidence = where
		require.ErrorContains(t, CopyEvidence(t.TempDir(), shards), want)
	}
	link := filepath.Join(shards[1].Evidence, "link")
	require.NoError(t, os.Symlink(root, link))
	shards[1].Run.Cases[0].Evidence = "link"
	require.Error(t, CopyEvidence(t.TempDir(), shards))
}
