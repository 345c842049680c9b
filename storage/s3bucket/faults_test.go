package s3bucket_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/s3bucket"
	"pugmark.dev/conform/storage/s3bucket/s3test"
)

// The tests of this file run against a server in this process that fails as told.

// fake is an S3 server with a fault.
type fake struct {
	URL string

	mu       sync.Mutex
	fault    fault
	requests []*http.Request
}

// fault serves a request in the server's place and returns true, or returns
// false to leave it to the server. It may change the request's header.
type fault func(w http.ResponseWriter, r *http.Request, server http.Handler) bool

// newFake is a server in memory.
func newFake(t *testing.T) *fake {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("bucket"))
	(&s3test.Server{}).Setenv(t)
	return before(t, "bucket", gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
}

// newRelay is a real server behind one that fails as told.
func newRelay(t *testing.T) *fake {
	t.Helper()
	server := start(t)
	endpoint, err := url.Parse(server.Endpoint)
	require.NoError(t, err)
	// The signature is of the name under which the client knows the server.
	relay := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(endpoint)
		r.Out.Host = r.In.Host
	}}
	return before(t, server.Bucket(t), relay)
}

func before(t *testing.T, bucket string, server http.Handler) *fake {
	t.Helper()
	f := new(fake)
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests = append(f.requests, r.Clone(r.Context()))
		fault := f.fault
		f.mu.Unlock()
		if fault == nil || !fault(w, r, server) {
			server.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(listener.Close)
	f.URL = s3test.URL(bucket, listener.URL)
	return f
}

// inject sets the fault, nil for none, and forgets the requests so far.
func (f *fake) inject(fault fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.requests = fault, nil
}

// seen returns the requests since the last fault was set, with probe names cut.
func (f *fake) seen() []string {
	var seen []string
	for _, r := range f.log() {
		path, _, _ := strings.Cut(r.URL.Path, "probe-")
		seen = append(seen, r.Method+" "+path)
	}
	return seen
}

func (f *fake) log() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

func isPut(r *http.Request) bool { return r.Method == http.MethodPut && !isProbe(r) }

func isProbe(r *http.Request) bool { return strings.Contains(r.URL.Path, "/.pugmark-probe-") }

// answer answers every request that it is for with a status and an S3 error.
func answer(to func(r *http.Request) bool, status int, code string) fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if !to(r) {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.Header().Set("Server", "TestStore/1")
		w.WriteHeader(status)
		if status != http.StatusOK {
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as told</Message></Error>", code)
		}
		return true
	}
}

// loseAnswer lets the server do what it is asked and cuts the connection.
func loseAnswer(to func(r *http.Request) bool) fault {
	return func(_ http.ResponseWriter, r *http.Request, server http.Handler) bool {
		if !to(r) {
			return false
		}
		server.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// once is true for the first request that to is true for, and for no other.
func once(to func(r *http.Request) bool) func(r *http.Request) bool {
	var done atomic.Bool
	return func(r *http.Request) bool { return to(r) && done.CompareAndSwap(false, true) }
}

// warm opens a bucket whose probe is done.
func (f *fake) warm(t *testing.T) *s3bucket.Bucket {
	t.Helper()
	bucket := open(t, f.URL)
	require.NoError(t, bucket.Put(t.Context(), "warm", strings.NewReader("x")))
	return bucket
}

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
		// Trailers and chunks are what servers that are not Amazon's stumble over.
		require.Empty(t, r.Header.Get("X-Amz-Trailer"), r.URL.Path)
		require.Empty(t, r.Header.Get("Content-Encoding"), r.URL.Path)
		require.Positive(t, r.ContentLength, r.URL.Path)
	}
	require.Equal(t, 5, puts, "two of the probe, the manifest, the snapshot, the body")
}

// dropCondition is a server that ignores the condition of the requests that it is for.
func dropCondition(of func(r *http.Request) bool) fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if of(r) {
			r.Header.Del("If-None-Match")
		}
		return false
	}
}

func every(*http.Request) bool { return true }

func hasCondition(r *http.Request) bool { return r.Header.Get("If-None-Match") != "" }

func TestAServerWithoutConditionsIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		fault  fault
		server string
	}{
		"ignored": {dropCondition(every), "AmazonS3"}, // so the server in memory says
		"unknown": {answer(hasCondition, http.StatusNotImplemented, "NotImplemented"), "TestStore/1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.inject(c.fault)
			bucket := open(t, f.URL)
			for range 2 {
				err := bucket.Put(t.Context(), "key", strings.NewReader("x"))
				require.ErrorIs(t, err, s3bucket.ErrNoConditions)
				require.ErrorContains(t, err, "http://127.0.0.1:", "the server's address")
				require.ErrorContains(t, err, "which calls itself "+c.server)
				require.ErrorContains(t, err, "use a server with conditional writes, or a folder as the store")
			}
			require.NotContains(t, f.seen(), "PUT /bucket/key", "nothing may be written")
			require.Empty(t, list(t, bucket, ""))
			probes := 0
			for _, r := range f.log() {
				if isProbe(r) {
					probes++
				}
			}
			require.LessOrEqual(t, probes, 3, "a verdict is final")
		})
	}
}

func TestTheProbeIsMadeOnceBeforeTheFirstWrite(t *testing.T) {
	f := newFake(t)
	bucket := open(t, f.URL)
	_, err := bucket.Stat(t.Context(), "key")
	require.ErrorIs(t, err, storage.ErrNotExist)
	require.Empty(t, list(t, bucket, ""))
	f.inject(nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := bucket.Put(t.Context(), fmt.Sprint("key", i), strings.NewReader("x")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	counts := map[string]int{}
	for _, seen := range f.seen() {
		counts[seen]++
	}
	want := map[string]int{"PUT /bucket/.pugmark-": 2, "DELETE /bucket/.pugmark-": 1}
	for i := range 8 {
		want[fmt.Sprint("PUT /bucket/key", i)] = 1
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAProbeThatCantBeDeletedIsNotListed(t *testing.T) {
	f := newFake(t)
	f.inject(answer(func(r *http.Request) bool { return r.Method == http.MethodDelete }, http.StatusForbidden, "AccessDenied"))
	bucket := f.warm(t)
	require.Equal(t, []string{"warm"}, list(t, bucket, ""))
}

func TestAProbeWithoutAVerdictIsMadeAgain(t *testing.T) {
	f := newFake(t)
	bucket := open(t, f.URL)
	f.inject(answer(isProbe, http.StatusForbidden, "AccessDenied"))
	err := bucket.Put(t.Context(), "key", strings.NewReader("x"))
	require.ErrorContains(t, err, "finding out whether the server heeds conditions: the server answered 403 AccessDenied")
	require.NotErrorIs(t, err, s3bucket.ErrNoConditions)
	require.NotContains(t, f.seen(), "PUT /bucket/key")
	f.inject(loseAnswer(once(isProbe)))
	require.NoError(t, bucket.Put(t.Context(), "key", strings.NewReader("x")), "a lost answer of the probe does no harm")
	require.ErrorIs(t, bucket.Put(t.Context(), "key", strings.NewReader("x")), storage.ErrExist)
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

func TestOpenSaysWhatToDo(t *testing.T) {
	f := newFake(t)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	for name, c := range map[string]struct {
		url, want string
		fault     fault
		env       map[string]string
	}{
		"no bucket":  {url: strings.Replace(f.URL, "bucket", "none", 1), want: "opening the store s3://none: the server answered 404 NoSuchBucket; make the bucket none first, or correct the store's URL"},
		"no server":  {url: s3test.URL("bucket", down.URL), want: "no answer from the server: dial tcp"},
		"wrong key":  {url: f.URL, fault: answer(every, 403, "InvalidAccessKeyId"), want: "check the credentials in AWS_ACCESS_KEY_ID"},
		"no right":   {url: f.URL, fault: answer(every, 403, "AccessDenied"), want: "let these credentials list the bucket"},
		"no region":  {url: "s3://bucket", want: "no region is known; add region=NAME to the store's URL or set AWS_REGION", env: map[string]string{"AWS_REGION": "", "AWS_DEFAULT_REGION": ""}},
		"its region": {url: f.URL, fault: answer(every, 400, "AuthorizationHeaderMalformed"), want: "set region=NAME in the store's URL to the bucket's region"},
		"no keys":    {url: f.URL, want: "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE", env: map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}},
		"no profile": {url: f.URL, want: "reading the AWS configuration; correct it", env: map[string]string{"AWS_PROFILE": "absent"}},
		"no URL":     {url: "s3://", want: "opening a store: "},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range slices.Sorted(maps.Keys(c.env)) {
				t.Setenv(variable, c.env[variable])
			}
			f.inject(c.fault)
			_, err := s3bucket.Open(t.Context(), c.url)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestTheEndpointMayComeFromTheEnvironment(t *testing.T) {
	f := newFake(t)
	where, err := url.Parse(f.URL)
	require.NoError(t, err)
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_ENDPOINT_URL_S3", where.Query().Get("endpoint"))
	bucket := open(t, "s3://bucket/prefix")
	require.NoError(t, bucket.Put(t.Context(), "key", strings.NewReader("x")))
	require.Contains(t, f.seen(), "PUT /bucket/prefix/key", "the bucket stands in the path")
	for _, r := range f.log() {
		require.Contains(t, r.Header.Get("Authorization"), "/us-east-1/s3/", "the region of the signature")
		require.Empty(t, r.Header.Get("X-Amz-Checksum-Crc32"))
	}
}

func TestTheURLDecidesWhereTheBucketStands(t *testing.T) {
	f := newFake(t)
	url := strings.Replace(f.URL, "path-style=true", "path-style=false", 1)
	url = strings.Replace(url, "127.0.0.1", "localhost", 1)
	url = strings.Replace(url, "us-east-1", "eu-west-1", 1)
	f.inject(answer(every, http.StatusForbidden, "AccessDenied"))
	_, err := s3bucket.Open(t.Context(), url)
	require.Error(t, err)
	if requests := f.log(); len(requests) > 0 { // where bucket.localhost has an address
		require.True(t, strings.HasPrefix(requests[0].Host, "bucket.localhost:"), requests[0].Host)
		require.Contains(t, requests[0].Header.Get("Authorization"), "/eu-west-1/s3/")
	} else {
		require.ErrorContains(t, err, "bucket.localhost")
	}
}
