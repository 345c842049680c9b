package protocol_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

func TestARecordIsDeliveredWithItsClosingBrace(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	d := protocol.NewInputDecoder(r)
	for _, record := range []string{`{"event":"memory"}`, "\n{\n}", `{"name":"a","x":{"y":[1]}}`, `{"event":"start"}`} {
		written := make(chan error, 1)
		go func() {
			_, err := io.WriteString(w, record)
			written <- err
		}()
		rec, err := nextWithin(t, d, 10*time.Second)
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(record), string(rec.Raw))
		require.NoError(t, <-written)
	}
}

func TestAFaultIsReportedBeforeTheStreamEnds(t *testing.T) {
	for _, stream := range []string{"starting", `{"name":x`, "\xEF\xBB\xBF", `{"a":1,"a"`, `["x"]`} {
		r, w := io.Pipe()
		go io.WriteString(w, stream)
		_, err := nextWithin(t, protocol.NewInputDecoder(r), 10*time.Second)
		var fault *protocol.SyntaxError
		require.ErrorAs(t, err, &fault, stream)
		require.NoError(t, r.Close())
	}
}

// nextWithin fails the test when the decoder waits for more than it was given.
func nextWithin(t *testing.T, d *protocol.Decoder[protocol.Input], limit time.Duration) (protocol.Record[protocol.Input], error) {
	t.Helper()
	type answer struct {
		rec protocol.Record[protocol.Input]
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		rec, err := d.Next()
		answers <- answer{rec, err}
	}()
	select {
	case a := <-answers:
		return a.rec, a.err
	case <-time.After(limit):
		require.FailNow(t, "the decoder waits for bytes that it does not need")
		panic("unreachable")
	}
}

func TestAnErrorOfTheReaderIsNoFaultOfTheStream(t *testing.T) {
	for _, test := range []struct {
		name, before string
		offset       int64
		record       int
	}{
		{"before any record", "", 0, 1},
		{"between records", "{}\n", 3, 2},
		{"within a record", `{}{"name":"a`, 12, 2},
		{"within a value that is no object", `{} [1,`, 6, 2},
		{"within a mark", "\xEF\xBB", 2, 1},
	} {
		// An error that looks like an end must not pass for one.
		for _, cause := range []error{errors.New("connection reset"), io.ErrUnexpectedEOF, os.ErrDeadlineExceeded} {
			t.Run(test.name+": "+cause.Error(), func(t *testing.T) {
				d := protocol.NewOutputDecoder(io.MultiReader(strings.NewReader(test.before), iotest.ErrReader(cause)))
				var err error
				for err == nil {
					_, err = d.Next()
				}
				var fault *protocol.ReadError
				require.ErrorAs(t, err, &fault)
				require.Equal(t, protocol.ReadError{Offset: test.offset, Record: test.record, Err: cause}, *fault)
				var syntax *protocol.SyntaxError
				require.False(t, errors.As(err, &syntax))
				_, again := d.Next()
				require.Equal(t, err, again)
			})
		}
	}
}

func TestBytesThatComeWithAnErrorAreRead(t *testing.T) {
	cause := errors.New("reset")
	d := protocol.NewOutputDecoder(iotest.DataErrReader(io.MultiReader(strings.NewReader(`{"name":"a"}`), iotest.ErrReader(cause))))
	rec, err := d.Next()
	require.NoError(t, err)
	require.Equal(t, "a", rec.Value.Name)
	_, err = d.Next()
	require.ErrorIs(t, err, cause)
}

// together gives its last bytes and an error in one read, which io.Reader allows.
type together struct {
	text  string
	cause error
}

func (r *together) Read(p []byte) (int, error) {
	n := copy(p, r.text)
	r.text = r.text[n:]
	if r.text != "" {
		return n, nil
	}
	return n, r.cause
}

func TestAFaultInTheLastBytesIsAFaultOfTheStream(t *testing.T) {
	cause := errors.New("reset")
	// The long texts reach the reader past the buffer in between.
	for _, name := range []string{"a", strings.Repeat("a", 300<<10), strings.Repeat("a", 3<<20)} {
		_, err := protocol.NewOutputDecoder(&together{`{"name":"` + name + `"x`, cause}).Next()
		var syntax *protocol.SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.Equal(t, protocol.KindSyntax, syntax.Kind)
		_, err = protocol.NewOutputDecoder(&together{`{"name":"` + name, cause}).Next()
		require.ErrorIs(t, err, cause)
		d := protocol.NewOutputDecoder(&together{`{"name":"` + name + `"}`, cause})
		_, err = d.Next()
		require.NoError(t, err)
		_, err = d.Next()
		require.ErrorIs(t, err, cause)
	}
}

type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

func TestAReaderThatGivesNothingIsAnError(t *testing.T) {
	for _, before := range []string{"", `{"name"`} {
		_, err := protocol.NewOutputDecoder(io.MultiReader(strings.NewReader(before), stuckReader{})).Next()
		require.ErrorIs(t, err, io.ErrNoProgress)
	}
}

// repeated reads as a text, over and over, n bytes in all.
type repeated struct {
	text string
	n    int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && r.n > 0 {
		m := copy(p[n:], r.text[:min(len(r.text), r.n)])
		n, r.n = n+m, r.n-m
	}
	return n, nil
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLargeRecordsCostMemoryInProportion(t *testing.T) {
	for _, size := range []int{1 << 20, 64 << 20} {
		var rec protocol.Record[protocol.Output]
		var err error
		var rest protocol.Record[protocol.Output]
		used := allocated(func() {
			d := protocol.NewOutputDecoder(io.MultiReader(strings.NewReader(`{} {"data":"`),
				&repeated{text: strings.Repeat("QUJD", 1024), n: size}, strings.NewReader("\"}\n{\"name\":\"b\"}\n")))
			_, err = d.Next()
			require.NoError(t, err)
			rec, err = d.Next()
			require.NoError(t, err)
			rest, err = d.Next()
			require.NoError(t, err)
			_, err = d.Next()
		})
		require.Equal(t, io.EOF, err)
		require.Len(t, rec.Value.Data, size/4*3)
		require.True(t, bytes.HasPrefix(rec.Value.Data, []byte("ABCABC")))
		require.Len(t, rec.Raw, size+11)
		require.Equal(t, "b", rest.Value.Name)
		require.Equal(t, int64(3+size+11+1), rest.Offset)
		// The buffer doubles (at most four times the size in all), Raw and Data follow.
		require.Less(t, used, uint64(7*size), "bytes allocated for a record of %d", size)
	}
}

func TestALargeRecordIsNotHeldOnTo(t *testing.T) {
	const size = 16 << 20
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	d := protocol.NewOutputDecoder(io.MultiReader(strings.NewReader(`{"name":"`),
		&repeated{text: strings.Repeat("x", 1024), n: size}, strings.NewReader(`"}{"name":"b"}`)))
	rec, err := d.Next()
	require.NoError(t, err)
	require.Len(t, rec.Value.Name, size)
	rec, err = d.Next()
	require.NoError(t, err)
	require.Equal(t, "b", rec.Value.Name)
	require.Less(t, heap(), before+size/2)
	_, err = d.Next()
	require.Equal(t, io.EOF, err)
}

func TestWhitespaceIsNotKept(t *testing.T) {
	const size = 64 << 20
	used := allocated(func() {
		d := protocol.NewOutputDecoder(io.MultiReader(strings.NewReader("{}"),
			&repeated{text: strings.Repeat(" \n\t\r", 1024), n: size}, strings.NewReader(`{"name":"b"}`)))
		_, err := d.Next()
		require.NoError(t, err)
		rec, err := d.Next()
		require.NoError(t, err)
		require.Equal(t, int64(size+2), rec.Offset)
	})
	require.Less(t, used, uint64(1<<20))
}

func TestRawBelongsToTheCaller(t *testing.T) {
	d := protocol.NewOutputDecoder(strings.NewReader(`{"name":"a"}{"name":"b"}`))
	first, err := d.Next()
	require.NoError(t, err)
	second, err := d.Next()
	require.NoError(t, err)
	copy(second.Raw, "XXXX")
	_, err = d.Next()
	require.Equal(t, io.EOF, err)
	require.Equal(t, `{"name":"a"}`, string(first.Raw))
}
