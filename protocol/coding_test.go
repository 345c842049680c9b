package protocol_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

func decompressed(encoding string, packed []byte) ([]byte, error) {
	r, err := protocol.Decompress(encoding, bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r)
	return body, errors.Join(err, r.Close())
}

func TestCodingsGiveTheBodyBack(t *testing.T) {
	for _, encoding := range []string{"", "identity", "gzip", "zstd"} {
		for _, body := range []string{"", "hello", strings.Repeat("pugmark ", 100_000)} {
			packed, err := protocol.Compress(encoding, []byte(body))
			require.NoError(t, err)
			got, err := decompressed(encoding, packed)
			require.NoError(t, err, "%q of %d bytes", encoding, len(body))
			require.True(t, body == string(got), encoding)
			again, err := protocol.Compress(encoding, []byte(body))
			require.NoError(t, err)
			require.True(t, bytes.Equal(packed, again), encoding)
		}
	}
}

func TestSeveralMembersAndFramesAreOneBody(t *testing.T) {
	for _, encoding := range []string{"gzip", "zstd"} {
		one, err := protocol.Compress(encoding, []byte("one "))
		require.NoError(t, err)
		none, err := protocol.Compress(encoding, nil)
		require.NoError(t, err)
		two, err := protocol.Compress(encoding, []byte("two"))
		require.NoError(t, err)
		got, err := decompressed(encoding, bytes.Join([][]byte{one, none, two}, nil))
		require.NoError(t, err)
		require.Equal(t, "one two", string(got), encoding)
	}
}

func TestForeignPackersAreUnderstood(t *testing.T) {
	for encoding, packed := range map[string]string{
		// `printf hello | gzip -n` and `printf hello | zstd`, by the tools of those names.
		"gzip": "1f8b0800000000000003cb48cdc9c9070086a6103605000000",
		"zstd": "28b52ffd045829000068656c6c6fa36d9f88",
	} {
		b, err := hex.DecodeString(packed)
		require.NoError(t, err)
		got, err := decompressed(encoding, b)
		require.NoError(t, err, encoding)
		require.Equal(t, "hello", string(got))
	}
}

func TestASkippableFrameIsSkipped(t *testing.T) {
	frame, err := protocol.Compress("zstd", []byte("x"))
	require.NoError(t, err)
	got, err := decompressed("zstd", append([]byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc"), frame...))
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
}

func TestDamagedBodiesAreErrors(t *testing.T) {
	for _, encoding := range []string{"gzip", "zstd"} {
		packed, err := protocol.Compress(encoding, []byte(strings.Repeat("some text; ", 50)))
		require.NoError(t, err)
		for n := range len(packed) {
			_, err := decompressed(encoding, packed[:n])
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s cut to %d of %d bytes", encoding, n, len(packed))
			require.ErrorContains(t, err, encoding)
		}
		_, err = decompressed(encoding, append(bytes.Clone(packed), "trailing text"...))
		require.Error(t, err, encoding)
		broken := bytes.Clone(packed)
		broken[len(broken)-5] ^= 1
		_, err = decompressed(encoding, broken)
		require.Error(t, err, encoding)
		_, err = decompressed(encoding, []byte("not packed at all"))
		require.Error(t, err, encoding)
	}
}

func TestAnErrorOfTheBodyIsPassedOn(t *testing.T) {
	cause := errors.New("reset")
	for _, encoding := range []string{"identity", "gzip", "zstd"} {
		packed, err := protocol.Compress(encoding, []byte(strings.Repeat("some text; ", 50)))
		require.NoError(t, err)
		for _, n := range []int{0, 1, len(packed) / 2} {
			r, err := protocol.Decompress(encoding, io.MultiReader(bytes.NewReader(packed[:n]), iotest.ErrReader(cause)))
			if err == nil {
				_, err = io.ReadAll(r)
			}
			require.ErrorIs(t, err, cause, "%s after %d bytes", encoding, n)
		}
	}
}

func TestOtherCodingsAreRefusedByName(t *testing.T) {
	for _, encoding := range []string{"br", "deflate", "GZIP", "x-gzip", "gzip, zstd", " "} {
		var fault *protocol.UnknownEncodingError
		_, err := protocol.Decompress(encoding, strings.NewReader("x"))
		require.ErrorAs(t, err, &fault)
		require.Equal(t, encoding, fault.Encoding)
		_, err = protocol.Compress(encoding, nil)
		require.ErrorAs(t, err, &fault)
	}
}

func TestDecompressorsLeaveNoGoroutines(t *testing.T) {
	packed, err := protocol.Compress("zstd", bytes.Repeat([]byte("0123456789abcdef"), 1<<16))
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	for range 20 {
		r, err := protocol.Decompress("zstd", bytes.NewReader(packed))
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, r, 10)
		require.NoError(t, err)
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
		require.NoError(t, r.Close())
	}
}

func TestAHugeZstdWindowIsRefused(t *testing.T) {
	// A frame header that asks for a window of 2^28 bytes: descriptor 0, then exponent 18, mantissa 0.
	_, err := decompressed("zstd", []byte("\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00"))
	require.ErrorIs(t, err, zstd.ErrWindowSizeExceeded)
	// The same with 2^27 bytes, an empty last block: within the limit.
	got, err := decompressed("zstd", []byte("\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00"))
	require.NoError(t, err)
	require.Empty(t, got)
}
