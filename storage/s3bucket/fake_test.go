package s3bucket_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage/s3bucket"
	"pugmark.dev/conform/storage/s3bucket/s3test"
)

// fake is an S3 server with a fault.
type fake struct {
	URL string
	// server is what stands behind.
	server http.Handler

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
	f := &fake{server: server}
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
