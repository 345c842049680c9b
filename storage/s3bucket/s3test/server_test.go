//go:build unix

package s3test_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage/s3bucket"
	"pugmark.dev/conform/storage/s3bucket/s3test"
)

func TestTheServerServesItsBuckets(t *testing.T) {
	begun := time.Now()
	server := s3test.Start(t)
	t.Logf("the server was up after %v", time.Since(begun))
	server.Setenv(t)
	one, err := s3bucket.Open(t.Context(), server.URL(t))
	require.NoError(t, err)
	two, err := s3bucket.Open(t.Context(), server.URL(t))
	require.NoError(t, err)
	require.NoError(t, one.Put(t.Context(), "key", strings.NewReader("one")))
	require.NoError(t, two.Put(t.Context(), "key", strings.NewReader("two")), "the buckets are two")
}

func TestTheServerEndsWithItsTest(t *testing.T) {
	var endpoint string
	t.Run("inner", func(t *testing.T) { endpoint = s3test.Start(t).Endpoint })
	_, err := http.Get(endpoint)
	require.Error(t, err)
}
