package mutants

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/stage"
)

// options is what the tests run: the built-in cases, with one program as both handlers.
func options(t *testing.T) Options {
	t.Helper()
	registry, err := spec.Load()
	require.NoError(t, err)
	cases, problems := casefile.Loader{Registry: registry, Root: "spec/cases"}.Load(spec.Cases())
	require.Empty(t, problems)
	return Options{
		Registry: registry, Cases: cases, Programs: programs,
		Handler: []string{program, "mutant-handler"}, Fake: stage.Fake{Command: []string{program, "scripted-handler"}},
	}
}

func kill(t *testing.T, o Options) *Matrix {
	t.Helper()
	m, err := Kill(t.Context(), o)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, m.Text(&text))
	t.Logf("\n%s", text.String())
	return m
}

var update = flag.Bool("update", false, "look for a mutant for each case that has none, and write known.tsv anew")

func TestEveryMutantIsCaughtAndEveryCaseIsFailed(t *testing.T) {
	o := options(t)
	o.Mutants, o.Known, o.Search = All(), Known(), *update
	m := kill(t, o)
	for _, row := range m.Silent() {
		t.Errorf("%s breaks %s and is caught by nothing: %s", row.ID, row.Requirement, row.Sentence)
	}
	for _, id := range m.Unfailed {
		t.Errorf("%s is failed by no mutant that known.tsv names; go test ./mutants -run EveryMutant -update looks for one", id)
	}
	if *update {
		var text bytes.Buffer
		require.NoError(t, m.WriteKnown(&text))
		require.NoError(t, os.WriteFile("known.tsv", text.Bytes(), 0o644))
	}
}

func TestNoTwinIsAccused(t *testing.T) {
	o := options(t)
	o.Twins = Twins()
	o.Share = 20 // `pugmark-conform mutants` plays every case to every twin
	for _, twin := range kill(t, o).Twins {
		for _, c := range twin.Complaints {
			t.Errorf("%s: %s, %s: %s %s: %s", twin.ID, c.Case, c.Transport, c.Check, c.Verdict, c.What)
		}
	}
}

func TestIdlersPassNothing(t *testing.T) {
	o := options(t)
	o.Idlers = Idlers()
	for _, idler := range kill(t, o).Idlers {
		for _, c := range idler.Complaints {
			t.Errorf("%s: %s, %s: %s passes", idler.ID, c.Case, c.Transport, c.Check)
		}
		if idler.Verdict == "conformant" {
			t.Errorf("%s is conformant", idler.ID)
		}
	}
}

func TestEveryOneHasAnIDAndASentence(t *testing.T) {
	o := options(t)
	ids := map[string]bool{}
	look := func(id, kind, sentence string) {
		if !regexp.MustCompile(`^(handler|runtime)/[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(id) || !strings.HasPrefix(id, kind+"/") {
			t.Errorf("%q is no ID of a %s", id, kind)
		}
		if !regexp.MustCompile(`^[A-Z][^.\n]*(\.[0-9][^.\n]*)*\.$`).MatchString(sentence) {
			t.Errorf("%s: %q is not one sentence", id, sentence)
		}
		if ids[id] {
			t.Errorf("%s is there twice", id)
		}
		ids[id] = true
	}
	for _, m := range All() {
		look(m.ID, m.Kind(), m.Sentence)
		if _, ok := o.Registry.Requirement(m.Requirement); !ok {
			t.Errorf("%s: no requirement is called %q", m.ID, m.Requirement)
		}
		if (m.Handler == nil) == (m.Runtime == nil) {
			t.Errorf("%s is not one of a handler and a runtime", m.ID)
		}
	}
	for _, w := range Twins() {
		look(w.ID, w.Kind(), w.Sentence)
	}
	for _, i := range Idlers() {
		look(i.ID, i.Kind(), i.Sentence)
	}
}

func TestMatrixIsTheSameEveryTime(t *testing.T) {
	o := options(t)
	o.Mutants = All()[:2]
	one, two := kill(t, o), kill(t, o)
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("two matrices (-one +two):\n%s", diff)
	}
	text, err := json.Marshal(one)
	require.NoError(t, err)
	var read Matrix
	require.NoError(t, json.Unmarshal(text, &read))
	if diff := cmp.Diff(one, &read); diff != "" {
		t.Errorf("a matrix through JSON (-want +got):\n%s", diff)
	}
}
