package protocol_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

// benchmarkRecords is how many records a benchmark's stream has.
const benchmarkRecords = 100_000

func benchmarkStream(b *testing.B) []byte {
	b.Helper()
	var stream bytes.Buffer
	e := protocol.NewEncoder(&stream)
	for i := range benchmarkRecords {
		require.NoError(b, e.Encode(protocol.Input{
			URL:  "http://127.0.0.1:40000/sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
			Size: 44, ContentType: "application/json", Name: fmt.Sprintf("entry-%d", i),
			Metadata: map[string]string{"key": "value"}, Data: []byte(`{"kind":"input","text":"hello, this is a log"}`),
		}))
	}
	return stream.Bytes()
}

// BenchmarkDecode reads 100,000 records in each round, with the decoder of this
// package and with the standard library's, which checks far less and gives neither
// raw bytes nor offsets.
func BenchmarkDecode(b *testing.B) {
	stream := benchmarkStream(b)
	b.Run("protocol", func(b *testing.B) {
		b.SetBytes(int64(len(stream)))
		b.ReportAllocs()
		for b.Loop() {
			d := protocol.NewInputDecoder(bytes.NewReader(stream))
			n := 0
			for ; ; n++ {
				if _, err := d.Next(); err != nil {
					require.Equal(b, io.EOF, err)
					break
				}
			}
			require.Equal(b, benchmarkRecords, n)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(stream)))
		b.ReportAllocs()
		for b.Loop() {
			d := json.NewDecoder(bytes.NewReader(stream))
			n := 0
			for ; ; n++ {
				var in protocol.Input
				if err := d.Decode(&in); err != nil {
					require.Equal(b, io.EOF, err)
					break
				}
			}
			require.Equal(b, benchmarkRecords, n)
		}
	})
}

// BenchmarkEncode writes one record with a body of 16 MiB.
func BenchmarkEncode(b *testing.B) {
	record := protocol.Output{Data: make([]byte, 16<<20)}
	b.SetBytes(int64(len(record.Data)))
	b.ReportAllocs()
	e := protocol.NewEncoder(io.Discard)
	for b.Loop() {
		require.NoError(b, e.Encode(record))
	}
}
