package result

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/transcript"
)

// flooded is what a recorder of small limits has of a stream that came in parts.
func flooded(limit, tail int64, parts ...string) *Evidence {
	r := &transcript.Recorder{Limit: limit, Tail: tail}
	for _, part := range parts {
		r.Add(transcript.Event{Kind: transcript.Received, Stream: transcript.Stderr, Data: transcript.Bytes(part)})
	}
	return &Evidence{Invocations: []Invocation{{Transcript: r.Transcript("fakeruntime", "subprocess")}}}
}

func TestTheEndOfAStreamIsMasked(t *testing.T) {
	const secret = "hunter2hunter2"
	mask := NewMask([]Secret{{"TOKEN", secret}})
	e := flooded(100<<10, 200<<10, strings.Repeat("x", 500<<10), "it is "+secret+", "+secret+".\n")
	out := mask.Evidence(e)
	require.Equal(t, []string{"TOKEN"}, out.Masked)
	got := &out.Invocations[0].Transcript
	require.True(t, bytes.HasSuffix(got.Tail(transcript.Stderr), []byte("xit is [masked TOKEN], [masked TOKEN].\n")))
	data, left := got.Stream(transcript.Stderr)
	require.Equal(t, strings.Repeat("x", 36<<10), string(data), "what may be a part of a value is taken out")
	// Of what was not recorded there is as much as before, and what was taken out.
	require.EqualValues(t, 200<<10+len("it is "+secret+", "+secret+".\n")+64<<10+64<<10, got.Missing(transcript.Stderr))
	require.Greater(t, left, int64(len(got.Tail(transcript.Stderr))))
}

func TestAValueAcrossHeadAndEndIsMasked(t *testing.T) {
	const secret = "hunter2hunter2"
	mask := NewMask([]Secret{{"TOKEN", secret}})
	for limit := int64(1); limit < 20; limit++ {
		out := mask.Evidence(flooded(limit, 100, "abc"+secret, "def"))
		require.Equal(t, []string{"TOKEN"}, out.Masked)
		data, left := out.Invocations[0].Transcript.Stream(transcript.Stderr)
		require.Equal(t, "abc[masked TOKEN]def", string(data), limit)
		require.Zero(t, left, limit)
	}
}

func TestAPartOfAValueBesideWhatWasNotRecordedIsTakenOut(t *testing.T) {
	const secret = "hunter2hunter2"
	mask := NewMask([]Secret{{"TOKEN", secret}})
	// Head and end are cut in the middle of the value.
	e := flooded(100<<10+7, 100<<10+7, strings.Repeat("a", 100<<10)+secret, strings.Repeat("b", 300<<10), secret+strings.Repeat("c", 100<<10-len(secret))+secret)
	before := &e.Invocations[0].Transcript
	data, _ := before.Stream(transcript.Stderr)
	require.True(t, bytes.HasSuffix(data, []byte("hunter2")))
	require.True(t, bytes.HasPrefix(before.Tail(transcript.Stderr), []byte("hunter2cc")))
	out := &mask.Evidence(e).Invocations[0].Transcript
	data, _ = out.Stream(transcript.Stderr)
	require.NotContains(t, string(data)+string(out.Tail(transcript.Stderr)), "hunter")
	require.True(t, bytes.HasSuffix(out.Tail(transcript.Stderr), []byte("c[masked TOKEN]")))
}
