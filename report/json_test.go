package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/report/schema"
	"pugmark.dev/conform/result"
)

func written(t testing.TB, run *result.Run) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, WriteJSON(&out, run))
	return out.String()
}

func TestReportLooksAsRecorded(t *testing.T) {
	evil := clear(t)
	evil.Cases[0].Checks = []result.Check{{ID: "x", Requirement: "P3/utf8", Verdict: result.Fail}}
	poison(evil, hostile)
	golden(t, "every-outcome.json", written(t, sample(t)))
	golden(t, "hostile.json", written(t, evil))
}

// The shape that the contract shows, member by member and in this order.
func TestReportHasTheShapeOfTheContract(t *testing.T) {
	m := newMaker(t)
	m.run.Verdict = result.NotConformant
	m.run.Subject = result.Subject{Name: "s"}
	m.run.Command = nil
	m.run.Totals = nil
	m.run.Requirements = []result.Requirement{{ID: "P3/any-whitespace", Level: "MUST", Side: "B", Section: "3", Verdict: result.Fail}}
	m.run.Cases = []result.Case{
		{ID: "handler/framing/no-whitespace", Transport: "subprocess", Verdict: result.Fail, Checks: []result.Check{{Verdict: result.Fail}}},
		{ID: "handler/framing/tabs", Transport: "subprocess", Verdict: result.Hang},
	}
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, []byte(written(t, m.run))))
	want := `{"schema":"pugmark-conform/report/v1","verdict":"not-conformant",` +
		`"subject":{"name":"s","kinds":[],"version":"","transports":[],"features":[]},` +
		`"selection":{"all":true,"patterns":[],"shard":"1/1"},` +
		`"suite":{"version":"1.0.0","cases":"sha256:` + strings.Repeat("0a", 32) + `"},"platform":"linux/amd64","command":[],"seed":7,` +
		`"started":"2030-01-02T03:04:05Z","duration-ms":4321,"totals":{},` +
		`"requirements":[{"id":"P3/any-whitespace","level":"MUST","side":"B","section":"3","text":"","verdict":"fail","cases":[]}],` +
		`"cases":[{"id":"handler/framing/no-whitespace","transport":"subprocess","why":"","verdict":"fail","reason":"","duration-ms":0,` +
		`"checks":[{"id":"","requirement":"","readings":[],"verdict":"fail","where":"","want":"","got":"","diff":""}],"evidence":"","rerun":""},` +
		`{"id":"handler/framing/tabs","transport":"subprocess","why":"","verdict":"hang","reason":"","duration-ms":0,"checks":[],"evidence":"","rerun":""}],` +
		`"complete":true}`
	if diff := cmp.Diff(want, compact.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	require.False(t, m.run.Complete, "the caller's run was changed")
}

func TestReportComesBackAsItWas(t *testing.T) {
	back, err := decoded([]byte(written(t, sample(t))))
	require.NoError(t, err)
	want := ordered(sample(t))
	want.Complete = true
	if diff := cmp.Diff(written(t, want), written(t, back)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	require.True(t, back.Complete)
	require.Len(t, back.Cases, len(want.Cases))
	require.Equal(t, "handler/base64/long-body", back.Cases[0].ID)
}

// F42.
func TestReportIsTheSameInWhateverOrderCasesFinish(t *testing.T) {
	want := written(t, sample(t))
	for seed := range uint64(50) {
		if diff := cmp.Diff(want, written(t, shuffled(sample(t), seed))); diff != "" {
			t.Fatalf("shuffle %d (-want +got):\n%s", seed, diff)
		}
	}
}

func TestReportHoldsBytesOfSubjectsVisiblyAndValidates(t *testing.T) {
	run := sample(t)
	poison(run, hostile)
	text := written(t, run)
	require.NoError(t, schema.Validate([]byte(text)))
	back, err := decoded([]byte(text))
	require.NoError(t, err)
	want := strings.ReplaceAll(hostile, "\xff\xfe", `\xff\xfe`)
	require.Equal(t, want, back.Cases[0].Checks[0].Got)
	require.NotContains(t, text, "\ufffd")
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("%U stands in the report as it is", r)
		}
	}
}

// F45: what a subject printed stands in want, got, diff and reason only bounded.
func TestReportIsBounded(t *testing.T) {
	run := clear(t)
	run.Cases = run.Cases[:1]
	run.Cases[0].Reason = strings.Repeat("é", 25<<20) // 50 MiB
	run.Cases[0].Checks = []result.Check{{ID: "a", Verdict: result.Fail, Got: run.Cases[0].Reason, Diff: run.Cases[0].Reason}}
	text := written(t, run)
	require.Less(t, len(text), 3*(64<<10)+16<<10)
	require.Contains(t, text, fmt.Sprintf("é ... (%d bytes left out) ... é", 50<<20-64<<10))
	_, err := decoded([]byte(text))
	require.NoError(t, err)
}

func TestReportsThatMeanNothingAreRefused(t *testing.T) {
	whole := written(t, sample(t))
	for name, c := range map[string]struct {
		text, want string
		incomplete bool
	}{
		"empty":         {"", "read the report: the report is not complete: the file is empty", true},
		"cut short":     {whole[:len(whole)/2], "it is cut short after", true},
		"not complete":  {strings.Replace(whole, `"complete": true`, `"complete": false`, 1), "its last member, complete, is not true", true},
		"no complete":   {strings.Replace(whole, ",\n  \"complete\": true", "", 1), "its last member, complete, is not true", true},
		"other schema":  {strings.Replace(whole, "report/v1", "report/v2", 1), `its schema is "pugmark-conform/report/v2", and this version reads "pugmark-conform/report/v1"`, false},
		"no report":     {`{"tests":1}`, "it names no schema, so it is no report of pugmark-conform", false},
		"unknown":       {strings.Replace(whole, `"seed": 7`, `"seed": 7, "sead": 8`, 1), `column 14, at /sead: unknown member "sead"`, false},
		"letter case":   {strings.Replace(whole, `"seed": 7`, `"Seed": 7`, 1), `unknown member "Seed"`, false},
		"twice":         {strings.Replace(whole, `"seed": 7`, `"seed": 7, "seed": 8`, 1), "at /seed", false},
		"wrong type":    {strings.Replace(whole, `"seed": 7`, `"seed": "7"`, 1), "at /seed: a JSON string can't stand here", false},
		"wrong verdict": {strings.Replace(whole, `"verdict": "hang"`, `"verdict": "hung"`, 1), "/verdict': value must be one of", false},
		"absent member": {strings.Replace(whole, `"seed": 7,`, ``, 1), "missing property 'seed'", false},
		"text after it": {whole + "{}", "after top-level value", false},
		"no JSON":       {"<html>", "line 1, column 1", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadJSON(strings.NewReader(c.text))
			require.ErrorContains(t, err, c.want)
			if c.incomplete {
				require.ErrorIs(t, err, ErrIncomplete)
			} else {
				require.NotErrorIs(t, err, ErrIncomplete)
			}
		})
	}
}

func TestValidateNamesEachPlace(t *testing.T) {
	text := written(t, sample(t))
	text = strings.Replace(text, `"seed": 7`, `"seed": "seven"`, 1)
	text = strings.Replace(text, `"started": "2030`, `"started": "once, 2030`, 1)
	err := schema.Validate([]byte(text))
	require.Error(t, err)
	for _, want := range []string{"at '/seed'", "at '/started'"} {
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, 2, len(strings.Split(err.Error(), "\n")))
}

// Another implementation of JSON reads the report too, where there is one.
func TestPythonReadsTheReport(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("no python3 here: only Go has read the report")
		return
	}
	run := sample(t)
	poison(run, hostile)
	file := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(file, []byte(written(t, run)), 0o600))
	out, err := exec.Command(python, "-c",
		"import json,sys; r=json.load(open(sys.argv[1],encoding='utf-8')); print(list(r)[-1], len(r['cases']))", file).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, fmt.Sprintf("complete %d\n", len(run.Cases)), string(out))
}
