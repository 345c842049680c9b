package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"pugmark.dev/conform/result"
)

// implementation is a run that came to these verdicts.
func implementation(t testing.TB, name string, verdicts map[string]result.Verdict) *result.Run {
	m := newMaker(t)
	m.run.Subject.Name, m.run.Verdict = name, result.Conformant
	m.add(result.Case{ID: "handler/a/b", Verdict: result.Pass}, "rpc")
	for _, q := range m.spec.Requirements() {
		if v, ok := verdicts[q.ID]; ok {
			m.requirement(q.ID, v)
			if isFailing(v) {
				m.run.Verdict = result.NotConformant
			}
		}
	}
	return m.run
}

func threeImplementations(t testing.TB) []*result.Run {
	const a, b, c, d = "P3/any-whitespace", "P3/utf8", "P7.1/prefer-data", "P16/closes-output"
	one := implementation(t, "one", map[string]result.Verdict{a: result.Fail, b: result.Fail, c: result.Pass, d: result.NotApplicable})
	two := implementation(t, "two", map[string]result.Verdict{a: result.Pass, b: result.Crash, c: result.Pass, d: result.KnownFailure})
	two.Selection = result.Selection{Patterns: []string{"handler/**"}, Shard: "1/1"}
	three := implementation(t, "two", map[string]result.Verdict{a: result.Warn, c: result.Pass, d: result.NotTestable})
	three.Suite.Cases = "sha256:" + strings.Repeat("1b", 32)
	return []*result.Run{one, two, three}
}

func TestMatrixShowsWhoAloneFails(t *testing.T) {
	m := NewMatrix(threeImplementations(t), registry(t))
	type row struct {
		id    string
		cells []result.Verdict
		alone int
	}
	var got []row
	for _, r := range m.Rows {
		got = append(got, row{r.ID, r.Cells, r.Alone})
	}
	want := []row{
		{"P3/any-whitespace", []result.Verdict{"fail", "pass", "warn"}, 0},
		{"P3/utf8", []result.Verdict{"fail", "crash", ""}, -1},                                         // two fail
		{"P7.1/prefer-data", []result.Verdict{"pass", "pass", "pass"}, -1},                             // none fails
		{"P16/closes-output", []result.Verdict{"not-applicable", "known-failure", "not-testable"}, -1}, // none passes
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	require.Equal(t, []string{"P3/any-whitespace"}, m.Columns[0].Alone)
	require.Equal(t, []string{"one 0.16.7", "two 0.16.7", "two 0.16.7 (2)"}, []string{m.Columns[0].Name, m.Columns[1].Name, m.Columns[2].Name})
	require.Equal(t, "conformant, of the selection", strings.Replace(m.Columns[1].Verdict, "not conformant", "conformant", 1))
	require.Equal(t, "handler/**", m.Columns[1].Selection)
	require.True(t, m.Suites)
}

func matrixMarkdown(t require.TestingT, m *Matrix) string {
	var b bytes.Buffer
	require.NoError(t, m.WriteMarkdown(&b))
	return b.String()
}

func matrixHTML(t require.TestingT, m *Matrix) string {
	var b bytes.Buffer
	require.NoError(t, m.WriteHTML(&b))
	return b.String()
}

func TestMatrixLooksAsRecorded(t *testing.T) {
	m := NewMatrix(threeImplementations(t), registry(t))
	golden(t, "matrix.md", matrixMarkdown(t, m))
	golden(t, "matrix.html", matrixHTML(t, m))
}

func TestNothingInAMatrixIsMarkup(t *testing.T) {
	tags := regexp.MustCompile(`<[^>]*>`)
	of := func(s string) *Matrix {
		return NewMatrix([]*result.Run{hostileRun(t, s), hostileRun(t, s), implementation(t, s, map[string]result.Verdict{"P3/utf8": result.Pass, "P3/any-whitespace": result.Pass})}, registry(t))
	}
	skeleton := func(page string) []string {
		all := tags.FindAllString(page, -1)
		for i, tag := range all {
			all[i] = regexp.MustCompile(`title="[^"]*"`).ReplaceAllString(tag, `title=""`)
		}
		return all
	}
	wantKinds, _, err := outline(matrixMarkdown(t, of("x")))
	require.NoError(t, err)
	wantTags := skeleton(matrixHTML(t, of("x")))
	rapid.Check(t, func(rt *rapid.T) {
		m := of("x" + texts().Draw(rt, "text"))
		source := matrixMarkdown(rt, m)
		kinds, prose, err := outline(source)
		require.NoError(rt, err, source)
		if diff := cmp.Diff(wantKinds, kinds); diff != "" {
			rt.Fatalf("structure (-want +got):\n%s\n%s", diff, source)
		}
		require.Empty(rt, acts.FindString(prose))
		for _, line := range strings.Split(source, "\n") {
			if strings.HasPrefix(line, "| ") {
				// Nothing of a run brings a pipe along: a row has the cells that we made.
				require.Contains(rt, []int{5, 7}, strings.Count(line, "|"), line)
			}
		}
		if diff := cmp.Diff(wantTags, skeleton(matrixHTML(rt, m))); diff != "" {
			rt.Fatalf("tags (-want +got):\n%s", diff)
		}
	})
}
