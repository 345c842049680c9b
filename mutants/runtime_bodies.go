package mutants

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeStoredBodies keep bodies and memory otherwise than the rules S1 and S7 have.
func runtimeStoredBodies() []Mutant {
	return slices.Concat(runtimeAddresses(), runtimeNamespaces())
}

func runtimeAddresses() []Mutant {
	return []Mutant{
		{
			ID: "runtime/digests-the-heads-of-bodies", Requirement: "S1/content-address",
			Sentence: "The digest of a body that is not inlined is that of its first 1024 bytes.",
			Runtime: altering(func(at shelf, s *storage.Snapshot) error {
				return largeBodies(at, s, func(_ *storage.Entry, body []byte) string { return protocol.Digest(body[:storage.InlineLimit]) })
			}),
		},
		{
			ID: "runtime/keeps-a-copy-for-each-session", Requirement: "S1/one-copy",
			Sentence: "A body that another session has too is kept under a digest that is made of the session's ID as well.",
			Runtime:  copiesBodies,
		},
		{
			ID: "runtime/overwrites-bodies-by-name", Requirement: "S1/immutable-body",
			Sentence: "The body of an entry takes the place of the body of the entry of its name before.",
			Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return overwriting{&rewritable{Bucket: b}} }),
		},
		{
			ID: "runtime/keeps-4-kib-in-snapshots", Requirement: "S1/inline-limit",
			Sentence: "Snapshots repeat bodies of at most 4096 bytes.",
			Runtime: altering(func(at shelf, s *storage.Snapshot) error {
				return largeBodies(at, s, func(e *storage.Entry, body []byte) string {
					if len(body) <= 4096 {
						e.Data = body
					}
					return e.Digest
				})
			}),
		},
	}
}

// largeBodies looks at the bodies of a snapshot that are not inlined, and stores them
// under the digest that address returns too.
func largeBodies(at shelf, s *storage.Snapshot, address func(e *storage.Entry, body []byte) string) error {
	ctx := context.Background()
	for i := range s.Entries {
		e := &s.Entries[i]
		if e.Size <= storage.InlineLimit {
			continue
		}
		object, err := at.OpenBody(ctx, e.Digest)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(object)
		if err := errors.Join(err, object.Close()); err != nil {
			return err
		}
		e.Digest = address(e, body)
		key := "objects/sha256/" + strings.TrimPrefix(e.Digest, protocol.DigestPrefix)
		if err := at.Bucket.Put(ctx, key, bytes.NewReader(body)); err != nil && !errors.Is(err, storage.ErrExist) {
			return err
		}
	}
	return nil
}

// copiesBodies gives a large body that a session has already an address of its own in
// other sessions.
func copiesBodies() *stage.Reference {
	var mu sync.Mutex
	owner := map[storage.Bucket]map[string]string{}
	return altering(func(at shelf, s *storage.Snapshot) error {
		mu.Lock()
		defer mu.Unlock()
		owners := owner[at.Bucket]
		if owners == nil {
			owners = map[string]string{}
			owner[at.Bucket] = owners
		}
		return largeBodies(at, s, func(e *storage.Entry, _ []byte) string {
			if owners[e.Digest] == "" {
				owners[e.Digest] = at.session
			}
			if owners[e.Digest] == at.session {
				return e.Digest
			}
			sum := sha256.Sum256([]byte(at.session + e.Digest))
			return protocol.DigestPrefix + hex.EncodeToString(sum[:])
		})
	})()
}

// overwriting replaces the large bodies of older entries of a name.
type overwriting struct{ *rewritable }

func (o overwriting) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, ok := snapshotOf(key)
	if !ok {
		return o.rewritable.Put(ctx, key, body)
	}
	again, s, err := reread[storage.Snapshot](body)
	if err != nil {
		return err
	}
	if err := o.rewritable.Put(ctx, key, again); err != nil {
		return err
	}
	store := &storage.Store{Bucket: o.rewritable}
	newest := map[string]storage.Entry{}
	for _, e := range s.Entries {
		newest[e.Name] = e
	}
	for v := int64(1); v < s.Version; v++ {
		for older, err := range store.Entries(ctx, session, v) {
			if err != nil {
				return err
			}
			e, named := newest[older.Name]
			if !named || older.Name == "" || older.Size <= storage.InlineLimit || e.Digest == older.Digest {
				continue
			}
			object, err := store.OpenBody(ctx, e.Digest)
			if err != nil {
				return err
			}
			err = o.replace("objects/sha256/"+strings.TrimPrefix(older.Digest, protocol.DigestPrefix), object)
			if err := errors.Join(err, object.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

func runtimeNamespaces() []Mutant {
	return []Mutant{
		{
			ID: "runtime/overwrites-memory-that-came-meanwhile", Requirement: "S7/memory-commit",
			Sentence: "A version of a namespace takes the place of one that was committed at the same time.",
			Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return memoryRace{&rewritable{Bucket: b}} }),
		},
		{
			ID: "runtime/keeps-what-memory-has", Requirement: "S7/memory-latest",
			Sentence: "A memory object that exists is not written anew.",
			Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return steadfast{b} }),
		},
		{
			ID: "runtime/gives-each-session-its-memory", Requirement: "S7/memory-shared",
			Sentence: "A session reads the memory that it wrote itself.",
			Runtime: outgoing(func(_ context.Context, run running, _ reference.Invocation) taker {
				return taker{output: func(record protocol.Record[protocol.Output], route protocol.Route, next pass) error {
					if route.Kind == protocol.RouteMemory {
						record.Value.Name = "memories/" + run.session + strings.TrimPrefix(record.Value.Name, "memories")
					}
					return next(record)
				}}
			}, servingOwnMemory),
		},
	}
}

// servingOwnMemory has the memory server of a run look into the session's own part.
func servingOwnMemory(run running) {
	run.MemoryServer = func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			q = q.Clone(q.Context())
			own := func(path string) string { return "/memories/" + run.session + strings.TrimPrefix(path, "/memories") }
			q.URL.RawPath, q.URL.Path = own(q.URL.EscapedPath()), own(q.URL.Path)
			h.ServeHTTP(w, q)
		})
	}
}

// memoryRace replaces versions of namespaces that are taken.
type memoryRace struct{ *rewritable }

func (m memoryRace) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if !strings.HasPrefix(key, "memories/") {
		return m.rewritable.Put(ctx, key, body)
	}
	time.Sleep(raceTime)
	err := m.rewritable.Put(ctx, key, body)
	if !errors.Is(err, storage.ErrExist) {
		return err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return m.replace(key, body)
}

// steadfast leaves out of memory writes what exists.
type steadfast struct{ storage.Bucket }

func (f steadfast) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	rest, ok := strings.CutPrefix(key, "memories/")
	if !ok {
		return f.Bucket.Put(ctx, key, body)
	}
	segment, _, _ := strings.Cut(rest, "/")
	namespace, err := url.PathUnescape(segment)
	if err != nil {
		return err
	}
	store := &storage.Store{Bucket: f.Bucket}
	written, err := rewritten(body, func(s *storage.Snapshot) error {
		seen := map[string]bool{}
		s.Entries = slices.DeleteFunc(s.Entries, func(e storage.Entry) bool {
			_, err := store.MemoryEntry(ctx, namespace, e.Name)
			exists := err == nil || seen[e.Name]
			seen[e.Name] = true
			return exists
		})
		renumber(s)
		return nil
	})
	if err != nil {
		return err
	}
	return f.Bucket.Put(ctx, key, written)
}
