package protocol_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

func TestEncode(t *testing.T) {
	for _, test := range []struct {
		name   string
		record protocol.Encodable
		want   string
	}{
		{"empty", protocol.Input{}, "{}"},
		{"zero values are omitted", protocol.Output{Data: []byte{}, Metadata: map[string]string{}}, "{}"},
		{"every field of an Input", protocol.Input{Event: "push", URL: "http://h/", Size: 9007199254740993, ContentType: "a/b",
			ContentEncoding: "gzip", SchemaURL: "s", Name: "n", Metadata: map[string]string{"b": "2", "a": "1"}, Data: []byte("f")},
			`{"event":"push","url":"http://h/","size":9007199254740993,"content-type":"a/b","content-encoding":"gzip","schema-url":"s","name":"n","metadata":{"a":"1","b":"2"},"data":"Zg=="}`},
		{"every field of an Output", protocol.Output{URI: "u", Data: []byte{0xfb, 0xef, 0xff}, ContentType: "a/b",
			ContentEncoding: "zstd", SchemaURL: "s", Name: "n", Metadata: map[string]string{"": ""}, Fork: true, Session: "x"},
			`{"uri":"u","data":"++//","content-type":"a/b","content-encoding":"zstd","schema-url":"s","name":"n","metadata":{"":""},"fork":true,"session":"x"}`},
		{"HTML is not escaped", protocol.Output{Name: "<&>"}, `{"name":"<&>"}`},
		{"what must be escaped is", protocol.Output{Name: "\"\\\n\x00é😀"}, `{"name":"\"\\\n\u0000é😀"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var buf bytes.Buffer
			require.NoError(t, protocol.NewEncoder(&buf).Encode(test.record))
			if diff := cmp.Diff(test.want+"\n", buf.String()); diff != "" {
				t.Errorf("encoded (-want +got):\n%s", diff)
			}
			var got []byte
			var err error
			switch record := test.record.(type) {
			case protocol.Input:
				got, err = protocol.AppendInput([]byte("x"), record)
			case protocol.Output:
				got, err = protocol.AppendOutput([]byte("x"), record)
			}
			require.NoError(t, err)
			require.Equal(t, "x"+test.want, string(got))
		})
	}
}

func TestInvalidUTF8IsRefusedBeforeAnythingIsWritten(t *testing.T) {
	for _, record := range []protocol.Encodable{
		protocol.Output{Name: "\xff"}, protocol.Output{Metadata: map[string]string{"k": "\xff"}},
		protocol.Output{Metadata: map[string]string{"\xff": "v"}}, protocol.Input{Event: "\xed\xa0\x80"},
	} {
		var buf bytes.Buffer
		e := protocol.NewEncoder(&buf)
		require.ErrorIs(t, e.Encode(record), protocol.ErrInvalidUTF8)
		require.Empty(t, buf.Bytes())
		require.NoError(t, e.Encode(protocol.Output{Name: "ok"}))
		require.Equal(t, "{\"name\":\"ok\"}\n", buf.String())
	}
	got, err := protocol.AppendOutput([]byte("x"), protocol.Output{Name: "\xff"})
	require.ErrorIs(t, err, protocol.ErrInvalidUTF8)
	require.Equal(t, "x", string(got))
}

// writes keeps what each Write brought.
type writes [][]byte

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, bytes.Clone(p))
	return len(p), nil
}

func TestLargeDataIsStreamed(t *testing.T) {
	for _, size := range []int{24 << 10, 24<<10 + 1, 72 << 10, 100_001} {
		data := bytes.Repeat([]byte{0xfb, 0xef, 0xff, 7, 0}, size/5+1)[:size]
		var w writes
		require.NoError(t, protocol.NewEncoder(&w).Encode(protocol.Output{URI: "u", Data: data, Name: "n"}))
		if size == 24<<10 {
			require.Len(t, w, 1)
		} else {
			require.Greater(t, len(w), 2)
		}
		for _, piece := range w {
			require.LessOrEqual(t, len(piece), 33<<10)
		}
		want := `{"uri":"u","data":"` + base64.StdEncoding.EncodeToString(data) + "\",\"name\":\"n\"}\n"
		require.True(t, want == string(bytes.Join(w, nil)), "size %d", size)
		whole, err := protocol.AppendOutput(nil, protocol.Output{URI: "u", Data: data, Name: "n"})
		require.NoError(t, err)
		require.True(t, want == string(whole)+"\n", "size %d", size)
	}
}

func TestLargeDataIsNotHeldEncoded(t *testing.T) {
	record := protocol.Output{Data: make([]byte, 16<<20)}
	var n discard
	used := allocated(func() { require.NoError(t, protocol.NewEncoder(&n).Encode(record)) })
	require.Less(t, used, uint64(1<<20))
	require.Equal(t, discard((16<<20+2)/3*4+len("{\"data\":\"\"}\n")), n)
}

type discard int

func (d *discard) Write(p []byte) (int, error) { *d += discard(len(p)); return len(p), nil }

// failAfter takes so many writes, then fails.
type failAfter struct {
	left  int
	cause error
}

func (w *failAfter) Write(p []byte) (int, error) {
	if w.left == 0 {
		return 0, w.cause
	}
	w.left--
	return len(p), nil
}

func TestAnErrorOfTheWriterIsFinal(t *testing.T) {
	cause := errors.New("broken pipe")
	for left := range 4 {
		w := &failAfter{left: left, cause: cause}
		e := protocol.NewEncoder(w)
		err := e.Encode(protocol.Output{Data: make([]byte, 48<<10)}) // four writes
		require.ErrorIs(t, err, cause)
		w.left = 100
		require.Equal(t, err, e.Encode(protocol.Output{}))
		require.Equal(t, 100, w.left)
	}
}

func TestIsZeroNeedsEveryFieldEmpty(t *testing.T) {
	require.True(t, protocol.Input{Data: []byte{}, Metadata: map[string]string{}}.IsZero())
	require.True(t, protocol.Output{Data: []byte{}, Metadata: map[string]string{}}.IsZero())
	for _, in := range []protocol.Input{{Event: "x"}, {URL: "x"}, {Size: 1}, {ContentType: "x"}, {ContentEncoding: "x"},
		{SchemaURL: "x"}, {Name: "x"}, {Metadata: map[string]string{"": ""}}, {Data: []byte{0}}} {
		require.False(t, in.IsZero(), "%+v", in)
	}
	for _, out := range []protocol.Output{{URI: "x"}, {Data: []byte{0}}, {ContentType: "x"}, {ContentEncoding: "x"}, {SchemaURL: "x"},
		{Name: "x"}, {Metadata: map[string]string{"": ""}}, {Fork: true}, {Session: "x"}} {
		require.False(t, out.IsZero(), "%+v", out)
	}
}

func TestEncodedRecordsAreOneStream(t *testing.T) {
	var buf strings.Builder
	e := protocol.NewEncoder(&buf)
	require.NoError(t, e.Encode(protocol.Input{Event: protocol.EventMemory}))
	require.NoError(t, e.Encode(protocol.Input{}))
	require.Equal(t, "{\"event\":\"memory\"}\n{}\n", buf.String())
}
