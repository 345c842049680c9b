package transcript

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var timeless = cmpopts.IgnoreFields(Event{}, "At")

func received(stream, data string) Event {
	return Event{Kind: Received, Stream: stream, Data: Bytes(data)}
}

// ofLimits is a recorder that keeps few bytes.
func ofLimits(sink func(Event)) *Recorder { return &Recorder{Limit: 5, Tail: 3, Sink: sink} }

func TestOfALongStreamHeadEndAndCountAreKept(t *testing.T) {
	r := ofLimits(nil)
	for _, part := range []string{"abc", "defg", "hi", "jklmnopqrst", "u"} {
		r.Add(received(Stderr, part))
	}
	r.Add(received(Stdout, "other"))
	got := r.Transcript("x", "subprocess")
	want := []Event{
		received(Stderr, "abc"), received(Stderr, "de"),
		{Kind: Left, Stream: Stderr, Data: Bytes("stu"), Count: 16},
		received(Stdout, "other"),
	}
	if diff := cmp.Diff(want, got.Events, timeless); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	data, left := got.Stream(Stderr)
	require.Equal(t, "abcde", string(data))
	require.EqualValues(t, 16, left)
	require.Equal(t, "stu", string(got.Tail(Stderr)))
	require.EqualValues(t, 13, got.Missing(Stderr))
	data, left = got.Outputs()
	require.Equal(t, "other", string(data))
	require.Zero(t, left)
	require.Empty(t, got.Tail(Stdout))
	require.Zero(t, got.Missing(Stdout))
}

func TestAStreamWhoseEndMeetsItsHeadIsWhole(t *testing.T) {
	r := ofLimits(nil)
	r.Add(received(Stdout, "abcdefgh"))
	got := r.Transcript("x", "subprocess")
	data, left := got.Stream(Stdout)
	require.Equal(t, "abcdefgh", string(data))
	require.Zero(t, left)
	require.Empty(t, got.Tail(Stdout))
	r.Add(received(Stdout, "i"))
	data, left = r.Transcript("x", "subprocess").clone().Stream(Stdout)
	require.Equal(t, "abcde", string(data))
	require.EqualValues(t, 4, left)
	// What was handed out before has not changed.
	require.Equal(t, Bytes("fgh"), got.Events[1].Data)
}

// clone makes a transcript addressable.
func (t Transcript) clone() *Transcript { return &t }

func TestAnEventThatSaysMoreThanItsBytesIsNotLost(t *testing.T) {
	r := ofLimits(nil)
	answer := func(n int, data string) Event {
		return Event{Kind: Response, Stream: Objects, HTTP: &HTTP{Exchange: n, Status: 200}, Data: Bytes(data)}
	}
	r.Add(answer(1, "abcdef"))
	r.Add(answer(2, "ghi"))
	want := []Event{answer(1, "abcde"), {Kind: Left, Stream: Objects, Data: Bytes("ghi"), Count: 4}, answer(2, "")}
	if diff := cmp.Diff(want, r.Transcript("x", "rpc").Events, timeless, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// What the sink got is the same stream as what the recorder has, once it was closed.
func TestTheSinkHasHeadEndAndCountToo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var sunk Transcript
		r := ofLimits(func(e Event) { sunk.Events = append(sunk.Events, e) })
		var all string
		for i := range rapid.IntRange(0, 12).Draw(rt, "parts") {
			part := strings.Repeat(string(rune('a'+i)), rapid.IntRange(1, 9).Draw(rt, "bytes"))
			all += part
			r.Add(received(Stdin, part))
		}
		r.Add(Event{Kind: Closed, Stream: Stdin})
		own := r.Transcript("x", "subprocess")
		for _, got := range []*Transcript{&own, &sunk} {
			data, left := got.Stream(Stdin)
			require.EqualValues(rt, len(all), int64(len(data))+left)
			require.True(rt, strings.HasPrefix(all, string(data)))
			if len(all) <= 8 {
				require.Equal(rt, all, string(data))
				continue
			}
			require.Equal(rt, all[:5], string(data))
			require.Equal(rt, all[len(all)-3:], string(got.Tail(Stdin)))
			require.EqualValues(rt, len(all)-8, got.Missing(Stdin))
		}
		require.Equal(rt, Closed, sunk.Events[len(sunk.Events)-1].Kind)
	})
}

func TestTheMemoryOfAFloodIsBounded(t *testing.T) {
	r := &Recorder{}
	part := Event{Kind: Received, Stream: Stderr, Data: make(Bytes, 1<<20)}
	for range 200 {
		r.Add(part)
	}
	require.LessOrEqual(t, cap(r.left[Stderr].last), 3*DefaultTail)
	got := r.Transcript("x", "rpc")
	require.Len(t, got.Tail(Stderr), DefaultTail)
	require.EqualValues(t, 200<<20-DefaultLimit-DefaultTail, got.Missing(Stderr))
}
