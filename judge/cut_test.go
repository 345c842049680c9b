package judge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// behind is bytes of a stream past what a recorder keeps of its head.
func behind(stream string, count int64, end string) transcript.Event {
	return transcript.Event{Kind: transcript.Left, Stream: stream, Count: count, Data: transcript.Bytes(end)}
}

func TestWhatStderrEndsWithIsItsEnd(t *testing.T) {
	s := registry(t)
	exit := func(mods ...func(*result.Invocation)) result.Case {
		mods = append(mods, ended(transcript.Ended{How: transcript.HowExit, Code: 1}))
		return New(s).Judge(parse(t, s, "handler/x/write.yaml", writeCase), evidence(invoked("main", goodOutput, mods...)))
	}
	head := stderr(strings.Repeat("HEAD\n", 1000))
	for name, c := range map[string]struct {
		got  result.Case
		want string
	}{
		"whole":              {exit(head), `; stderr ends with "HEAD"`},
		"a flood":            {exit(head, saw(behind(transcript.Stderr, 5000, "IDDLE\nTAIL\n"))), `; stderr ends with "TAIL"`},
		"its end is unknown": {exit(head, saw(behind(transcript.Stderr, 5000, ""))), `; what stderr ends with is not recorded`},
		"its end meets":      {exit(head, saw(behind(transcript.Stderr, 5, "TAIL\n"))), `; stderr ends with "TAIL"`},
	} {
		require.Contains(t, all(c.got), "exited with status 1"+c.want, name)
		if name != "whole" {
			require.NotContains(t, all(c.got), "HEAD", name)
		}
	}
}

func TestAFloodOfStderrIsNotSaidToLackWhatMayStandInTheMiddle(t *testing.T) {
	judged := func(mods ...func(*result.Invocation)) outcome {
		inv := invoked("main", goodOutput, mods...)
		return checkStderr("needle", view(&inv, ""))
	}
	hay := stderr("hay hay")
	require.Equal(t, result.Fail, judged(hay).verdict)
	require.Equal(t, result.Pass, judged(stderr("needle"), saw(behind(transcript.Stderr, 50, "hay"))).verdict)
	require.Equal(t, result.Pass, judged(hay, saw(behind(transcript.Stderr, 50, "needle"))).verdict)
	require.Equal(t, result.Pass, judged(stderr("nee"), saw(behind(transcript.Stderr, 3, "dle"))).verdict)
	o := judged(hay, saw(behind(transcript.Stderr, 50, "hay")))
	require.Equal(t, result.NotRun, o.verdict)
	require.Equal(t, "not all of stderr is recorded, and what is does not contain it", o.got)
}

// What the head of a stream breaks is broken whatever came behind it.
func TestAHeadThatBreaksARuleFailsThoughItsEndIsMissing(t *testing.T) {
	s := registry(t)
	got := New(s).Judge(parse(t, s, "handler/x/write.yaml", writeCase),
		evidence(invoked("main", "\xef\xbb\xbf"+goodOutput, saw(behind(transcript.Stdout, 50, "x")))))
	require.Equal(t, result.Fail, got.Verdict)
	require.Equal(t, []string{"always/no-bom: fail", "exit: not-run", "outputs: not-run"}, tells(got))
}

func TestARuntimeIsNotJudgedByWhatWasNotRecorded(t *testing.T) {
	s := registry(t)
	cut := func(stream string) func(*result.Evidence) {
		return func(e *result.Evidence) {
			events := e.Invocations[0].Transcript.Events
			e.Invocations[0].Transcript.Events = append(events[:2:2], append([]transcript.Event{behind(stream, 50, "x")}, events[2:]...)...)
		}
	}
	for _, expect := range []string{
		"{fed: {lifecycle: start}}", "{fed: {memory-first: true}}", "{fed: {object-urls: true}}", "{fed: {entries: []}}",
		"{fed: {fetched: []}}", "{fed: {stream: [utf8]}}",
	} {
		got := New(s).Judge(looseRuntime(t, expect), fedWith(goodFed, cut(transcript.Stdin)))
		require.Equal(t, result.NotTestable, got.Verdict, expect)
		require.Contains(t, all(got), "not all of it is recorded", expect)
	}
	got := New(s).Judge(looseRuntime(t, "{fed: {input-closed: true}}"), fedWith(goodFed, cut(transcript.Stdin)))
	require.Equal(t, result.Pass, got.Verdict, "that the input was closed was seen")
	got = New(s).Judge(looseRuntime(t, "{fed: {object-urls: true}}"), fedWith(goodFed, cut(transcript.Objects)))
	require.Equal(t, result.NotTestable, got.Verdict)
}
