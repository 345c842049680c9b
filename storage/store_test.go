package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/buckettest"
	"pugmark.dev/conform/storage/membucket"
)

const (
	alpha = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	beta  = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func newStore(t *testing.T, sessions ...string) *storage.Store {
	t.Helper()
	store := &storage.Store{Bucket: new(membucket.Bucket)}
	for _, session := range sessions {
		_, created, err := store.CreateSession(t.Context(), storage.Manifest{Session: session})
		require.NoError(t, err)
		require.True(t, created)
	}
	return store
}

func named(names ...string) []storage.Entry {
	var entries []storage.Entry
	for _, name := range names {
		entries = append(entries, storage.Entry{Name: name})
	}
	return entries
}

func commit(t *testing.T, store *storage.Store, session string, version int64, names ...string) {
	t.Helper()
	require.NoError(t, store.Commit(t.Context(), session, storage.Snapshot{
		Head: storage.Head{Version: version, Type: storage.Normal}, Entries: named(names...),
	}))
}

// lines reads a session's whole log as "version.sequence name" lines.
func lines(t *testing.T, store *storage.Store, session string) []string {
	t.Helper()
	version, err := store.Version(t.Context(), session)
	require.NoError(t, err)
	var got []string
	for v := int64(1); v <= version; v++ {
		for entry, err := range store.Entries(t.Context(), session, v) {
			require.NoError(t, err)
			got = append(got, fmt.Sprintf("%d.%d %s", v, entry.Sequence, entry.Name))
		}
	}
	return got
}

func TestOfManyCreatorsOneWinsAndTheOthersLoad(t *testing.T) {
	store := newStore(t)
	const creators = 10
	var wg sync.WaitGroup
	manifests, created := make([]storage.Manifest, creators), make([]bool, creators)
	for i := range creators {
		wg.Go(func() {
			var err error
			// Even equal manifests have one creator.
			m := storage.Manifest{Session: alpha, Agent: fmt.Sprint("agent ", i/2)}
			manifests[i], created[i], err = store.CreateSession(context.Background(), m)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	winner := slices.Index(created, true)
	require.NotEqual(t, -1, winner)
	require.Equal(t, -1, slices.Index(created[winner+1:], true), "a second creator")
	for _, manifest := range manifests {
		require.Equal(t, fmt.Sprint("agent ", winner/2), manifest.Agent)
	}
}

func TestManifestIsGivenBack(t *testing.T) {
	store := newStore(t)
	want := storage.Manifest{
		Session: alpha, Agent: "agent", Handler: "python", Metadata: map[string]string{"k": "é"},
		Parent: &storage.Version{Session: beta, Version: 3},
	}
	_, _, err := store.CreateSession(t.Context(), want)
	require.NoError(t, err)
	got, err := store.Manifest(t.Context(), alpha)
	require.NoError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	_, err = store.Manifest(t.Context(), beta)
	require.ErrorIs(t, err, storage.ErrNotExist)
}

func TestSequenceRisesThroughTheSession(t *testing.T) {
	store := newStore(t, alpha)
	commit(t, store, alpha, 1, "a", "b")
	commit(t, store, alpha, 2)
	commit(t, store, alpha, 3, "c")
	want := []string{"1.1 a", "1.2 b", "3.3 c"}
	if diff := cmp.Diff(want, lines(t, store, alpha)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestCommitOfATakenVersionIsAConflict(t *testing.T) {
	store := newStore(t, alpha)
	commit(t, store, alpha, 1, "first")
	err := store.Commit(t.Context(), alpha, storage.Snapshot{Head: storage.Head{Version: 1}, Entries: named("second")})
	require.ErrorIs(t, err, storage.ErrConflict)
	require.Equal(t, []string{"1.1 first"}, lines(t, store, alpha))
}

func TestCommitOfEqualEntriesIsAConflictToo(t *testing.T) {
	store := newStore(t, alpha)
	commit(t, store, alpha, 1, "same")
	err := store.Commit(t.Context(), alpha, storage.Snapshot{
		Head: storage.Head{Version: 1, Type: storage.Normal}, Entries: named("same"),
	})
	require.ErrorIs(t, err, storage.ErrConflict)
}

func TestCommitLeavesNoHole(t *testing.T) {
	store := newStore(t, alpha)
	for _, version := range []int64{-1, 0, 2} {
		require.Error(t, store.Commit(t.Context(), alpha, storage.Snapshot{Head: storage.Head{Version: version}}))
	}
	version, err := store.Version(t.Context(), alpha)
	require.NoError(t, err)
	require.Zero(t, version)
}

// F35: versions are numbers, whatever the order of a listing.
func TestCurrentVersionDoesNotDependOnListOrder(t *testing.T) {
	store := newStore(t, alpha)
	bucket := store.Bucket
	for version := int64(1); version <= 12; version++ {
		commit(t, store, alpha, version, fmt.Sprint("entry ", version))
	}
	for name, order := range map[string]func([]string){
		"text":    slices.Sort[[]string],
		"reverse": func(keys []string) { slices.Sort(keys); slices.Reverse(keys) },
		"random":  func(keys []string) { rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] }) },
	} {
		t.Run(name, func(t *testing.T) {
			store := &storage.Store{Bucket: buckettest.Reordered{Bucket: bucket, Order: order}}
			version, err := store.Version(t.Context(), alpha)
			require.NoError(t, err)
			require.EqualValues(t, 12, version)
		})
	}
}

// F28, F29: a commit counts when it is seen, not when it is hoped for.
func TestCommitWhoseAnswerIsLost(t *testing.T) {
	for _, c := range []struct {
		fault     buckettest.Fault
		committed bool
	}{
		{buckettest.LoseAnswer, true},
		{buckettest.FailBefore, false},
		{buckettest.CrashBefore, false},
		{buckettest.CrashAfter, false}, // stored, but no one can know: an error
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			store := newStore(t, alpha)
			store.Bucket = &buckettest.Faulty{Bucket: store.Bucket, At: 1, Fault: c.fault}
			err := store.Commit(t.Context(), alpha, storage.Snapshot{Head: storage.Head{Version: 1}, Entries: named("a")})
			if c.committed {
				require.NoError(t, err)
				require.Equal(t, []string{"1.1 a"}, lines(t, store, alpha))
			} else {
				require.ErrorIs(t, err, buckettest.ErrInjected)
				require.NotErrorIs(t, err, storage.ErrConflict)
			}
		})
	}
}

// F29: the answer to a commit is lost and the look at what became of it is refused.
// Nobody knows then; the error says so, and what may be visible is left as it is.
func TestCommitThatNobodyKnowsOf(t *testing.T) {
	store := newStore(t, alpha)
	inner := store.Bucket
	body, err := store.PutBody(t.Context(), strings.NewReader(strings.Repeat("x", 2000)))
	require.NoError(t, err)
	snapshot := storage.Snapshot{
		Head:    storage.Head{Version: 1, Type: storage.Normal},
		Entries: []storage.Entry{{Name: "a", Digest: body.Digest, Size: body.Size}},
	}
	store.Bucket = &forgetful{Bucket: inner}
	err = store.Commit(t.Context(), alpha, snapshot)
	require.ErrorIs(t, err, errForgotten)
	require.ErrorContains(t, err, "may or may not be stored")
	require.NotErrorIs(t, err, storage.ErrConflict)

	later := &storage.Store{Bucket: inner}
	require.Equal(t, []string{"1.1 a"}, lines(t, later, alpha))
	object, err := later.OpenBody(t.Context(), body.Digest)
	require.NoError(t, err)
	require.EqualValues(t, 2000, object.Size)
	require.NoError(t, object.Close())
	require.ErrorIs(t, later.Commit(t.Context(), alpha, snapshot), storage.ErrConflict, "what was stored counts")
}

var errForgotten = errors.New("no answer")

// forgetful loses the answer to a put, and refuses the next get.
type forgetful struct {
	storage.Bucket
	lost bool
}

func (f *forgetful) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	f.lost = true
	return errors.Join(errForgotten, f.Bucket.Put(ctx, key, body))
}

func (f *forgetful) Get(ctx context.Context, key string) (*storage.Object, error) {
	if f.lost {
		f.lost = false
		return nil, errForgotten
	}
	return f.Bucket.Get(ctx, key)
}

func TestWhatIsKnownOfEarlierVersionsNeverFalls(t *testing.T) {
	store := newStore(t, alpha)
	for version, known := range []int64{0, 1, 0} {
		require.NoError(t, store.Commit(t.Context(), alpha, storage.Snapshot{
			Head: storage.Head{Version: int64(version) + 1, Settled: known, Invoked: 2 * known, Controlled: 2 * known},
		}))
	}
	_, err := store.Append(t.Context(), alpha, storage.Queueing, named("pushed"))
	require.NoError(t, err)
	head, err := store.Head(t.Context(), alpha, 4)
	require.NoError(t, err)
	require.EqualValues(t, 1, head.Settled)
	require.EqualValues(t, 2, head.Invoked)
	require.EqualValues(t, 2, head.Controlled)
}

func TestConcurrentAppendsAllLand(t *testing.T) {
	store := newStore(t, alpha)
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := store.Append(context.Background(), alpha, storage.Queueing, named(fmt.Sprint(w, "/", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	version, err := store.Version(t.Context(), alpha)
	require.NoError(t, err)
	require.EqualValues(t, writers*each, version)
	names := map[string]int{}
	for _, line := range lines(t, store, alpha) {
		names[line[strings.IndexByte(line, ' '):]]++
	}
	require.Len(t, names, writers*each)
}

func TestAppendToAMissingSessionIsRefused(t *testing.T) {
	store := newStore(t)
	_, err := store.Append(t.Context(), alpha, storage.Queueing, named("a"))
	require.ErrorIs(t, err, storage.ErrNotExist)
	version, err := store.Version(t.Context(), alpha)
	require.NoError(t, err)
	require.Zero(t, version)
}

func TestDeliveryIsIdempotent(t *testing.T) {
	store := newStore(t, alpha, beta)
	commit(t, store, beta, 1, "before")
	source := storage.Version{Session: alpha, Version: 4}
	deliver := func() bool {
		entries := []storage.Entry{{Name: "x", TargetSession: beta, TargetVersion: 1}, {Name: "y", TargetSession: beta}}
		written, err := store.Deliver(t.Context(), beta, source, 1, entries)
		require.NoError(t, err)
		return written
	}
	require.True(t, deliver())
	commit(t, store, beta, 3, "after")
	require.False(t, deliver(), "the second delivery")
	require.Equal(t, []string{"1.1 before", "2.2 x", "2.3 y", "3.4 after"}, lines(t, store, beta))
	head, err := store.Head(t.Context(), beta, 2)
	require.NoError(t, err)
	require.Equal(t, storage.Provisional, head.Type)
	for entry, err := range store.Entries(t.Context(), beta, 2) {
		require.NoError(t, err)
		want := storage.Entry{Sequence: entry.Sequence, Name: entry.Name, SourceSession: alpha, SourceVersion: 4}
		if diff := cmp.Diff(want, entry); diff != "" {
			t.Errorf("delivered entry (-want +got):\n%s", diff)
		}
	}
}

func TestOfConcurrentDeliveriesOneWrites(t *testing.T) {
	store := newStore(t, alpha, beta)
	source := storage.Version{Session: alpha, Version: 1}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := store.Deliver(context.Background(), beta, source, 0, named("once")); err != nil {
				t.Error(err)
			}
			if _, err := store.Append(context.Background(), beta, storage.Queueing, named(fmt.Sprint("noise ", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	count := 0
	for _, line := range lines(t, store, beta) {
		if strings.HasSuffix(line, " once") {
			count++
		}
	}
	require.Equal(t, 1, count)
}

func TestSnapshotFileThatIsCutIsAnError(t *testing.T) {
	bucket := new(membucket.Bucket)
	store := &storage.Store{Bucket: bucket}
	key := "sessions/" + alpha + "/snapshots/00000000000000000001.json"
	whole := `{"version":1,"commit":"c","count":2,"entries":[{"sequence":1,"digest":"d","size":0},{"sequence":2,"digest":"d","size":0}]}`
	require.NoError(t, bucket.Put(t.Context(), key, strings.NewReader(whole[:strings.LastIndex(whole, ",{")])))
	var last error
	for _, err := range store.Entries(t.Context(), alpha, 1) {
		last = err
	}
	require.Error(t, last)
}

func TestAFileThatNoStoreWroteIsDamage(t *testing.T) {
	const at = "sessions/" + alpha + "/snapshots/00000000000000000001.json"
	for content, why := range map[string]string{
		"":                                    "EOF",
		"{}":                                  "no entries",
		`[]`:                                  "no entries",
		`{"version":1`:                        "unexpected EOF",
		`{"version":2,"entries":[]}`:          "it says version 2",
		`{"version":"x","entries":[]}`:        "version",
		`{"version":1,"entries":[`:            "EOF",
		`{"version":1,"entries":[{"size":`:    "EOF",
		`{"version":1,"entries":[{}` + "\x1b": "invalid character",
	} {
		bucket := new(membucket.Bucket)
		require.NoError(t, bucket.Put(t.Context(), at, strings.NewReader(content)))
		var last error
		for _, err := range (&storage.Store{Bucket: bucket}).Entries(t.Context(), alpha, 1) {
			last = err
		}
		require.ErrorIs(t, last, storage.ErrDamaged, content)
		require.ErrorContains(t, last, at+" is damaged: ")
		require.ErrorContains(t, last, why, content)
	}
	for content, why := range map[string]string{
		"":                              "EOF",
		`{"session":"` + alpha + `"`:    "unexpected EOF",
		`{"session":"` + beta + `"}`:    `it is of session "` + beta + `"`,
		`{"session":["` + alpha + `"]}`: "session",
	} {
		bucket := new(membucket.Bucket)
		require.NoError(t, bucket.Put(t.Context(), "sessions/"+alpha+"/manifest.json", strings.NewReader(content)))
		_, err := (&storage.Store{Bucket: bucket}).Manifest(t.Context(), alpha)
		require.ErrorIs(t, err, storage.ErrDamaged, content)
		require.ErrorContains(t, err, "sessions/"+alpha+"/manifest.json is damaged: ")
		require.ErrorContains(t, err, why)
	}
}

// What did not arrive whole says nothing of what is stored.
func TestAnAnswerThatIsCutIsNoDamage(t *testing.T) {
	const at = "sessions/" + alpha + "/snapshots/00000000000000000001.json"
	bucket := new(membucket.Bucket)
	require.NoError(t, bucket.Put(t.Context(), at, strings.NewReader(`{"version":1,"entries":[]}`)))
	store := &storage.Store{Bucket: cutting{bucket}}
	_, err := store.Head(t.Context(), alpha, 1)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NotErrorIs(t, err, storage.ErrDamaged)
}

// cutting is a bucket whose answers end early, as an HTTP client tells it.
type cutting struct{ storage.Bucket }

func (c cutting) Get(ctx context.Context, key string) (*storage.Object, error) {
	object, err := c.Bucket.Get(ctx, key)
	if err == nil {
		cut := io.MultiReader(io.LimitReader(object.ReadCloser, 10), iotest.ErrReader(io.ErrUnexpectedEOF))
		object.ReadCloser = io.NopCloser(cut)
	}
	return object, err
}

func TestAMissingSessionIsNamed(t *testing.T) {
	_, err := (&storage.Store{Bucket: new(membucket.Bucket)}).Manifest(t.Context(), alpha)
	var missing *storage.NoSessionError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, alpha, missing.Session)
	require.ErrorIs(t, err, storage.ErrNotExist)
	require.EqualError(t, err, "session "+alpha+" does not exist")
}
