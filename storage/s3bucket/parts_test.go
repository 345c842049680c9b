package s3bucket_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/s3bucket"
)

func isCompletion(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
}

func TestPartsAreNotUsedWhereTheirCompletionHeedsNoCondition(t *testing.T) {
	for name, fault := range map[string]fault{
		"ignored": dropCondition(isCompletion),
		"unknown": answer(func(r *http.Request) bool { return r.Method == http.MethodPost }, http.StatusNotImplemented, "NotImplemented"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			bucket := f.warm(t)
			bucket.SetPartSizes(10, 5<<20, 20)
			f.inject(fault)
			require.NoError(t, bucket.Put(t.Context(), "key", strings.NewReader("eleven long")))
			require.Contains(t, f.seen(), "PUT /bucket/key")
			require.ErrorIs(t, bucket.Put(t.Context(), "key", strings.NewReader("eleven LONG")), storage.ErrExist)
			require.Equal(t, "eleven long", read(t, bucket, "key"))
			err := bucket.Put(t.Context(), "long", strings.NewReader(strings.Repeat("x", 21)))
			require.ErrorContains(t, err, "use bodies of at most 20 bytes, or another server")
			require.Equal(t, []string{"key", "warm"}, list(t, bucket, ""))
		})
	}
}

// inParts opens a bucket whose bodies go up in parts, its probes done.
func inParts(t *testing.T, f *fake) *s3bucket.Bucket {
	t.Helper()
	bucket := open(t, f.URL)
	bucket.SetPartSizes(2, 5<<20, 1)
	require.NoError(t, bucket.Put(t.Context(), "warm", strings.NewReader("xx")))
	return bucket
}

func isPart(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Has("partNumber")
}

func isAbort(r *http.Request) bool {
	return r.Method == http.MethodDelete && r.URL.Query().Has("uploadId")
}

func (f *fake) count(of func(r *http.Request) bool) int {
	count := 0
	for _, r := range f.log() {
		if of(r) {
			count++
		}
	}
	return count
}

func TestPartsKeepTheirOrderAndOffset(t *testing.T) {
	f := newRelay(t)
	bucket := inParts(t, f)
	f.inject(answer(once(isPart), http.StatusServiceUnavailable, "SlowDown"))
	const size = 11 << 20
	body := pattern(size)
	_, err := body.Seek(100, 0)
	require.NoError(t, err)
	require.NoError(t, bucket.Put(t.Context(), "key", body))
	require.Equal(t, 4, f.count(isPart), "three parts, one of them twice")
	require.Equal(t, 1, f.count(isCompletion))
	for _, r := range f.log() {
		if isCompletion(r) {
			require.Equal(t, "*", r.Header.Get("If-None-Match"))
		}
		require.Empty(t, r.Header.Get("X-Amz-Trailer"))
	}
	object, err := bucket.Get(t.Context(), "key")
	require.NoError(t, err)
	defer object.Close()
	want := pattern(size)
	_, err = want.Seek(100, 0)
	require.NoError(t, err)
	requireSame(t, want, object)
}

func TestAnUploadInPartsThatFailsLeavesNothing(t *testing.T) {
	f := newRelay(t)
	bucket := inParts(t, f)
	for _, c := range []struct {
		name   string
		fault  fault
		aborts int
	}{
		{"a part", answer(isPart, http.StatusForbidden, "AccessDenied"), 1},
		{"a part without an ETag", answer(isPart, http.StatusOK, ""), 1},
		// The completion may be at work still, so it is not undone (F29).
		{"the completion", answer(isCompletion, http.StatusForbidden, "AccessDenied"), 0},
		{"the completion, busy", answer(isCompletion, http.StatusServiceUnavailable, "SlowDown"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.inject(c.fault)
			err := bucket.Put(t.Context(), "key", strings.NewReader("a body"))
			require.ErrorContains(t, err, "storing key: ")
			require.NotErrorIs(t, err, storage.ErrExist)
			require.Equal(t, c.aborts, f.count(isAbort))
			f.inject(nil)
			require.Equal(t, []string{"warm"}, list(t, bucket, ""))
		})
	}
}

func TestAConflictOfACompletionBeginsTheUploadAnew(t *testing.T) {
	f := newRelay(t)
	bucket := inParts(t, f)
	conflict := func(to func(r *http.Request) bool) fault {
		return answer(to, http.StatusConflict, "ConditionalRequestConflict")
	}
	f.inject(conflict(once(isCompletion)))
	require.NoError(t, bucket.Put(t.Context(), "key", strings.NewReader("a body")))
	uploads := map[string]int{}
	for _, r := range f.log() {
		if isCompletion(r) {
			uploads[r.URL.Query().Get("uploadId")]++
		}
	}
	require.Len(t, uploads, 2, "the parts of the first upload can't be used again")
	require.Equal(t, 1, f.count(isAbort))
	require.Equal(t, "a body", read(t, bucket, "key"))

	f.inject(conflict(isCompletion))
	err := bucket.Put(t.Context(), "other", strings.NewReader("a body"))
	require.ErrorContains(t, err, "the server answered 409")
	require.NotErrorIs(t, err, storage.ErrExist)
}

func TestALostCompletionIsFoundByItsDigest(t *testing.T) {
	f := newRelay(t)
	store := &storage.Store{Bucket: inParts(t, f)}
	f.inject(loseAnswer(once(isCompletion)))
	body, err := store.PutBody(t.Context(), strings.NewReader("a body"))
	require.NoError(t, err)
	require.Len(t, list(t, store.Bucket, "objects/"), 1)
	object, err := store.OpenBody(t.Context(), body.Digest)
	require.NoError(t, err)
	require.NoError(t, object.Close())
	require.EqualValues(t, len("a body"), object.Size)
}

func TestARefusedCompletionIsCleanedUp(t *testing.T) {
	f := newRelay(t)
	bucket, other := inParts(t, f), open(t, f.URL)
	// The other writer comes between the first look and the completion.
	f.inject(func(w http.ResponseWriter, r *http.Request, server http.Handler) bool {
		if isCompletion(r) {
			f.inject(nil)
			if err := other.Put(t.Context(), "key", strings.NewReader("y")); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	require.ErrorIs(t, bucket.Put(t.Context(), "key", strings.NewReader("a body")), storage.ErrExist)
	require.Equal(t, 1, f.count(isAbort))
	require.Equal(t, "y", read(t, bucket, "key"))
}

// With Amazon, and where the user asks for them, bodies carry checksums.
func TestChecksumsGoWithPartsWhenAskedFor(t *testing.T) {
	f := newRelay(t)
	t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported")
	bucket := inParts(t, f)
	f.inject(nil)
	const size = 6 << 20
	require.NoError(t, bucket.Put(t.Context(), "parts", pattern(size)))
	require.NoError(t, bucket.Put(t.Context(), "whole", strings.NewReader("x")))
	sums := 0
	for _, r := range f.log() {
		// Over http:// the checksum stands in the header, not in a trailer.
		if isPart(r) || isPut(r) {
			require.NotEmpty(t, r.Header.Get("X-Amz-Checksum-Crc32"), r.URL.String())
			sums++
		}
	}
	require.Equal(t, 3, sums, "two parts and a body")
	object, err := bucket.Get(t.Context(), "parts")
	require.NoError(t, err)
	defer object.Close()
	requireSame(t, pattern(size), object)
}
