package buckettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
)

// Run tests the contract on buckets that open gives. Each call of open must give
// an empty bucket, and may register its closing with the test.
func Run(t *testing.T, open func(t *testing.T) storage.Bucket) {
	for _, c := range contract {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

var contract = []struct {
	name string
	test func(t *testing.T, bucket storage.Bucket)
}{
	{"gives back what was put", givesBack},
	{"puts from the reader's present offset", putsFromOffset},
	{"says what does not exist", saysNotExist},
	{"never overwrites", neverOverwrites},
	{"shows nothing of a put that failed", failedPutShowsNothing},
	{"lists by prefix", listsByPrefix},
	{"stops listing when told", stopsListing},
	{"refuses invalid keys", refusesInvalidKeys},
	{"takes every valid segment", takesValidKeys},
	{"lets one of many writers win", oneWriterWins},
	{"shows an object whole or not at all", showsWhole},
	{"heeds a cancelled context", heedsContext},
}

func givesBack(t *testing.T, bucket storage.Bucket) {
	bodies := map[string][]byte{
		"a/empty": {},
		"a/short": []byte("hello\x00\xff\r\n"),
		"b/long":  bytes.Repeat([]byte("0123456789abcdef"), 200_000),
	}
	for key, body := range bodies {
		require.NoError(t, bucket.Put(t.Context(), key, bytes.NewReader(body)))
	}
	for key, body := range bodies {
		require.Equal(t, len(body), len(read(t, bucket, key)), "length of %s", key)
		require.True(t, bytes.Equal(body, read(t, bucket, key)), "bytes of %s", key)
		size, err := bucket.Stat(t.Context(), key)
		require.NoError(t, err)
		require.EqualValues(t, len(body), size, "stat of %s", key)
	}
}

func putsFromOffset(t *testing.T, bucket storage.Bucket) {
	body := strings.NewReader("skipped, stored")
	_, err := body.Seek(int64(len("skipped, ")), io.SeekStart)
	require.NoError(t, err)
	require.NoError(t, bucket.Put(t.Context(), "key", body))
	require.Equal(t, "stored", string(read(t, bucket, "key")))
}

func saysNotExist(t *testing.T, bucket storage.Bucket) {
	require.NoError(t, bucket.Put(t.Context(), "folder/object", strings.NewReader("x")))
	for _, key := range []string{"none", "none/below", "folder", "folder/objec", "folder/object2"} {
		_, err := bucket.Get(t.Context(), key)
		require.ErrorIs(t, err, storage.ErrNotExist, "get of %s", key)
		_, err = bucket.Stat(t.Context(), key)
		require.ErrorIs(t, err, storage.ErrNotExist, "stat of %s", key)
	}
}

func neverOverwrites(t *testing.T, bucket storage.Bucket) {
	require.NoError(t, bucket.Put(t.Context(), "key", strings.NewReader("first")))
	for _, again := range []string{"second", "first"} {
		err := bucket.Put(t.Context(), "key", strings.NewReader(again))
		require.ErrorIs(t, err, storage.ErrExist)
	}
	require.Equal(t, "first", string(read(t, bucket, "key")))
}

func failedPutShowsNothing(t *testing.T, bucket storage.Bucket) {
	broken := &brokenReader{Reader: strings.NewReader("half of a body")}
	err := bucket.Put(t.Context(), "folder/key", broken)
	require.ErrorIs(t, err, errBroken)
	_, err = bucket.Stat(t.Context(), "folder/key")
	require.ErrorIs(t, err, storage.ErrNotExist)
	require.Empty(t, list(t, bucket, ""))
	require.NoError(t, bucket.Put(t.Context(), "folder/key", strings.NewReader("whole")))
	require.Equal(t, "whole", string(read(t, bucket, "folder/key")))
}

func listsByPrefix(t *testing.T, bucket storage.Bucket) {
	keys := []string{"a/1", "a/2", "a/b/3", "ab/4", "b/5", "c"}
	for _, key := range keys {
		require.NoError(t, bucket.Put(t.Context(), key, strings.NewReader(key)))
	}
	for prefix, want := range map[string][]string{
		"":     keys,
		"a":    {"a/1", "a/2", "a/b/3", "ab/4"},
		"a/":   {"a/1", "a/2", "a/b/3"},
		"a/b":  {"a/b/3"},
		"a/1":  {"a/1"},
		"c":    {"c"},
		"c/":   nil,
		"none": nil,
		"n/o/": nil,
	} {
		if diff := cmp.Diff(want, list(t, bucket, prefix)); diff != "" {
			t.Errorf("keys with prefix %q (-want +got):\n%s", prefix, diff)
		}
	}
}

func stopsListing(t *testing.T, bucket storage.Bucket) {
	for i := range 5 {
		require.NoError(t, bucket.Put(t.Context(), fmt.Sprintf("k/%d", i), strings.NewReader("x")))
	}
	seen := 0
	for _, err := range bucket.List(t.Context(), "k/") {
		require.NoError(t, err)
		if seen++; seen == 2 {
			break
		}
	}
	require.Equal(t, 2, seen)
}

func refusesInvalidKeys(t *testing.T, bucket storage.Bucket) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.b", ".tmp-x",
		"A", "é", "a b", "a\x00b", `a\b`, "a:b",
	} {
		require.ErrorIs(t, bucket.Put(t.Context(), key, strings.NewReader("x")), storage.ErrInvalidKey, "put of %q", key)
		_, err := bucket.Get(t.Context(), key)
		require.ErrorIs(t, err, storage.ErrInvalidKey, "get of %q", key)
		_, err = bucket.Stat(t.Context(), key)
		require.ErrorIs(t, err, storage.ErrInvalidKey, "stat of %q", key)
	}
	for _, prefix := range []string{"../", "a/../", "/"} {
		var listed error
		for _, err := range bucket.List(t.Context(), prefix) {
			listed = err
		}
		require.ErrorIs(t, listed, storage.ErrInvalidKey, "list of %q", prefix)
	}
	require.Empty(t, list(t, bucket, ""))
}

func takesValidKeys(t *testing.T, bucket storage.Bucket) {
	keys := []string{
		"%2e%2e/x", "a.json", "con/nul", "-/_", strings.Repeat("n", storage.MaxSegment),
		"deep/er/and/deep/er/still", "%c3%a9",
	}
	for _, key := range keys {
		require.NoError(t, bucket.Put(t.Context(), key, strings.NewReader(key)), "put of %s", key)
	}
	for _, key := range keys {
		require.Equal(t, key, string(read(t, bucket, key)))
	}
	slices.Sort(keys)
	if diff := cmp.Diff(keys, list(t, bucket, "")); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func oneWriterWins(t *testing.T, bucket storage.Bucket) {
	const rounds, writers = 10, 8
	for round := range rounds {
		key := fmt.Sprintf("race/%d", round)
		errs := make([]error, writers)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				<-start
				errs[w] = bucket.Put(t.Context(), key, strings.NewReader(fmt.Sprint("writer ", w)))
			})
		}
		close(start)
		wg.Wait()
		winner := -1
		for w, err := range errs {
			if err == nil {
				require.Equal(t, -1, winner, "round %d: a second winner, %d", round, w)
				winner = w
			} else {
				require.ErrorIs(t, err, storage.ErrExist)
			}
		}
		require.NotEqual(t, -1, winner, "round %d: no winner", round)
		require.Equal(t, fmt.Sprint("writer ", winner), string(read(t, bucket, key)))
	}
}

func showsWhole(t *testing.T, bucket storage.Bucket) {
	body := bytes.Repeat([]byte("x"), 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	seen := make(chan int64, 1)
	wg.Go(func() {
		for ctx.Err() == nil {
			size, err := bucket.Stat(ctx, "big")
			if err == nil {
				seen <- size
				return
			}
		}
	})
	require.NoError(t, bucket.Put(t.Context(), "big", bytes.NewReader(body)))
	require.EqualValues(t, len(body), <-seen, "size when first seen")
	cancel()
	wg.Wait()
}

func heedsContext(t *testing.T, bucket storage.Bucket) {
	require.NoError(t, bucket.Put(t.Context(), "there", strings.NewReader("x")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, bucket.Put(ctx, "key", strings.NewReader("x")), context.Canceled)
	_, err := bucket.Get(ctx, "there")
	require.ErrorIs(t, err, context.Canceled)
	_, err = bucket.Stat(ctx, "there")
	require.ErrorIs(t, err, context.Canceled)
	var listed error
	for _, err := range bucket.List(ctx, "") {
		listed = err
	}
	require.ErrorIs(t, listed, context.Canceled)
	if diff := cmp.Diff([]string{"there"}, list(t, bucket, "")); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func read(t *testing.T, bucket storage.Bucket, key string) []byte {
	t.Helper()
	object, err := bucket.Get(t.Context(), key)
	require.NoError(t, err)
	defer object.Close()
	data, err := io.ReadAll(object)
	require.NoError(t, err)
	require.EqualValues(t, len(data), object.Size, "size of %s", key)
	return data
}

func list(t *testing.T, bucket storage.Bucket, prefix string) []string {
	t.Helper()
	var keys []string
	for key, err := range bucket.List(t.Context(), prefix) {
		require.NoError(t, err)
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

var errBroken = errors.New("reader is broken")

// brokenReader fails where its reader would end.
type brokenReader struct{ *strings.Reader }

func (r *brokenReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		err = errBroken
	}
	return n, err
}

// WriteTo hides the method of the embedded reader, which would not fail.
func (r *brokenReader) WriteTo(w io.Writer) (int64, error) {
	n, err := r.Reader.WriteTo(w)
	return n, errors.Join(err, errBroken)
}
