package html

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

func TestAStreamIsCutIntoRecords(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []piece
	}{
		"back to back":             {`{"a":1}{"b":2}`, []piece{{0, 7, 1}, {7, 14, 2}}},
		"white space":              {" {}\n\t[1]\n", []piece{{1, 3, 1}, {5, 8, 2}}},
		"foreign text":             {"hello\n{}", []piece{{0, 6, 0}, {6, 8, 1}}},
		"cut short":                {`{}{"a`, []piece{{0, 2, 1}, {2, 5, 0}}},
		"repeated names, bad text": {"{\"a\":1,\"a\":\"\xff\"}", []piece{{0, 15, 1}}},
		"nothing":                  {" \n", nil},
	} {
		got, rest := cut([]byte(c.stream), 100)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(piece{})); diff != "" || rest != len(c.stream) {
			t.Errorf("%s: rest %d of %d (-want +got):\n%s", name, rest, len(c.stream), diff)
		}
	}
	if got, rest := cut([]byte("{}{}{}"), 2); len(got) != 2 || rest != 4 {
		t.Errorf("%d pieces, rest from byte %d, want 2 and 4", len(got), rest)
	}
}

func TestMembersAreFoundWhereTheyStand(t *testing.T) {
	text := `{"name": "x", "metadata" : {"duration":"1s"},"n":7,"name":"again"}`
	got := members([]byte(text))
	for path, want := range map[string]member{
		"name":              {strings.Index(text, `"x"`), "x"},
		"metadata.duration": {strings.Index(text, `"1s"`), "1s"},
		"metadata":          {strings.Index(text, `{"dur`), ""},
		"n":                 {strings.Index(text, `7`), ""},
	} {
		if got[path] != want {
			t.Errorf("%s: %+v, want %+v", path, got[path], want)
		}
	}
	if got := members([]byte(`{"a`)); len(got) != 0 {
		t.Errorf("members of what is no JSON: %v", got)
	}
}

func TestAFindingPointsToItsPlace(t *testing.T) {
	for where, want := range map[string]target{
		"stdout, record 2, byte 70":                {stream: "stdout", record: 2, offset: 70},
		"answer, byte 0":                           {stream: "answer", offset: 0},
		"invocation 2, answer, output 1, session":  {number: 2, stream: "answer", output: 1, path: "session", offset: -1},
		"control, conform/observed, entry 1, body": {role: "control", name: "conform/observed", offset: -1},
		"end of the handler":                       {offset: -1},
		"":                                         {offset: -1},
		"stdout, byte 99999999999999999999":        {stream: "stdout", offset: -1},
		"stdout, output 1, metadata.duration":      {stream: "stdout", output: 1, path: "metadata.duration", offset: -1},
		"beside, answer, output 2, body":           {role: "beside", stream: "answer", output: 2, path: "body", offset: -1},
		"control":                                  {role: "control", offset: -1},
		"<script>, byte 3":                         {offset: -1},
	} {
		if diff := cmp.Diff(want, pointed(where), cmp.AllowUnexported(target{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", where, diff)
		}
	}
}

func TestADumpMarksTheByteInBothColumns(t *testing.T) {
	got := dump([]byte("0123456789abcdefX\x00"), []int{16}, 100, 5)
	want := []segment{
		{Text: "00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef\n00000010  "},
		{"58", true},
		{Text: " 00" + strings.Repeat("   ", 14) + "  "},
		{"X", true},
		{Text: ".\n… 5 further bytes were not recorded\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALongDumpShowsItsHeadAndTheMark(t *testing.T) {
	data := []byte(strings.Repeat("0123456789abcdef", 100))
	text := ""
	for _, s := range dump(data, []int{1000}, 64, 0) {
		text += s.Text
	}
	var offsets []string
	for l := range strings.Lines(text) {
		offsets = append(offsets, strings.Fields(l)[0]+" "+strings.Fields(l)[1])
	}
	// 1000 is 3e8; 64 bytes are a head of 16 and 16 on each side of the mark, in whole lines.
	want := []string{"00000000 30", "… 960", "000003d0 30", "000003e0 30", "000003f0 30", "… 576"}
	if diff := cmp.Diff(want, offsets); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, text)
	}
}

// A record that is written byte by byte is one row, and rows of all streams stand
// in the order of time.
func TestTheTimelineIsInTheOrderOfTime(t *testing.T) {
	events := []transcript.Event{
		{At: 0, Kind: transcript.Spawn, Text: "handler"},
	}
	for i, c := range []byte(`{"a":1}{"b":2}`) {
		events = append(events, event(int64(1000*(i+1)), transcript.Sent, transcript.Stdin, string(c)))
		if i == 9 {
			events = append(events, event(10_500, transcript.Received, transcript.Stderr, "warn"), event(10_600, transcript.Received, transcript.Stderr, "ing\n"))
		}
	}
	events = append(events,
		event(20_000, transcript.Received, transcript.Stdout, "oops\n{\"name\":\"n\"}"),
		transcript.Event{At: 21_000, Kind: transcript.Request, Stream: transcript.Objects, HTTP: &transcript.HTTP{Exchange: 1, Method: "GET", Target: "/x"}},
		transcript.Event{At: 22_000, Kind: transcript.Response, Stream: transcript.Objects, HTTP: &transcript.HTTP{Exchange: 1, Status: 404}},
		transcript.Event{At: 23_000, Kind: transcript.Exited, Ended: &transcript.Ended{How: transcript.HowExit, Code: 3}},
	)
	inv := &result.Invocation{Transcript: transcript.Transcript{By: "fakeruntime", Transport: "subprocess", Events: events}}
	w := wire{limits: most(), targets: []target{pointed("stdout, record 1, byte 14")}}
	shown := w.invocation(inv, 1, 1, 1)
	var got []string
	for _, r := range shown.Rows {
		row := strings.Join([]string{r.At, r.Arrow(), r.What, r.Note, r.Text}, " | ")
		if r.Bad {
			row += " | bad"
		}
		got = append(got, row)
	}
	want := []string{
		"0.0 ms | · | start |  | handler",
		`1.0 ms | → | stdin | record 1, 7 parts until 7.0 ms | {"a":1}`,
		`8.0 ms | → | stdin | record 2, 7 parts until 14.0 ms | {"b":2}`,
		"10.5 ms | ← | stderr | 8 bytes in 2 parts | warning",
		`20.0 ms | ← | stdout | no JSON | oops\n`,
		`20.0 ms | ← | stdout | record 1, n | {"name":"n"} | bad`,
		"21.0 ms | ← | objects |  | GET /x",
		"22.0 ms | → | objects |  | HTTP status 404",
		"23.0 ms | · | exited | exited with status 3 | ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if shown.End != "exited with status 3" || !shown.Failed {
		t.Errorf("the end is %q, failed: %v", shown.End, shown.Failed)
	}
	if diff := cmp.Diff([]segment{{Text: `oops\n{"name":"`}, {"n", true}, {Text: `"}`}}, shown.Rows[5].Around[0]); diff != "" {
		t.Errorf("around the byte (-want +got):\n%s", diff)
	}
}

func TestALongTimelineKeepsWhereAFindingPoints(t *testing.T) {
	rows := make([]row, 100)
	for i := range rows {
		rows[i].Text = "x"
	}
	rows[50].Bad = true
	l := most()
	l.rows = 10
	got := wire{limits: l}.bounded(rows)
	if len(got) != 10+3 || got[6].Text != "44 events" || !got[7].Bad || got[8].Text != "45 events" {
		t.Errorf("%d rows: %+v", len(got), got)
	}
}

func TestDirectionsAreSeenFromTheSubject(t *testing.T) {
	for _, c := range []struct{ by, stream, request, response string }{
		{"fakeruntime", transcript.Post, toSubject, fromSubject},
		{"fakeruntime", transcript.Memory, fromSubject, toSubject},
		{"fakehandler", transcript.Post, fromSubject, toSubject},
		{"fakehandler", transcript.Objects, toSubject, fromSubject},
	} {
		tr := &transcript.Transcript{By: c.by}
		got := []string{
			direction(tr, &transcript.Event{Kind: transcript.Request, Stream: c.stream}),
			direction(tr, &transcript.Event{Kind: transcript.Response, Stream: c.stream}),
		}
		if diff := cmp.Diff([]string{c.request, c.response}, got); diff != "" {
			t.Errorf("%s on %s (-want +got):\n%s", c.by, c.stream, diff)
		}
	}
}

func TestAFloodShowsItsEndAndHowMuchIsMissing(t *testing.T) {
	event := func(kind transcript.Kind, stream, data string, count int64) transcript.Event {
		return transcript.Event{Kind: kind, Stream: stream, Data: transcript.Bytes(data), Count: count}
	}
	show := func(events ...transcript.Event) invocation {
		return wire{limits: levels()[0]}.invocation(&result.Invocation{Transcript: transcript.Transcript{Transport: "subprocess", Events: events}}, 1, 1, 1)
	}
	text := func(r raw) (all string) {
		for _, s := range r.Bytes {
			all += s.Text
		}
		return all
	}
	got := show(
		event(transcript.Received, transcript.Stdout, "{\"name\":\"HEAD\"}\n", 0),
		event(transcript.Left, transcript.Stdout, "TAIL\n", 1000),
		event(transcript.Received, transcript.Stderr, "head\n", 0),
		event(transcript.Left, transcript.Stderr, "tail\n", 2000))
	require.Equal(t, "tail", got.Stderr.Text)
	require.Equal(t, "2005 bytes, of which 1995 were not recorded; this is the end, and more is in the evidence", got.Stderr.Title)
	require.Len(t, got.Raw, 2)
	require.Contains(t, text(got.Raw[0]), "… 995 further bytes were not recorded")
	require.Equal(t, "stdout, the last 5 bytes", got.Raw[1].Title)
	require.Contains(t, text(got.Raw[1]), "TAIL.")
	rows := ""
	for _, r := range got.Rows {
		rows += r.What + ": " + r.Text + "\n"
	}
	require.Contains(t, rows, "stdout: 1000 further bytes, of which the last 5 were recorded\n")
	require.NotContains(t, rows, "TAIL", "what has a hole before it is no record")

	// What meets the head is one with it.
	got = show(event(transcript.Received, transcript.Stderr, "head ", 0), event(transcript.Left, transcript.Stderr, "tail\n", 5))
	require.Equal(t, "head tail", got.Stderr.Text)
	require.Equal(t, "10 bytes", got.Stderr.Title)
}
