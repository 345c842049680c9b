package runner_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/stage"
)

func TestGlobsMatchWholeSegments(t *testing.T) {
	for _, c := range []struct {
		pattern, id string
		want        bool
	}{
		{"handler/framing/tabs", "handler/framing/tabs", true},
		{"handler/framing/tab", "handler/framing/tabs", false},
		{"handler/framing/*", "handler/framing/tabs", true},
		{"handler/*", "handler/framing/tabs", false},
		{"handler/**", "handler/framing/tabs", true},
		{"**", "handler/framing/tabs", true},
		{"**/tabs", "handler/framing/tabs", true},
		{"**/framing/**", "handler/framing/tabs", true},
		{"*/framing/t*s", "handler/framing/tabs", true},
		{"handler/**/tabs", "handler/tabs", true},
		{"runtime/**", "handler/framing/tabs", false},
		{"[", "handler", false},
		{"P3/*", "P3/any-whitespace", true},
		{"P3/*", "P3.1/accept-unpadded", false},
	} {
		if got := runner.Match(c.pattern, c.id); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.id, got)
		}
	}
}

const observe = `
why: A plain stream is read alike on each transport.
covers: [P2/same-format]
needs: [instructions]
input:
  records:
    - {event: memory}
    - {name: a, body: {text: hello}}
    - {instructions: [{op: observe}]}
    - {event: start}
expect:
  exit: 0
  observed: {entries: [{name: a, body: {text: hello}}]}
`

const tabs = `
why: Section 3 names the tab as a separator of records.
covers: [P3/any-whitespace]
needs: [instructions]
input:
  between: "\t"
  records:
    - {event: memory}
    - {name: a, body: {text: hello}}
    - {instructions: [{op: observe}]}
    - {event: start}
expect:
  exit: 0
  observed: {entries: [{name: a, body: {text: hello}}]}
`

const held = `
why: Section 4.2 makes the lifecycle event the signal to begin.
covers: [P4.2/lifecycle-begins, R28]
needs: [instructions]
transports: [subprocess]
input:
  hold: 1s
  records:
    - {event: memory}
    - {instructions: [{op: write, text: one, name: a}]}
    - {event: start}
expect:
  exit: 0
  before-close: true
  outputs: [{name: a, body: {text: one}}]
`

const forks = `
why: A handler may fork.
covers: [P2/same-format]
needs: [instructions, fork]
input:
  records:
    - {event: memory}
    - {instructions: [{op: write, text: one, name: a, fork: true}]}
    - {event: start}
expect:
  exit: 0
  outputs: [{name: a, fork: true}]
`

const quiet = `
why: Section 16 makes no Outputs a valid no-op.
covers: [P16/no-output]
needs: [log]
push: [{name: a, body: {text: hello}}]
script: [{read: all}]
expect:
  run: success
  invocations: 1
  log: [{name: a}]
`

// suite loads a handful of cases.
func suite(t *testing.T) (*spec.Spec, []*casefile.Case) {
	t.Helper()
	registry, err := spec.Load()
	require.NoError(t, err)
	files := fstest.MapFS{}
	for id, text := range map[string]string{
		"handler/agreement/observe": observe, "handler/framing/tabs": tabs, "handler/stream/held": held,
		"handler/forks/fork": forks, "runtime/termination/quiet": quiet,
	} {
		files[id+".yaml"] = &fstest.MapFile{Data: []byte(text[1:])}
	}
	cases, problems := casefile.Load(files, registry)
	require.Empty(t, problems)
	return registry, cases
}

func served(h http.Handler, features ...string) runner.Subject {
	return runner.Subject{Name: "tested", Handler: &runner.HandlerSide{
		HandlerSubject: stage.HandlerSubject{Name: "tested", Served: h}, Features: features,
	}}
}

func ids(cases []*casefile.Case) (list []string) {
	for _, c := range cases {
		list = append(list, c.ID)
	}
	return list
}

func TestAChoiceKeepsWhatEveryFlagKeeps(t *testing.T) {
	registry, cases := suite(t)
	subject := served(fakehandler.ConformHandler())
	for name, c := range map[string]struct {
		choice runner.Choice
		want   []string
	}{
		"all":         {runner.Choice{}, []string{"handler/agreement/observe", "handler/forks/fork", "handler/framing/tabs", "handler/stream/held"}},
		"pattern":     {runner.Choice{Patterns: []string{"handler/f*/*"}}, []string{"handler/forks/fork", "handler/framing/tabs"}},
		"requirement": {runner.Choice{Requirements: []string{"P3/*"}}, []string{"handler/framing/tabs"}},
		"level":       {runner.Choice{Levels: []string{"must"}}, []string{"handler/framing/tabs", "handler/stream/held"}},
		"readings":    {runner.Choice{Levels: []string{"MUST"}, WithoutReadings: []string{"R28"}}, []string{"handler/framing/tabs"}},
		"no readings": {runner.Choice{Levels: []string{"MUST"}, WithoutReadings: []string{"*"}}, []string{"handler/framing/tabs"}},
	} {
		chosen, err := runner.Choose(cases, c.choice, registry, subject)
		require.NoError(t, err, name)
		if diff := cmp.Diff(c.want, ids(chosen)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAChoiceOfNothingIsAnError(t *testing.T) {
	registry, cases := suite(t)
	for want, choice := range map[string]runner.Choice{
		`"handler/framing/tab" matches no case`: {Patterns: []string{"handler/**", "handler/framing/tab"}},
		`--requirement=P3/tabs matches no case`: {Requirements: []string{"P3/tabs"}},
		`for a runtime`:                         {Patterns: []string{"runtime/**"}},
	} {
		_, err := runner.Choose(cases, choice, registry, served(fakehandler.ConformHandler()))
		var nothing *runner.NothingError
		require.ErrorAs(t, err, &nothing)
		require.ErrorContains(t, err, want)
	}
}

// play runs all cases of the subject's kinds.
func play(t *testing.T, ctx context.Context, subject runner.Subject, change func(*runner.Options)) []string {
	t.Helper()
	registry, cases := suite(t)
	chosen, err := runner.Choose(cases, runner.Choice{}, registry, subject)
	require.NoError(t, err)
	o := runner.Options{Registry: registry, Cases: chosen, All: cases, Subject: subject, Evidence: t.TempDir()}
	if change != nil {
		change(&o)
	}
	results, err := runner.Run(ctx, o)
	require.NoError(t, err)
	var list []string
	for _, r := range results {
		list = append(list, r.ID+" "+string(r.Verdict))
		if r.Evidence != "" {
			e, err := result.ReadEvidence(filepath.Join(o.Evidence, filepath.FromSlash(r.Evidence)))
			require.NoError(t, err)
			require.Equal(t, r.ID, e.Case)
		}
	}
	return list
}

func TestEveryChosenCaseHasAResult(t *testing.T) {
	want := []string{
		"handler/agreement/observe pass", "handler/forks/fork not-applicable",
		"handler/framing/tabs pass", "handler/stream/held not-applicable",
	}
	got := play(t, t.Context(), served(fakehandler.ConformHandler(), "instructions"), nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAHandlerThatFailsTheBaselineIsNotAccusedOfMore(t *testing.T) {
	want := []string{
		"handler/agreement/observe fail", "handler/forks/fork not-applicable",
		"handler/framing/tabs not-testable", "handler/stream/held not-applicable",
	}
	idle := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	got := play(t, t.Context(), served(idle, "instructions"), nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheBaselineIsPlayedOnceAlsoWhenItWasNotChosen(t *testing.T) {
	var asked atomic.Int32
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		fakehandler.ConformHandler().ServeHTTP(w, r)
	})
	got := play(t, t.Context(), served(h, "instructions"), func(o *runner.Options) {
		o.Cases = slices.DeleteFunc(o.Cases, func(c *casefile.Case) bool { return c.ID != "handler/framing/tabs" })
	})
	require.Equal(t, []string{"handler/framing/tabs pass"}, got)
	require.EqualValues(t, 2, asked.Load(), "the baseline and the case")
}

func TestWithoutInstructionsACaseIsNotTestable(t *testing.T) {
	got := play(t, t.Context(), served(fakehandler.ConformHandler()), nil)
	require.Contains(t, got, "handler/framing/tabs not-testable")
	require.Contains(t, got, "handler/agreement/observe not-testable")
}

func TestAnInterruptedRunSaysWhatWasNotRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	got := play(t, ctx, served(h, "instructions"), func(o *runner.Options) { o.Parallel = 1 })
	require.Equal(t, "handler/agreement/observe not-run", got[0])
	require.Equal(t, "handler/framing/tabs not-run", got[2])
}
