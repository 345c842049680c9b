package process

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestCaptureKeepsHeadAndTail(t *testing.T) {
	for _, test := range []struct {
		name   string
		limit  int
		writes []string
		want   Captured
		text   string
	}{
		{"nothing", 10, nil, Captured{}, ""},
		{"less than the limit", 10, []string{"abc", "def"}, Captured{Head: []byte("abcdef")}, "abcdef"},
		{"just the limit", 6, []string{"abcd", "ef"}, Captured{Head: []byte("abcdef")}, "abcdef"},
		{"one more", 6, []string{"abcdefg"}, Captured{Head: []byte("abc"), Tail: []byte("efg"), LeftOut: 1}, "abc\n[... 1 bytes left out ...]\nefg"},
		{"in one piece", 6, []string{"0123456789"}, Captured{Head: []byte("012"), Tail: []byte("789"), LeftOut: 4}, "012\n[... 4 bytes left out ...]\n789"},
		{"byte by byte", 6, strings.Split("0123456789", ""), Captured{Head: []byte("012"), Tail: []byte("789"), LeftOut: 4}, "012\n[... 4 bytes left out ...]\n789"},
		{"twos over the ring's end", 6, []string{"01", "23", "45", "67", "89"}, Captured{Head: []byte("012"), Tail: []byte("789"), LeftOut: 4}, "012\n[... 4 bytes left out ...]\n789"},
		{"a limit that is odd", 5, []string{"0123456789"}, Captured{Head: []byte("01"), Tail: []byte("789"), LeftOut: 5}, "01\n[... 5 bytes left out ...]\n789"},
		{"a limit of one", 1, []string{"01", "2"}, Captured{Tail: []byte("2"), LeftOut: 2}, "\n[... 2 bytes left out ...]\n2"},
		// é is C3 A9, € is E2 82 AC.
		{"cut in a character of the head", 6, []string{"ab\u00e9cdefg"}, Captured{Head: []byte("ab"), Tail: []byte("efg"), LeftOut: 4}, "ab\n[... 4 bytes left out ...]\nefg"},
		{"cut in a character of the tail", 6, []string{"abcd\u20acf"}, Captured{Head: []byte("abc"), Tail: []byte("f"), LeftOut: 4}, "abc\n[... 4 bytes left out ...]\nf"},
		{"cut at a border", 6, []string{"a\u00e9xx\u20ac"}, Captured{Head: []byte("a\u00e9"), Tail: []byte("\u20ac"), LeftOut: 2}, "a\u00e9\n[... 2 bytes left out ...]\n\u20ac"},
		{"bytes that are no UTF-8", 6, []string{"a\xff\xfe----\xfe\xffz"}, Captured{Head: []byte("a\xff\xfe"), Tail: []byte("\xfe\xffz"), LeftOut: 4}, "a\xff\xfe\n[... 4 bytes left out ...]\n\xfe\xffz"},
		{"a character whole, its halves on both sides of the middle", 4, []string{"a\u20ac"}, Captured{Head: []byte("a\u20ac")}, "a\u20ac"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Capture{Limit: test.limit}
			var total int64
			for _, w := range test.writes {
				n, err := c.Write([]byte(w))
				require.NoError(t, err)
				require.Equal(t, len(w), n)
				total += int64(n)
			}
			got := c.Captured()
			if diff := cmp.Diff(fmt.Sprintf("%q", test.want), fmt.Sprintf("%q", got)); diff != "" {
				t.Error("(-want +got)", diff)
			}
			if diff := cmp.Diff(test.text, c.String()); diff != "" {
				t.Error("(-want +got)", diff)
			}
			require.Equal(t, total, c.Total())
			require.Equal(t, total, got.LeftOut+int64(len(got.Head)+len(got.Tail)), "nothing is unaccounted for")
		})
	}
}

func TestCaptureIsBounded(t *testing.T) {
	var c Capture
	block := []byte(strings.Repeat("x", 1<<20))
	for range 50 { // F45
		c.Write(block)
	}
	got := c.Captured()
	require.Equal(t, int64(50<<20), c.Total())
	require.Equal(t, DefaultCapture, len(got.Head)+len(got.Tail))
	require.Equal(t, int64(50<<20-DefaultCapture), got.LeftOut)
	require.LessOrEqual(t, cap(c.head)+cap(c.tail), 2*DefaultCapture, "memory")
}

func TestCaptureGivesCopies(t *testing.T) {
	c := Capture{Limit: 4}
	c.Write([]byte("ab"))
	first := c.Captured()
	first.Head[0] = 'z'
	c.Write([]byte("cd"))
	require.Equal(t, "abcd", c.String())
}

func TestCaptureTakesManyWriters(t *testing.T) {
	c := Capture{Limit: 100}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 100 {
				c.Write([]byte("0123456789"))
				_ = c.String()
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(10000), c.Total())
	got := c.Captured()
	// Every write is taken whole, so the pieces are whole too.
	require.Equal(t, strings.Repeat("0123456789", 5), string(got.Head))
	require.Equal(t, strings.Repeat("0123456789", 5), string(got.Tail))
}
