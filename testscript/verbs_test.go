package testscript

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pugmark.dev/conform/casefile"
)

func TestTheLoaderAndThisTableKnowTheSameVerbs(t *testing.T) {
	want := map[string]string{}
	for _, v := range casefile.Verbs() {
		want[v.Name] = v.Usage()
	}
	got := map[string]string{}
	for _, v := range Verbs() {
		got[v.Name] = strings.TrimSpace(v.Name + " " + v.Args)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verbs (-casefile +testscript):\n%s", diff)
	}
}

func TestLineNumbersReachTheVerbs(t *testing.T) {
	story := &casefile.Story{ScriptLine: 4, Script: "# a comment\nstart parent\n! inspect child\n\nrun-once parent\n? run parent &\n"}
	want := "# a comment\nstart @line-5 parent\n! inspect @line-6 child\n\nrun-once @line-8 parent\nrun @line-9? parent &\n"
	if diff := cmp.Diff(want, numbered(story)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
