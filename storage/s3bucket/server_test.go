package s3bucket_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/buckettest"
	"pugmark.dev/conform/storage/s3bucket"
	"pugmark.dev/conform/storage/s3bucket/s3test"
)

// The tests of this file run against a real server.

const (
	alpha = "0000000000000000000000000000000a"
	beta  = "0000000000000000000000000000000b"
)

func open(t testing.TB, url string) *s3bucket.Bucket {
	t.Helper()
	bucket, err := s3bucket.Open(t.Context(), url)
	require.NoError(t, err)
	return bucket
}

func start(t testing.TB) *s3test.Server {
	t.Helper()
	server := s3test.Start(t)
	server.Setenv(t)
	return server
}

func TestBucketContract(t *testing.T) {
	server := start(t)
	buckettest.Run(t, func(t *testing.T) storage.Bucket { return open(t, server.URL(t)) })
}

func TestBucketContractBelowAPrefix(t *testing.T) {
	server := start(t)
	buckettest.Run(t, func(t *testing.T) storage.Bucket {
		url := strings.Replace(server.URL(t), "?", "/Team A/store?", 1)
		sibling := open(t, strings.Replace(url, "/store?", "/store2?", 1))
		require.NoError(t, sibling.Put(t.Context(), "a/foreign", strings.NewReader("x")))
		return open(t, url)
	})
}

func TestBucketContractInParts(t *testing.T) {
	server := start(t)
	buckettest.Run(t, func(t *testing.T) storage.Bucket {
		bucket := open(t, server.URL(t))
		bucket.SetPartSizes(1, 5<<20, 0) // nothing but an empty body may go up at once
		return bucket
	})
}

// F27: of two clients that write a key one wins, and both see whose object it is.
func TestTwoClientsHaveOneWinnerEach(t *testing.T) {
	const keys = 200
	url := start(t).URL(t)
	clients := []*s3bucket.Bucket{open(t, url), open(t, url)}
	wins := make([]int, len(clients))
	for i := range keys {
		key := fmt.Sprintf("race/%03d", i)
		errs := make([]error, len(clients))
		begin := make(chan struct{})
		var wg sync.WaitGroup
		for c, client := range clients {
			wg.Go(func() {
				<-begin
				errs[c] = client.Put(t.Context(), key, strings.NewReader(fmt.Sprint(c)))
			})
		}
		close(begin)
		wg.Wait()
		winner := slices.Index(errs, nil)
		require.NotEqual(t, -1, winner, "key %s has no winner: %v", key, errs)
		require.ErrorIs(t, errs[1-winner], storage.ErrExist, "loser of %s", key)
		require.Equal(t, fmt.Sprint(winner), read(t, clients[1-winner], key))
		wins[winner]++
	}
	t.Logf("%d keys, wins by client: %v", keys, wins)
}

// On a server that keeps objects as files a key can't be an object and a folder
// of others. What storage writes never is, whatever the names.
func TestStorageNeedsNoKeyThatIsObjectAndFolder(t *testing.T) {
	server := start(t)
	bucket := open(t, server.URL(t))
	require.NoError(t, bucket.Put(t.Context(), "taken/below", strings.NewReader("x")))
	require.Error(t, bucket.Put(t.Context(), "taken", strings.NewReader("x")), "the server keeps objects as files")
	require.Error(t, bucket.Put(t.Context(), "taken/below/more", strings.NewReader("x")))

	store := &storage.Store{Bucket: open(t, server.URL(t))}
	body, err := store.PutBody(t.Context(), strings.NewReader("a body"))
	require.NoError(t, err)
	for _, session := range []string{alpha, beta} {
		_, created, err := store.CreateSession(t.Context(), storage.Manifest{Session: session})
		require.NoError(t, err)
		require.True(t, created)
	}
	entry := storage.Entry{Digest: body.Digest, Size: body.Size, Name: "a/b"}
	for want := int64(1); want <= 2; want++ {
		version, err := store.Append(t.Context(), alpha, storage.Queueing, []storage.Entry{entry})
		require.NoError(t, err)
		require.Equal(t, want, version)
	}
	written, err := store.Deliver(t.Context(), beta, storage.Version{Session: alpha, Version: 2}, 0, []storage.Entry{entry})
	require.NoError(t, err)
	require.True(t, written)
	for _, namespace := range []string{"team", "team/ops", "team/ops/eu", "Team", "é", "0001.json", "a\xff"} {
		for _, name := range []string{"k", "K"} {
			entry.Name = name
			require.NoError(t, store.WriteMemory(t.Context(), namespace, nil, 0, []storage.Entry{entry}), "%q", namespace)
		}
		version, err := store.MemoryVersion(t.Context(), namespace)
		require.NoError(t, err)
		require.EqualValues(t, 2, version, "namespace %q", namespace)
	}

	keys := list(t, store.Bucket, "")
	for _, key := range keys {
		for _, other := range keys {
			require.False(t, strings.HasPrefix(other, key+"/"), "%s is a folder of %s", key, other)
		}
	}
}

func TestOverlongKeysAreRefused(t *testing.T) {
	server := start(t)
	bucket := open(t, strings.Replace(server.URL(t), "?", "/prefix?", 1))
	long := strings.Repeat("n", 300) // more than a file's name may have
	require.NoError(t, bucket.Put(t.Context(), "a/short", strings.NewReader("x")))
	require.ErrorIs(t, bucket.Put(t.Context(), "a/"+long, strings.NewReader("x")), storage.ErrInvalidKey)

	// S3 takes 1024 bytes; the prefix has 7 of them.
	segments := strings.Repeat("123456789/", 101)
	require.NoError(t, bucket.Put(t.Context(), segments+"1234567", strings.NewReader("x")))
	key := segments + "12345678"
	require.ErrorIs(t, bucket.Put(t.Context(), key, strings.NewReader("x")), storage.ErrInvalidKey)
	_, err := bucket.Get(t.Context(), key)
	require.ErrorIs(t, err, storage.ErrInvalidKey)
	_, err = bucket.Stat(t.Context(), key)
	require.ErrorIs(t, err, storage.ErrInvalidKey)
}

func TestListingsHaveManyPages(t *testing.T) {
	server := start(t)
	name := server.Bucket(t)
	bucket := open(t, s3test.URL(name, server.Endpoint))
	const count = 2500 // a page has at most 1000 keys
	var want []string
	for i := range count {
		want = append(want, fmt.Sprintf("k/%04d", i))
	}
	folder := filepath.Join(server.Folder, name)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "k"), 0o777))
	for _, key := range append(want, "K", "k/.hidden", "k/Upper") {
		require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.FromSlash(key)), nil, 0o666))
	}
	if diff := cmp.Diff(want, list(t, bucket, "k/")); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	require.Len(t, list(t, bucket, "k/1"), 1000)
}

func TestProbesLeaveNothing(t *testing.T) {
	server := start(t)
	name := server.Bucket(t)
	bucket := open(t, s3test.URL(name, server.Endpoint))
	bucket.SetPartSizes(2, 5<<20, 5<<30)
	require.NoError(t, bucket.Put(t.Context(), "a", strings.NewReader("x")))
	require.NoError(t, bucket.Put(t.Context(), "b", strings.NewReader("xx")))
	entries, err := os.ReadDir(filepath.Join(server.Folder, name))
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		if entry.Name() != ".sgwtmp" { // the server's own
			names = append(names, entry.Name())
		}
	}
	require.Equal(t, []string{"a", "b"}, names)
}

// A body of any size goes through in memory that does not grow with it, up and
// down, at once and in parts.
func TestLargeBodiesStreamInFlatMemory(t *testing.T) {
	const (
		size  = 96 << 20
		limit = 16 << 20
	)
	server := start(t)
	for _, way := range []struct {
		name             string
		from, part, once int64
	}{
		{"at once", size + 1, 0, size},
		{"in parts", size, 40 << 20, 1},
	} {
		t.Run(way.name, func(t *testing.T) {
			bucket := open(t, server.URL(t))
			bucket.SetPartSizes(way.from, way.part, way.once)
			require.NoError(t, bucket.Put(t.Context(), "warm", strings.NewReader("x")))
			before := allocated()
			require.NoError(t, bucket.Put(t.Context(), "big", pattern(size)))
			object, err := bucket.Get(t.Context(), "big")
			require.NoError(t, err)
			defer object.Close()
			require.EqualValues(t, size, object.Size)
			requireSame(t, pattern(size), object)
			used := allocated() - before
			t.Logf("%d MiB up and down, %d KiB allocated in all", size>>20, used>>10)
			require.Less(t, used, uint64(limit), "bytes allocated in all")
		})
	}
}

// allocated is how many bytes were ever allocated: more than are ever in use.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// pattern is a body of size bytes that can't be told from noise and takes no room.
func pattern(size int64) io.ReadSeeker {
	return io.NewSectionReader(noise{}, 0, size)
}

// noise has in each block of 64 KiB the same bytes but for the block's number.
type noise struct{}

var noiseBlock = func() []byte {
	block := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(block)
	return block
}()

func (noise) ReadAt(p []byte, offset int64) (int, error) {
	block := int64(len(noiseBlock))
	for n := 0; n < len(p); {
		at := offset + int64(n)
		c := copy(p[n:], noiseBlock[at%block:])
		if at%block == 0 {
			p[n] = byte(at / block)
		}
		n += c
	}
	return len(p), nil
}

func requireSame(t *testing.T, want, got io.Reader) {
	t.Helper()
	a, b := make([]byte, 256<<10), make([]byte, 256<<10)
	for at := 0; ; at += len(a) {
		n, err := io.ReadFull(want, a)
		m, err2 := io.ReadFull(got, b)
		if n != m || !bytes.Equal(a[:n], b[:m]) {
			t.Fatalf("the bodies differ after byte %d", at)
		}
		require.Equal(t, err, err2)
		if err != nil {
			return
		}
	}
}

func read(t testing.TB, bucket storage.Bucket, key string) string {
	t.Helper()
	object, err := bucket.Get(t.Context(), key)
	require.NoError(t, err)
	defer object.Close()
	data, err := io.ReadAll(object)
	require.NoError(t, err)
	return string(data)
}

func list(t testing.TB, bucket storage.Bucket, prefix string) []string {
	t.Helper()
	var keys []string
	for key, err := range bucket.List(t.Context(), prefix) {
		require.NoError(t, err)
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func BenchmarkPut(b *testing.B) {
	bucket := open(b, start(b).URL(b))
	n := 0
	for b.Loop() {
		n++
		if err := bucket.Put(context.Background(), fmt.Sprintf("k/%d", n), strings.NewReader("a small body")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit is what an invocation's commit costs: the head of the version
// before is read, and the next is stored.
func BenchmarkCommit(b *testing.B) {
	store := &storage.Store{Bucket: open(b, start(b).URL(b))}
	version := int64(0)
	for b.Loop() {
		version++
		snapshot := storage.Snapshot{Head: storage.Head{Version: version, Type: storage.Normal}, Entries: []storage.Entry{{Name: "n"}}}
		if err := store.Commit(context.Background(), alpha, snapshot); err != nil {
			b.Fatal(err)
		}
	}
}
