package s3bucket_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/s3bucket"
)

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
