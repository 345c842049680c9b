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

func TestRunsAreJudgedByTheExpectationBehindThem(t *testing.T) {
	story := &casefile.Story{
		ScriptLine: 0,
		Script:     "run a\nrequire P3/utf8\n\nexpect ends\nrun a\nexpect log\nrun b\nexpect ends-of-a\nrun a\nlog a\nexpect ends\n! run a\nexpect ends\nrun a &\nexpect ends\nrun a\nexpect either\n",
		Expects: map[string][]casefile.RuntimeExpect{
			"ends":      {{Run: "success"}},
			"log":       {{Log: &[]casefile.EntryMatch{}}},
			"ends-of-a": {{Session: "a", Run: "success"}},
			"either":    {{AnyOf: []casefile.RuntimeExpect{{Run: "success"}, {Run: "failure"}}}},
		},
	}
	want := "run @line-0? a\nrequire @line-1 P3/utf8\n\nexpect @line-3 ends\nrun @line-4 a\nexpect @line-5 log\nrun @line-6 b\nexpect @line-7 ends-of-a\n" +
		"run @line-8 a\nlog @line-9 a\nexpect @line-10 ends\n! run @line-11 a\nexpect @line-12 ends\nrun @line-13 a &\nexpect @line-14 ends\nrun @line-15? a\nexpect @line-16 either\n"
	if diff := cmp.Diff(want, numbered(story)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
