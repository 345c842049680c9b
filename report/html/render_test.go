package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
)

func TestTheSameReportGivesTheSameBytes(t *testing.T) {
	r := sample(t)
	first := r.page()
	if second := r.page(); !bytes.Equal(first, second) {
		t.Error("a second page of the same run has other bytes")
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(r.run.Cases), func(i, j int) { r.run.Cases[i], r.run.Cases[j] = r.run.Cases[j], r.run.Cases[i] })
	if shuffled := r.page(); !bytes.Equal(first, shuffled) {
		t.Error("the order in which cases end changes the page")
	}
	var again bytes.Buffer
	run, err := report.AsStored(r.run)
	require.NoError(t, err)
	require.NoError(t, Render(&again, run, r.spec, r.root))
	if !bytes.Equal(first, again.Bytes()) {
		t.Error("the page of the stored report has other bytes than that of the run")
	}
	moved := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.CopyFS(moved, os.DirFS(r.root)))
	r.root = moved
	if elsewhere := r.page(); !bytes.Equal(first, elsewhere) {
		t.Error("where the evidence lies changes the page")
	}
}

func TestTheRunIsNotChanged(t *testing.T) {
	r := sample(t)
	first := r.run.Cases[0].ID
	r.run.Cases[0], r.run.Cases[3] = r.run.Cases[3], r.run.Cases[0]
	r.page()
	if got := r.run.Cases[3].ID; got != first {
		t.Errorf("the cases of the caller were sorted: %s stands where %s was", got, first)
	}
}

// The policy names the bytes that the browser will see, so that neither the style
// nor the script is refused, and nothing else is let in.
func TestThePolicyNamesTheStyleAndTheScript(t *testing.T) {
	text := string(sample(t).page())
	for _, element := range []string{"style", "script"} {
		if n := strings.Count(text, "<"+element+">"); n != 1 {
			t.Errorf("%d elements %s, want 1", n, element)
		}
		_, rest, _ := strings.Cut(text, "<"+element+">")
		inside, _, _ := strings.Cut(rest, "</"+element+">")
		sum := sha256.Sum256([]byte(inside))
		policy := fmt.Sprintf("%s-src 'sha256-%s'", element, base64.StdEncoding.EncodeToString(sum[:]))
		if !strings.Contains(text, policy) {
			t.Errorf("the policy lacks %s", policy)
		}
	}
	for _, want := range []string{"default-src 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(text, want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	for _, never := range []string{"unsafe", "http-equiv=\"refresh\"", "src=\"", "@import", "url("} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %q", never)
		}
	}
}

func TestAFailingCaseCarriesAll(t *testing.T) {
	text := string(sample(t).page())
	for _, want := range []string{
		"my-sdk", "not conformant", "exit status 1", "linux/amd64", "everything there is for the subject", "1.0.0",
		`pugmark-conform run --subject &#39;my sdk.yaml&#39;`,                  // the command, as it can be pasted
		"Tabs may separate records.",                                           // why
		"whatever mix of line feeds, carriage returns, tabs and spaces",        // the requirement's sentence
		"exited with status 1",                                                 // what was got, and the end
		"the invocation succeeds: exit status 0",                               // what was wanted
		"JSONDecodeError: Extra data",                                          // stderr
		"--transport subprocess handler/framing/tabs",                          // rerun
		`id="case=handler/framing/tabs@rpc"`, `id="case=handler/framing/tabs"`, // deep links
		`id="requirement=P3/any-whitespace"`,
		"our reading <b>R4</b>", "--without-readings=R4", // the reading, and how to do without
		`<td class="want">`,                 // the structural diff
		"&#34;entries&#34;: [",              // the body, decoded and laid out
		"00000000  7b 22 6e 61 6d 65 22 3a", // raw
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestWithoutEvidenceThePageHasTheFindings(t *testing.T) {
	r := sample(t)
	whole := r.root
	for name, root := range map[string]string{
		"The page was made without the evidence folder": "", "The evidence folder does not hold the evidence of this case": t.TempDir(),
	} {
		r.root = root
		text := string(r.page())
		for _, want := range []string{name, "exited with status 1", "whatever mix of line feeds"} {
			if !strings.Contains(text, want) {
				t.Errorf("with the root %q the page lacks %q", root, want)
			}
		}
	}
	r.root = whole
	for i := range r.run.Cases {
		if r.run.Cases[i].Evidence != "" {
			r.run.Cases[i].Evidence = "../" + filepath.Base(whole) + "/" + r.run.Cases[i].Evidence
		}
	}
	if text := string(r.page()); !strings.Contains(text, "outside of the evidence folder") || strings.Contains(text, "Traceback") {
		t.Error("evidence outside of the evidence folder is read")
	}
}

func TestARunWithoutCasesHasAPage(t *testing.T) {
	r := newRun(t)
	if text := string(r.page()); !strings.Contains(text, "nothing was run") || !strings.Contains(text, "exit status 2") {
		t.Error("the page does not say that nothing was run")
	}
}

func TestASelectionSaysSo(t *testing.T) {
	r := sample(t)
	r.run.Selection = result.Selection{Patterns: []string{"handler/framing/*"}, Shard: "1/3"}
	text := string(r.page())
	for _, want := range []string{"not conformant, of the selection", "handler/framing/*, shard 1/3"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A full run is some 2100 results. Whether all pass or all fail, each with long
// texts and long streams, the page stays below its size, and says what it leaves out.
func TestAFullRunStaysBelowItsSize(t *testing.T) {
	for _, v := range []result.Verdict{result.Pass, result.Fail} {
		r := newRun(t)
		r.requirement("P3/any-whitespace", v)
		long := strings.Repeat("text that goes on, ", 200)
		outputs := strings.Repeat(record(t, "name", long)+"\n", 8)
		for i := range 720 {
			for _, transport := range []string{"http", "rpc", "subprocess"} {
				c := result.Case{ID: fmt.Sprintf("handler/some-longer-folder/a-name-of-a-usual-length-%d", i), Transport: transport, Verdict: v, Why: long,
					Checks: []result.Check{{ID: "observed", Requirement: "P3/any-whitespace", Verdict: v, Where: "stdout, byte 9", Want: long, Got: long, Diff: "- " + long + "\n+ x" + long}}}
				var e *result.Evidence
				if v == result.Fail && i%16 == 0 {
					e = overPipes(outputs, long, 1)
				}
				r.add(c, e)
			}
		}
		page := r.page()
		if len(page) > MaxSize || len(page) < 400_000 {
			t.Errorf("%s: the page has %d bytes, want at most %d", v, len(page), MaxSize)
		}
		if n := bytes.Count(page, []byte(`id="case=`)); n != 720*4 {
			t.Errorf("%s: %d places of cases and results, want %d", v, n, 720*4)
		}
		if says := bytes.Contains(page, []byte("There was no room for what")); says != (v == result.Fail) {
			t.Errorf("%s: the page says that evidence was left out: %v", v, says)
		}
	}
}

// Whoever keeps the known-failures file has to see which entry made the run red.
func TestKnownFailuresAreShown(t *testing.T) {
	r := sample(t)
	if text := string(r.page()); strings.Contains(text, `id="known"`) || strings.Contains(text, "masked") {
		t.Error("a run without known failures and masked values shows some")
	}
	r.run.Repeat, r.run.Masked = 3, []string{"API_TOKEN"}
	r.run.Known = &result.Excuses{File: "known.yaml", Entries: []result.Excuse{
		{Line: 4, Case: "handler/framing/*", Verdict: result.Fail, Requirements: []string{"P3/any-whitespace"}, Where: []string{"stdout, a byte"}, Reason: "reads lines", Issue: "https://example.org/1", Expires: "2030-02-01", Fits: 6, Judged: 6, Excused: 5},
		{Line: 9, Case: "handler/a/data", Transport: "rpc", Verdict: result.Crash, Reason: "old", Issue: "javascript:alert(1)", Problem: "excuses nothing any more", Fits: 1},
	}}
	text := string(r.page())
	for _, want := range []string{
		"2 listed in known.yaml, 1 broken; 5 results excused", "known.yaml:4", "handler/framing/* on every transport", "fail of P3/any-whitespace at stdout, a byte",
		"reads lines", `<a href="https://example.org/1" rel="noreferrer">`, "2030-02-01", "5 results excused, of 6 that it fits",
		"known.yaml:9", "handler/a/data on rpc", `<p class="error">excuses nothing any more</p>`,
		"each case 3 times", "the values of API_TOKEN, wherever they stood",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(text, `href="javascript`) {
		t.Error("an issue that is no web address can be followed")
	}
	if broken, holds := strings.Index(text, "known.yaml:9"), strings.Index(text, "known.yaml:4"); broken > holds {
		t.Error("the entry that does not hold stands behind the one that does")
	}
}

func TestAnUntestedRequirementOfAWholeRunHasItsReason(t *testing.T) {
	r := sample(t)
	r.requirement("K7/version", result.Untested)
	const why = "Untested: no case can test it: What a package claims stands in the metadata"
	require.Contains(t, string(r.page()), why)
	r.run.Selection = result.Selection{Patterns: []string{"handler/framing/*"}, Shard: "1/1"}
	require.NotContains(t, string(r.page()), why)
}

// An entry that does not hold makes a run red of which all else is as expected.
func TestABrokenEntryIsNotBlamedOnTheSubject(t *testing.T) {
	r := newRun(t)
	r.requirement("P3/utf8", result.KnownFailure, "handler/a/b")
	r.add(result.Case{ID: "handler/a/b", Transport: "rpc", Verdict: result.KnownFailure, Reason: "Known."}, nil)
	r.run.Known = &result.Excuses{File: "known.yaml", Entries: []result.Excuse{{Line: 2, Case: "handler/a/c", Problem: "matches nothing"}}}
	text := string(r.page())
	require.Contains(t, text, "exit status 1: the known-failures file says what is not so")
	r.run.Cases[0].Verdict = result.Fail
	require.Contains(t, string(r.page()), "exit status 1: something that the protocol demands does not hold")
}
