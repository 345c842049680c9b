package result_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

func evidence() *result.Evidence {
	return &result.Evidence{
		Case: "handler/framing/tabs", Subject: "python-raw", Kind: "handler", Transport: "subprocess",
		Started:  time.Date(2030, 1, 2, 3, 4, 5, 678, time.UTC),
		Features: []string{"instructions"},
		Steps: []result.Step{{
			Line: 4, Verb: "invoke", Invocations: 1, TookMS: 12,
			Output: json.RawMessage(`{"n":9007199254740993,"n":"<twice>"}`),
			Error:  &result.StepError{Kind: "request", Message: "no such session"},
		}},
		Invocations: []result.Invocation{{
			Step: 0, Role: "control",
			Transcript: transcript.Transcript{
				By: "fakeruntime", Transport: "subprocess", Started: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
				Events: []transcript.Event{
					{At: 1, Kind: transcript.Spawn, Text: "python3 raw.py"},
					{At: 2, Kind: transcript.Environment, Variables: map[string]string{"PUGMARK_AGENT_ID": "a"}},
					{At: 3, Kind: transcript.Sent, Stream: transcript.Stdin, Data: []byte("{}\n\t")},
					{At: 4, Kind: transcript.Sent, Stream: transcript.Stdin, Data: []byte{0xf0, 0x9f}},
					{At: 5, Kind: transcript.Received, Stream: transcript.Stdout, Data: []byte(`{"name":"a\"]}"}`)},
					{At: 6, Kind: transcript.Received, Stream: transcript.Stderr, Data: []byte("\x1b[31m\x00\xff")},
					{At: 7, Kind: transcript.Exited, Ended: &transcript.Ended{How: transcript.HowExit, Code: 3}},
				},
			},
			Objects: map[string]string{"/sha256:00": "a"},
		}},
		Sessions:  map[string]string{"parent": "00"},
		TimeScale: 2.5,
	}
}

func verdict() *result.Case {
	return &result.Case{
		ID: "handler/framing/tabs", Transport: "subprocess", Why: "Tabs may separate records.", Verdict: result.Fail,
		Checks: []result.Check{{ID: "exit", Requirement: "P3/any-whitespace", Verdict: result.Fail, Got: "a \xff byte"}},
	}
}

func TestStoredEvidenceComesBackAsItWas(t *testing.T) {
	root := t.TempDir()
	folder, err := result.WriteEvidence(root, evidence(), verdict())
	require.NoError(t, err)
	require.Equal(t, "handler/framing/tabs@subprocess", folder)

	back, err := result.ReadEvidence(filepath.Join(root, folder))
	require.NoError(t, err)
	if diff := cmp.Diff(evidence(), back); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	judged, err := result.ReadCase(filepath.Join(root, folder))
	require.NoError(t, err)
	want := verdict()
	want.Checks[0].Got = `a \xff byte`
	want.Checks[0].Readings = []string{}
	if diff := cmp.Diff(want, judged); diff != "" {
		t.Errorf("case (-want +got):\n%s", diff)
	}
}

func TestStreamsLieBesideTheEvidenceByteForByte(t *testing.T) {
	root := t.TempDir()
	folder, err := result.WriteEvidence(root, evidence(), verdict())
	require.NoError(t, err)
	for name, want := range map[string]string{
		"1-control.inputs":  "{}\n\t\xf0\x9f",
		"1-control.outputs": `{"name":"a\"]}"}`,
		"1-control.stderr":  "\x1b[31m\x00\xff",
	} {
		got, err := os.ReadFile(filepath.Join(root, folder, name))
		require.NoError(t, err)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEvidenceReadsWithOneEventALine(t *testing.T) {
	root := t.TempDir()
	folder, err := result.WriteEvidence(root, evidence(), verdict())
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, folder, "evidence.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), "\n          "+`{"at-us":1,"kind":"spawn","text":"python3 raw.py"},`+"\n")
	require.Contains(t, string(text), `"data":"{\"name\":\"a\\\"]}\"}"`)
}

func TestAnEarlierRunsFilesAreReplacedAndForeignOnesStay(t *testing.T) {
	root := t.TempDir()
	folder, err := result.WriteEvidence(root, evidence(), verdict())
	require.NoError(t, err)
	notes := filepath.Join(root, folder, "notes.txt")
	require.NoError(t, os.WriteFile(notes, []byte("mine"), 0o600))

	second := verdict()
	second.Verdict = result.Pass
	_, err = result.WriteEvidence(root, evidence(), second)
	require.NoError(t, err)
	entries, err := os.ReadDir(filepath.Join(root, folder))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"case.json", "evidence.json", "notes.txt"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestACaseCanNotLeaveTheFolderOfTheRun(t *testing.T) {
	for _, name := range [][2]string{
		{"../outside", "subprocess"}, {"/etc/x", "subprocess"}, {"a/../../b", "rpc"}, {"a", "../rpc"}, {"a", "x/../../../y"},
	} {
		e := evidence()
		e.Case, e.Transport = name[0], name[1]
		_, err := result.WriteEvidence(t.TempDir(), e, verdict())
		require.ErrorContains(t, err, "is no path below the folder of the run", "%v", name)
	}
}

// A flood of 50 MiB on both streams (F45) leaves bounded files that say how much
// is missing, and that can still be read back.
func TestAFloodLeavesHeadTailAndCount(t *testing.T) {
	const flood = 50 << 20
	e := evidence()
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096) // 64 KiB
	events := []transcript.Event{}
	for range flood / len(chunk) {
		events = append(events,
			transcript.Event{Kind: transcript.Received, Stream: transcript.Stdout, Data: chunk},
			transcript.Event{Kind: transcript.Received, Stream: transcript.Stderr, Data: chunk})
	}
	events = append(events,
		transcript.Event{Kind: transcript.Received, Stream: transcript.Stderr, Data: []byte("THE END")},
		transcript.Event{Kind: transcript.Left, Stream: transcript.Stdout, Count: 25, Data: []byte("AND THIS")},
		transcript.Event{Kind: transcript.Left, Stream: "unended", Count: 5},
		transcript.Event{Kind: transcript.Exited, Ended: &transcript.Ended{How: transcript.HowFlood}})
	e.Invocations[0].Transcript.Events = events

	root := t.TempDir()
	folder, err := result.WriteEvidence(root, e, verdict())
	require.NoError(t, err)
	require.Len(t, e.Invocations[0].Transcript.Events, len(events), "the caller's evidence was changed")

	back, err := result.ReadEvidence(filepath.Join(root, folder))
	require.NoError(t, err)
	// What is within the bounds is stored again as it is.
	again := t.TempDir()
	_, err = result.WriteEvidence(again, back, verdict())
	require.NoError(t, err)
	twice, err := result.ReadEvidence(filepath.Join(again, folder))
	require.NoError(t, err)
	require.True(t, reflect.DeepEqual(back, twice))
	stored := &back.Invocations[0].Transcript
	data, left := stored.Stream(transcript.Stdout)
	require.Len(t, data, 3<<20)
	require.EqualValues(t, 47<<20+25, left)
	require.Equal(t, "AND THIS", string(stored.Tail(transcript.Stdout)), "what stands between was not recorded")
	data, left = stored.Stream(transcript.Stderr)
	require.Len(t, data, 3<<20)
	require.EqualValues(t, 47<<20+7, left)
	require.Len(t, stored.Tail(transcript.Stderr), 1<<20)
	require.True(t, bytes.HasSuffix(stored.Tail(transcript.Stderr), []byte("efTHE END")))
	require.EqualValues(t, 46<<20+7, stored.Missing(transcript.Stderr))
	_, left = stored.Stream("unended")
	require.EqualValues(t, 5, left)
	require.Empty(t, stored.Tail("unended"))
	require.Equal(t, transcript.HowFlood, stored.Ended().How)

	text, err := os.ReadFile(filepath.Join(root, folder, "1-control.stderr.cut"))
	require.NoError(t, err)
	require.Less(t, len(text), 4<<20+100)
	require.True(t, bytes.HasSuffix(text, []byte("THE END")))
	require.Contains(t, string(text), fmt.Sprintf("\n... %d bytes left out ...\n", 46<<20+7))
	outputs, err := os.ReadFile(filepath.Join(root, folder, "1-control.outputs.cut"))
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(outputs, fmt.Appendf(nil, "ef\n... %d bytes left out ...\nAND THIS", 47<<20+17)))
	require.NoFileExists(t, filepath.Join(root, folder, "1-control.outputs"), "a stream with a hole must not look whole")
}

func TestManySmallEventsAreBoundedToo(t *testing.T) {
	e := evidence()
	var events []transcript.Event
	for range result.MaxEvents {
		events = append(events, transcript.Event{Kind: transcript.Received, Stream: transcript.Stdout, Data: []byte("x")})
	}
	for n := range 10 {
		events = append(events,
			transcript.Event{Kind: transcript.Received, Stream: transcript.Stdout, Data: []byte("yy")},
			transcript.Event{Kind: transcript.Request, HTTP: &transcript.HTTP{Exchange: n + 1, Method: "GET"}})
	}
	events = append(events, transcript.Event{Kind: transcript.Exited, Ended: &transcript.Ended{How: transcript.HowExit}})
	e.Invocations[0].Transcript.Events = events
	root := t.TempDir()
	folder, err := result.WriteEvidence(root, e, verdict())
	require.NoError(t, err)
	back, err := result.ReadEvidence(filepath.Join(root, folder))
	require.NoError(t, err)
	stored := &back.Invocations[0].Transcript
	data, left := stored.Stream(transcript.Stdout)
	require.Len(t, data, result.MaxEvents+20, "the end meets the head")
	require.Zero(t, left)
	require.Equal(t, transcript.HowExit, stored.Ended().How)
	require.Equal(t, "10 further events were left out", stored.Events[len(stored.Events)-1].Text)
}

func TestOutputThatIsNoJSONIsKeptVisibly(t *testing.T) {
	e := evidence()
	e.Steps = []result.Step{
		{Verb: "log", Output: json.RawMessage("not \xff json")},
		{Verb: "log", Output: json.RawMessage(`"` + strings.Repeat("x", result.MaxOutput) + `"`)},
	}
	root := t.TempDir()
	folder, err := result.WriteEvidence(root, e, verdict())
	require.NoError(t, err)
	back, err := result.ReadEvidence(filepath.Join(root, folder))
	require.NoError(t, err)
	require.Equal(t, `"not \\xff json"`, string(back.Steps[0].Output))
	require.Equal(t, `"left out: 16777218 bytes"`, string(back.Steps[1].Output))
}

func TestBytesThatAreNoUTF8StayVisible(t *testing.T) {
	e := evidence()
	e.Invocations[0].Transcript.Events = []transcript.Event{{
		Kind: transcript.Request, HTTP: &transcript.HTTP{Target: "/\xff", Header: map[string][]string{"X-\xfe": {"é\x80"}}},
	}}
	root := t.TempDir()
	folder, err := result.WriteEvidence(root, e, verdict())
	require.NoError(t, err)
	back, err := result.ReadEvidence(filepath.Join(root, folder))
	require.NoError(t, err)
	want := &transcript.HTTP{Target: `/\xff`, Header: map[string][]string{`X-\xfe`: {`é\x80`}}}
	if diff := cmp.Diff(want, back.Invocations[0].Transcript.Events[0].HTTP); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestForeignEvidenceIsRefusedWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":            "evidence.json: line 1, column 1: unexpected EOF",
		`{"case":"a"`: "line 1, column 12",
		"{\"schema\":\"pugmark-conform/evidence/v1\",\n  \"case\":\"a\",\"x\":1}": `evidence.json: line 2, column 14, at /x: unknown member "x"`,
		`{"schema":"pugmark-conform/evidence/v1","Case":"a"}`:                     `unknown member "Case"`,
		`{"schema":"pugmark-conform/evidence/v1","steps":[{"verb":7}]}`:           "at /steps/0/verb: a JSON number can't stand here",
		`{"case":"a"} {}`:     "after top-level value",
		"{\"case\":\"\xff\"}": "invalid UTF-8",
		`{"case":"a"}`:        "evidence.json: it names no schema; pugmark-conform/evidence/v1 is wanted",
		`{"schema":"pugmark-conform/evidence/v2","new":1}`:                      "evidence.json: its schema is pugmark-conform/evidence/v2; this program reads pugmark-conform/evidence/v1",
		`{"schema":"pugmark-conform/evidence/v1","invocations":[{"step":1.5}]}`: "at /invocations/0/step",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "evidence.json"), []byte(text), 0o600))
		_, err := result.ReadEvidence(dir)
		require.ErrorContains(t, err, want, "%q", text)
	}
	_, err := result.ReadEvidence(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEvidenceIsFoundInOrder(t *testing.T) {
	root := t.TempDir()
	for _, id := range []string{"handler/b/x", "handler/a/y"} {
		for _, transport := range []string{"subprocess", "rpc"} {
			e := evidence()
			e.Case, e.Transport = id, transport
			_, err := result.WriteEvidence(root, e, verdict())
			require.NoError(t, err)
		}
	}
	folders, err := result.FindEvidence(root)
	require.NoError(t, err)
	want := []string{"handler/a/y@rpc", "handler/a/y@subprocess", "handler/b/x@rpc", "handler/b/x@subprocess"}
	if diff := cmp.Diff(want, folders); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	folders, err = result.FindEvidence(filepath.Join(root, "handler/a/y@rpc"))
	require.NoError(t, err)
	require.Equal(t, []string{"."}, folders)
	_, err = result.FindEvidence(t.TempDir())
	require.ErrorContains(t, err, "holds none")
}

func TestTextIsClippedBetweenCharacters(t *testing.T) {
	require.Equal(t, "short", result.Clip("short", 5))
	// 10 characters of 3 bytes; of 9 bytes 6 are head and 3 tail.
	require.Equal(t, "語語 ... (21 bytes left out) ... 語", result.Clip(strings.Repeat("語", 10), 9))
	require.Equal(t, "語 ... (24 bytes left out) ... 語", result.Clip(strings.Repeat("語", 10), 8))
}

func TestWhatWasClippedIsNotClippedAnew(t *testing.T) {
	once := result.Clip(strings.Repeat("a", 1000)+strings.Repeat("b", 1000), 90)
	require.Equal(t, strings.Repeat("a", 60)+" ... (1910 bytes left out) ... "+strings.Repeat("b", 30), once)
	require.Equal(t, once, result.Clip(once, 90))
	require.Equal(t, strings.Repeat("a", 20)+" ... (1970 bytes left out) ... "+strings.Repeat("b", 10), result.Clip(once, 30))
	// What only looks like it does not stop the bound.
	forged := strings.Repeat(" ... (7 bytes left out) ... ", 1000)
	require.Less(t, len(result.Clip(forged, 100)), 200)
	require.Less(t, len(result.Clip(strings.Repeat(" ... (", 1000)+"99999999999999999999999 bytes left out) ... ", 100)), 150)
	c := result.Case{Reason: strings.Repeat("\xff", 100_000)}.Bounded()
	require.Equal(t, c.Reason, result.Case(c).Bounded().Reason)
}

func TestWhatWouldActOnATerminalIsEscapedInJSONAndComesBack(t *testing.T) {
	text := map[string]string{"k": "\x1b[2J \x7f \u009b2J \u202e \u2028 \ufeff \U000e0001 é 語 \\"}
	got, err := result.EncodeJSON(text, 0)
	require.NoError(t, err)
	require.Equal(t, `{"k":"\u001b[2J \u007f \u009b2J \u202e \u2028 \ufeff \udb40\udc01 é 語 \\"}`+"\n", string(got))
	back := map[string]string{}
	require.NoError(t, result.DecodeStrict(got, &back))
	if diff := cmp.Diff(text, back); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestItemsStandOnLinesDownToTheDepth(t *testing.T) {
	value := map[string]any{"a": []any{map[string]any{"b": []int{1, 2}}, []int{}}, "c": "x,{\":"}
	for depth, want := range map[int]string{
		0: `{"a":[{"b":[1,2]},[]],"c":"x,{\":"}`,
		1: "{\n  \"a\": [{\"b\":[1,2]},[]],\n  \"c\": \"x,{\\\":\"\n}",
		2: "{\n  \"a\": [\n    {\"b\":[1,2]},\n    []\n  ],\n  \"c\": \"x,{\\\":\"\n}",
	} {
		got, err := result.EncodeJSON(value, depth)
		require.NoError(t, err)
		if diff := cmp.Diff(want+"\n", string(got)); diff != "" {
			t.Errorf("depth %d (-want +got):\n%s", depth, diff)
		}
	}
}

func BenchmarkWriteEvidence(b *testing.B) {
	root := b.TempDir()
	e, c := evidence(), verdict()
	c.Verdict = result.Pass
	for i := range b.N {
		e.Case = fmt.Sprintf("handler/bench/%d", i)
		if _, err := result.WriteEvidence(root, e, c); err != nil {
			b.Fatal(err)
		}
	}
}
