package fakehandler

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/transcript"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestALastLineCutShortIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	rec, err := newRecord(dir, "rpc")
	require.NoError(t, err)
	rec.sent(transcript.Answer, []byte{0xff, 'a'})
	rec.note("second")
	require.NoError(t, rec.close())
	whole, err := os.ReadFile(recordPath(dir, 1))
	require.NoError(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	require.Len(t, lines, 4, "a head, two events, and nothing after the last line end")
	for cut := range whole {
		require.NoError(t, os.WriteFile(recordPath(dir, 1), whole[:cut], 0o666))
		all, err := ReadRecords(dir)
		require.NoError(t, err, "cut after %d bytes", cut)
		require.Len(t, all, 1)
		require.Equal(t, "fakehandler", all[0].By)
		want := 0
		if cut >= len(lines[0])+len(lines[1]) {
			want = 1
			require.Equal(t, transcript.Bytes{0xff, 'a'}, all[0].Events[0].Data)
			require.Equal(t, "rpc", all[0].Transport)
		}
		require.Len(t, all[0].Events, want)
	}
}

func TestTheNextNumberIsTheFirstFreeOne(t *testing.T) {
	dir := t.TempDir()
	for n := 1; n <= 70; n++ {
		require.Equal(t, n, firstFree(dir))
		rec, err := newRecord(dir, "http")
		require.NoError(t, err)
		require.Equal(t, n, rec.number)
		require.NoError(t, rec.close())
	}
}

func TestAFaultyLineInTheMiddleIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(recordPath(dir, 7), []byte("{\"by\":\"fakehandler\"}\nx\n{}\n"), 0o666))
	_, err := ReadRecords(dir)
	require.ErrorContains(t, err, "invocation-000007.jsonl:2")
}

func TestWhatPassesTheLimitIsCounted(t *testing.T) {
	dir := t.TempDir()
	rec, err := newRecord(dir, "subprocess")
	require.NoError(t, err)
	block := bytes.Repeat([]byte("a"), recordLimit/2+1)
	for range 3 {
		rec.sent(transcript.Stdout, block)
	}
	rec.sent(transcript.Stdout, []byte("abc"))
	require.NoError(t, rec.close())
	all, err := ReadRecords(dir)
	require.NoError(t, err)
	data, left := all[0].Outputs()
	require.Len(t, data, recordLimit)
	require.Equal(t, int64(3*len(block)-recordLimit+3), left)
}

func TestArgumentsAreQuotedForAShell(t *testing.T) {
	requireDiff(t, "quoted", `a '' 'b c' 'it'\''s' 'é' --x=/y`, quoteArgs([]string{"a", "", "b c", "it's", "é", "--x=/y"}))
}
