package s3bucket_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage/s3bucket"
	"pugmark.dev/conform/storage/s3bucket/s3test"
)

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
		"no user":    {url: f.URL, fault: answer(every, 404, "XAdminUserNotFound"), want: "check the credentials in AWS_ACCESS_KEY_ID"},
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
	// An address would be no part of a longer name in any case.
	t.Setenv("AWS_ENDPOINT_URL_S3", strings.Replace(where.Query().Get("endpoint"), "127.0.0.1", "localhost", 1))
	bucket := open(t, "s3://bucket/prefix")
	require.NoError(t, bucket.Put(t.Context(), "key", strings.NewReader("x")))
	require.Contains(t, f.seen(), "PUT /bucket/prefix/key", "the bucket stands in the path")
	for _, r := range f.log() {
		require.Contains(t, r.Header.Get("Authorization"), "/us-east-1/s3/", "the region of the signature")
		if r.Method == http.MethodPut {
			requirePlain(t, r)
		}
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
