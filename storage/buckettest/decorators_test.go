package buckettest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/buckettest"
	"pugmark.dev/conform/storage/membucket"
)

func TestFaultyWithoutAFaultIsABucket(t *testing.T) {
	buckettest.Run(t, func(*testing.T) storage.Bucket { return &buckettest.Faulty{Bucket: new(membucket.Bucket)} })
}

func TestReorderedIsABucket(t *testing.T) {
	buckettest.Run(t, func(*testing.T) storage.Bucket {
		return buckettest.Reordered{Bucket: new(membucket.Bucket), Order: slices.Reverse[[]string]}
	})
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault        buckettest.Fault
		stored, live bool
	}{
		{buckettest.FailBefore, false, true},
		{buckettest.LoseAnswer, true, true},
		{buckettest.CrashBefore, false, false},
		{buckettest.CrashAfter, true, false},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			inner := new(membucket.Bucket)
			faulty := &buckettest.Faulty{Bucket: inner, At: 2, Fault: c.fault}
			require.NoError(t, faulty.Put(t.Context(), "one", strings.NewReader("1")))
			require.ErrorIs(t, faulty.Put(t.Context(), "two", strings.NewReader("2")), buckettest.ErrInjected)
			_, err := inner.Stat(t.Context(), "two")
			require.Equal(t, c.stored, err == nil, "stored")
			require.Equal(t, c.live, faulty.Put(t.Context(), "three", strings.NewReader("3")) == nil, "live")
			_, err = faulty.Stat(t.Context(), "one")
			require.Equal(t, c.live, err == nil, "live for stat")
			want := []string{"one", "two"}
			if c.live {
				want = append(want, "three")
			}
			if diff := cmp.Diff(want, faulty.Writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}
