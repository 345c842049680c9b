package s3bucket

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestLocations(t *testing.T) {
	yes, no := true, false
	for url, want := range map[string]location{
		"s3://bucket":               {bucket: "bucket"},
		"s3://bucket/":              {bucket: "bucket"},
		"s3://my.bucket/a":          {bucket: "my.bucket", root: "a/"},
		"s3://bucket/A b/c/":        {bucket: "bucket", root: "A b/c/"},
		"s3://bucket/a%25":          {bucket: "bucket", root: "a%/"},
		"s3://bucket?region=auto":   {bucket: "bucket", region: "auto"},
		"s3://bucket?path-style=no": {},
		"s3://bucket/p?endpoint=http://127.0.0.1:9000&region=eu-west-1&path-style=true": {
			bucket: "bucket", root: "p/", endpoint: "http://127.0.0.1:9000", region: "eu-west-1", pathStyle: &yes,
		},
		"s3://bucket?endpoint=https%3A%2F%2Fs3.example.com%2Fv1&path-style=false": {
			bucket: "bucket", endpoint: "https://s3.example.com/v1", pathStyle: &no,
		},
	} {
		got, err := parseLocation(url)
		if want.bucket == "" {
			require.Error(t, err, url)
			continue
		}
		require.NoError(t, err, url)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(location{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
}

func TestWrongLocationsAreRefusedWithAdvice(t *testing.T) {
	for url, want := range map[string]string{
		"":                                "is not of the form s3://BUCKET",
		"bucket":                          "is not of the form s3://BUCKET",
		"https://bucket":                  "is not of the form s3://BUCKET",
		"s3:bucket":                       "is not of the form s3://BUCKET",
		"s3:///prefix":                    "is not of the form s3://BUCKET",
		"s3://bucket:80":                  "is not of the form s3://BUCKET",
		"s3://bucket#x":                   "is not of the form s3://BUCKET",
		"s3://bucket/%zz":                 "write it as s3://BUCKET",
		"s3://key:secret@bucket":          "set AWS_ACCESS_KEY_ID",
		"s3://bucket/a/../b":              `has the segment ".."`,
		"s3://bucket/a//b":                `has the segment ""`,
		"s3://bucket/a%00":                `has the segment "a\x00"`,
		"s3://bucket?endpoint=127.0.0.1":  "such as http://127.0.0.1:9000",
		"s3://bucket?endpoint=ftp://host": "such as http://127.0.0.1:9000",
		"s3://bucket?pathstyle=true":      `no parameter "pathstyle"`,
		"s3://bucket?region=":             `"region" must stand once`,
		"s3://bucket?region=a&region=b":   `"region" must stand once`,
		"s3://bucket?path-style=maybe":    "must be true or false",
		"s3://bucket?a;b":                 "parameters that can't be read",
	} {
		_, err := parseLocation(url)
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "secret@", url)
	}
}
