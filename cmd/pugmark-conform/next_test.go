package main

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

func TestWhatCanBeDoneNextNamesTheFirstFailure(t *testing.T) {
	handler := &casefile.Case{ID: "handler/a/b", Kind: casefile.KindHandler, Handler: &casefile.Handler{}}
	runtime := &casefile.Case{ID: "runtime/a/b", Kind: casefile.KindRuntime}
	twofold := &casefile.Case{ID: "handler/a/two", Kind: casefile.KindHandler, Handler: &casefile.Handler{Beside: &casefile.Beside{}}}
	plain := following{cases: []*casefile.Case{handler, runtime, twofold}, evidence: "evidence/my sdk", stored: true}
	own := plain
	own.command, own.paged = []string{"pugmark-conform", "run", "--cases", "my cases"}, true
	failed := func(id string, v result.Verdict) *result.Case {
		return &result.Case{ID: id, Transport: "rpc", Verdict: v, Evidence: id + "@rpc", Checks: []result.Check{{Verdict: result.Fail}}}
	}
	const page = "all of it as a page: pugmark-conform report render 'evidence/my sdk' --output html=report.html"
	const show = "what the first of these cases does and wants: pugmark-conform show "
	unseen := failed("handler/a/b", result.NotTestable)
	unseen.Checks[0].Verdict = result.NotRun
	premise := failed("handler/a/b", result.NotTestable)
	premise.Reason = "the premise of this case, handler/agreement/observe, ended in fail"
	mine := plain
	mine.command = []string{"pugmark-conform", "run", "--subject", "my sdk.yaml"}
	played := failed("handler/a/b", result.Fail)
	played.Evidence = ""
	for name, c := range map[string]struct {
		n     following
		first *result.Case
		want  []string
	}{
		"a handler": {plain, failed("handler/a/b", result.Fail), []string{
			"the first failure in a folder, without the harness: pugmark-conform repro 'evidence/my sdk/handler/a/b@rpc'", page}},
		"own cases": {own, failed("handler/a/b", result.Hang), []string{
			"the first failure in a folder, without the harness: pugmark-conform repro 'evidence/my sdk/handler/a/b@rpc' --cases 'my cases'"}},
		"a runtime":     {plain, failed("runtime/a/b", result.Fail), []string{show + "runtime/a/b", page}},
		"two at a time": {plain, failed("handler/a/two", result.Fail), []string{show + "handler/a/two", page}},
		"no agreement": {mine, premise, []string{
			"why handler/agreement/observe does not hold, on which the others rest: pugmark-conform doctor --subject 'my sdk.yaml'", page}},
		"nothing that failed":   {plain, unseen, []string{show + "handler/a/b", page}},
		"no evidence of it":     {plain, played, []string{show + "handler/a/b", page}},
		"a fault of ours":       {plain, failed("handler/a/b", result.HarnessError), []string{page}},
		"a case of other files": {plain, failed("handler/x/y", result.Fail), []string{page}},
		"the file of known":     {plain, nil, []string{page}},
	} {
		if diff := cmp.Diff(c.want, c.n.lines(c.first)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A default stands in the text of a flag or is added to it, not both, and is not empty.
func TestHelpSaysEachDefaultOnce(t *testing.T) {
	odd := regexp.MustCompile(`(?m)^.*(\(default\s*\)|\(default[^\n]*\(default).*$`)
	var verbs int
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		verbs++
		if found := odd.FindString(c.UsageString()); found != "" {
			t.Errorf("%s --help: %s", c.CommandPath(), found)
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	var out bytes.Buffer
	visit((&app{Streams: Streams{Out: &out, Err: &out}}).root())
	if verbs < 15 {
		t.Errorf("only %d verbs were looked at", verbs)
	}
}
