package fakehandler

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/transcript"
)

func TestTheRecordOfALongInputHasHeadEndAndCount(t *testing.T) {
	folder := t.TempDir()
	r, err := newRecord(folder, "subprocess")
	require.NoError(t, err)
	r.Limit, r.Tail = 5, 3
	for _, part := range []string{"abcd", "efgh", "ijkl"} {
		r.Add(transcript.Event{Kind: transcript.Received, Stream: transcript.Stdin, Data: transcript.Bytes(part)})
	}
	r.closed(transcript.Stdin, "by the peer")
	require.NoError(t, r.close())
	all, err := ReadRecords(folder)
	require.NoError(t, err)
	data, left := all[0].Stream(transcript.Stdin)
	require.Equal(t, "abcde", string(data))
	require.EqualValues(t, 7, left)
	require.Equal(t, "jkl", string(all[0].Tail(transcript.Stdin)))
	kinds := ""
	for _, e := range all[0].Events {
		kinds += string(e.Kind) + " "
	}
	require.Equal(t, "received received left closed", strings.TrimSpace(kinds))
}
