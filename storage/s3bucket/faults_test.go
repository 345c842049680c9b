package s3bucket_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/s3bucket/s3test"
)

// The tests of this file run against a server in this process that fails as told.

// session makes a session with one snapshot.
func session(t *testing.T, bucket storage.Bucket) *storage.Store {
	t.Helper()
	store := &storage.Store{Bucket: bucket}
	_, _, err := store.CreateSession(t.Context(), storage.Manifest{Session: alpha})
	require.NoError(t, err)
	require.NoError(t, store.Commit(t.Context(), alpha, snapshot(1)))
	return store
}

func snapshot(version int64) storage.Snapshot {
	return storage.Snapshot{Head: storage.Head{Version: version, Type: storage.Normal}, Entries: []storage.Entry{{Name: "n"}}}
}

func TestALostAnswerIsSeenAsExistingAndKnownAgain(t *testing.T) {
	f := newFake(t)
	store := session(t, f.warm(t))

	f.inject(loseAnswer(once(isPut)))
	err := store.Bucket.Put(t.Context(), "key", strings.NewReader("mine"))
	require.ErrorIs(t, err, storage.ErrExist, "the silent second try finds the object of the first")
	require.Equal(t, []string{"PUT /bucket/key", "PUT /bucket/key"}, f.seen())
	require.Equal(t, "mine", read(t, store.Bucket, "key"))

	f.inject(loseAnswer(once(isPut)))
	require.NoError(t, store.Commit(t.Context(), alpha, snapshot(2)), "the commit is this very one")
	f.inject(loseAnswer(once(isPut)))
	_, created, err := store.CreateSession(t.Context(), storage.Manifest{Session: beta})
	require.NoError(t, err)
	require.True(t, created)
	f.inject(loseAnswer(once(isPut)))
	_, err = store.PutBody(t.Context(), strings.NewReader("body"))
	require.NoError(t, err)
}

// F28: no such answer is ever taken for a commit, and the session is unchanged.
func TestAnswersThatCommitNothing(t *testing.T) {
	f := newFake(t)
	store := session(t, f.warm(t))
	for _, c := range []struct {
		status int
		code   string
		want   string
	}{
		{503, "SlowDown", "the server answered 503 SlowDown; run it again later"},
		{500, "InternalError", "the server answered 500 InternalError; run it again later"},
		{403, "AccessDenied", "the server answered 403 AccessDenied; let these credentials list the bucket, and get and put its objects"},
		{409, "ConditionalRequestConflict", "the server answered 409 ConditionalRequestConflict; another write of this object is under way; run it again"},
		{409, "ObjectParentIsFile", "the server answered 409 ObjectParentIsFile; the server can't keep an object of this name"},
		{400, "BadDigest", "the server answered 400 BadDigest"},
		{200, "", "the answer has no ETag"},
	} {
		t.Run(fmt.Sprint(c.status, c.code), func(t *testing.T) {
			f.inject(answer(isPut, c.status, c.code))
			err := store.Bucket.Put(t.Context(), "key", strings.NewReader("x"))
			require.ErrorContains(t, err, c.want)
			require.NotErrorIs(t, err, storage.ErrExist)
			require.NotErrorIs(t, err, storage.ErrNotExist)
			err = store.Commit(t.Context(), alpha, snapshot(2))
			require.ErrorContains(t, err, c.want)
			require.NotErrorIs(t, err, storage.ErrConflict)
			_, err = store.PutBody(t.Context(), strings.NewReader("body"))
			require.ErrorContains(t, err, c.want)
			f.inject(nil)
			version, err := store.Version(t.Context(), alpha)
			require.NoError(t, err)
			require.EqualValues(t, 1, version)
		})
	}
	f.inject(nil)
	require.NoError(t, store.Commit(t.Context(), alpha, snapshot(2)))
}

func TestPassingFaultsAreTriedAgainWithTheWholeBody(t *testing.T) {
	f := newFake(t)
	bucket := f.warm(t)
	for status, code := range map[int]string{503: "SlowDown", 500: "InternalError", 409: "ConditionalRequestConflict"} {
		f.inject(answer(once(isPut), status, code))
		key := fmt.Sprint("after-", status)
		body := strings.NewReader("skipped, stored")
		_, err := body.Seek(int64(len("skipped, ")), io.SeekStart)
		require.NoError(t, err)
		require.NoError(t, bucket.Put(t.Context(), key, body), "after one %d", status)
		require.Equal(t, "stored", read(t, bucket, key))
	}
}

func TestAConflictWithAnotherWriterIsOne(t *testing.T) {
	f := newFake(t)
	store := session(t, f.warm(t))
	other := &storage.Store{Bucket: open(t, f.URL)}
	require.NoError(t, other.Commit(t.Context(), alpha, snapshot(2)))
	require.ErrorIs(t, store.Commit(t.Context(), alpha, snapshot(2)), storage.ErrConflict)
	f.inject(answer(isPut, http.StatusConflict, "ConditionalRequestConflict"))
	require.ErrorIs(t, store.Commit(t.Context(), alpha, snapshot(2)), storage.ErrConflict, "409 to the end, and another's object is there")
}

// F29: the answer is lost, and nobody may look; what was stored stays.
func TestAnUnknownOutcomeIsSaidAndNothingIsDeleted(t *testing.T) {
	f := newFake(t)
	store := session(t, f.warm(t))
	lose := loseAnswer(once(isPut))
	f.inject(func(w http.ResponseWriter, r *http.Request, server http.Handler) bool {
		if lose(w, r, server) {
			return true
		}
		later := func(r *http.Request) bool {
			return isPut(r) || r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "2.json")
		}
		return answer(later, http.StatusForbidden, "AccessDenied")(w, r, server)
	})
	err := store.Commit(t.Context(), alpha, snapshot(2))
	require.ErrorContains(t, err, "may or may not be stored")
	require.NotErrorIs(t, err, storage.ErrConflict)
	for _, r := range f.log() {
		require.NotEqual(t, http.MethodDelete, r.Method, r.URL.Path)
	}
	f.inject(nil)
	head, err := store.Head(t.Context(), alpha, 2)
	require.NoError(t, err)
	require.EqualValues(t, 1, head.Count)
}

func TestEveryWriteIsConditionalAndPlain(t *testing.T) {
	f := newFake(t)
	store := session(t, open(t, f.URL))
	_, err := store.PutBody(t.Context(), strings.NewReader(strings.Repeat("x", 2<<20)))
	require.NoError(t, err)
	puts := 0
	for _, r := range f.log() {
		if r.Method != http.MethodPut {
			continue
		}
		puts++
		require.Equal(t, "*", r.Header.Get("If-None-Match"), r.URL.Path)
		requirePlain(t, r)
	}
	require.Equal(t, 5, puts, "two of the probe, the manifest, the snapshot, the body")
}

// requirePlain checks that a body comes without what servers that are not
// Amazon's stumble over: checksums, trailers, and chunks of any kind.
func requirePlain(t *testing.T, r *http.Request) {
	t.Helper()
	for _, name := range []string{"X-Amz-Trailer", "X-Amz-Sdk-Checksum-Algorithm", "X-Amz-Checksum-Crc32", "Content-Encoding", "Transfer-Encoding"} {
		require.Empty(t, r.Header.Get(name), "%s of %s", name, r.URL.Path)
	}
	require.Empty(t, r.TransferEncoding, r.URL.Path)
	require.Positive(t, r.ContentLength, r.URL.Path)
}

func TestBodiesArePlainOverTLSToo(t *testing.T) {
	f := newFake(t)
	var seen []*http.Request
	var mu sync.Mutex
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Clone(r.Context()))
		mu.Unlock()
		f.server.ServeHTTP(w, r)
	}))
	defer server.Close()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(bundle, certificate, 0o666))
	t.Setenv("AWS_CA_BUNDLE", bundle)
	bucket := open(t, s3test.URL("bucket", server.URL))
	require.NoError(t, bucket.Put(t.Context(), "key", strings.NewReader("x")))
	require.Equal(t, "x", read(t, bucket, "key"))
	puts := 0
	for _, r := range seen {
		if r.Method == http.MethodPut {
			requirePlain(t, r)
			puts++
		}
	}
	require.Equal(t, 3, puts, "two of the probe, and the object")
}

func TestALargeBodyThatIsThereIsNotSentAgain(t *testing.T) {
	f := newFake(t)
	store := &storage.Store{Bucket: f.warm(t)}
	for _, want := range []int{1, 0} {
		f.inject(nil)
		_, err := store.PutBody(t.Context(), strings.NewReader(strings.Repeat("x", 2<<20)))
		require.NoError(t, err)
		require.Equal(t, want, f.count(isPut))
	}
}

func TestReadsTellMissingObjectsFromOtherAnswers(t *testing.T) {
	f := newFake(t)
	bucket := f.warm(t)
	isRead := func(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }
	for status, code := range map[int]string{404: "NoSuchBucket", 403: "AccessDenied", 500: "InternalError"} {
		f.inject(answer(isRead, status, code))
		_, err := bucket.Get(t.Context(), "warm")
		require.ErrorContains(t, err, fmt.Sprintf("reading warm: the server answered %d %s", status, code))
		require.NotErrorIs(t, err, storage.ErrNotExist)
		var listed error
		for _, err := range bucket.List(t.Context(), "") {
			listed = err
		}
		require.ErrorContains(t, listed, fmt.Sprintf("the server answered %d %s", status, code))
		if status != http.StatusNotFound { // HEAD has no body, and so says no more than 404
			_, err = bucket.Stat(t.Context(), "warm")
			require.ErrorContains(t, err, fmt.Sprintf("reading warm: the server answered %d", status))
			require.NotErrorIs(t, err, storage.ErrNotExist)
		}
	}
}

func TestABodyThatIsCutOffIsAnError(t *testing.T) {
	f := newFake(t)
	bucket := f.warm(t)
	f.inject(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "half ")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	object, err := bucket.Get(t.Context(), "warm")
	require.NoError(t, err)
	defer object.Close()
	_, err = io.ReadAll(object)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
