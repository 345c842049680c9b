package storage_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/buckettest"
	"pugmark.dev/conform/storage/membucket"
)

func TestBodies(t *testing.T) {
	store := newStore(t)
	big := bytes.Repeat([]byte("0123456789"), 300_000)
	for _, c := range []struct {
		body   []byte
		digest string // by sha256sum
		inline bool
	}{
		{nil, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", false},
		{[]byte("hello"), "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", true},
		{big[:1024], "", true},
		{big[:1025], "", false},
		{big, "", false},
	} {
		stored, err := store.PutBody(t.Context(), bytes.NewReader(c.body))
		require.NoError(t, err)
		again, err := store.PutBody(t.Context(), bytes.NewReader(c.body))
		require.NoError(t, err)
		if diff := cmp.Diff(stored, again); diff != "" {
			t.Errorf("the second put (-want +got):\n%s", diff)
		}
		if c.digest != "" {
			require.Equal(t, c.digest, stored.Digest)
		}
		require.EqualValues(t, len(c.body), stored.Size)
		if c.inline {
			require.Equal(t, c.body, stored.Data)
		} else {
			require.Empty(t, stored.Data)
		}
		object, err := store.OpenBody(t.Context(), stored.Digest)
		require.NoError(t, err)
		got, err := io.ReadAll(object)
		require.NoError(t, err)
		require.True(t, bytes.Equal(c.body, got))
		require.EqualValues(t, len(c.body), object.Size)
		require.NoError(t, object.Close())
	}
	for _, digest := range []string{"sha256:../../x", "md5:00", "sha256:" + strings.Repeat("A", 64)} {
		_, err := store.OpenBody(t.Context(), digest)
		require.ErrorIs(t, err, storage.ErrInvalidName)
	}
	_, err := store.OpenBody(t.Context(), "sha256:"+strings.Repeat("0", 64))
	require.ErrorIs(t, err, storage.ErrNotExist)
}

func TestBodyIsStoredOnce(t *testing.T) {
	bucket := &buckettest.Faulty{Bucket: new(membucket.Bucket)}
	store := &storage.Store{Bucket: bucket}
	for range 3 {
		_, err := store.PutBody(t.Context(), strings.NewReader("hello"))
		require.NoError(t, err)
	}
	var keys []string
	for key, err := range bucket.List(t.Context(), "") {
		require.NoError(t, err)
		keys = append(keys, key)
	}
	want := []string{"objects/sha256/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestBodyFromASpoolIsReadFromItsOffset(t *testing.T) {
	store := newStore(t)
	var spool storage.Spool
	defer spool.Close()
	_, err := io.WriteString(&spool, "skipped, hello")
	require.NoError(t, err)
	reader := spool.Reader()
	_, err = reader.Seek(int64(len("skipped, ")), io.SeekStart)
	require.NoError(t, err)
	stored, err := store.PutBody(t.Context(), reader)
	require.NoError(t, err)
	want := storage.Body{Digest: "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", Size: 5, Data: []byte("hello")}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	object, err := store.OpenBody(t.Context(), stored.Digest)
	require.NoError(t, err)
	defer object.Close()
	data, err := io.ReadAll(object)
	require.NoError(t, err)
	require.Equal(t, "hello", string(data))
}
