package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync"

	"pugmark.dev/conform/storage"
)

// runtimeStores put other things into the store than they should.
func runtimeStores() []Mutant {
	storing := func(id, requirement, sentence string, wrap func(storage.Bucket) storage.Bucket) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: keeping(wrap),
		}
	}
	return []Mutant{
		storing("makes-children-at-once", "P11.1/pending-first",
			"A fork's child exists as soon as the fork is recorded.",
			func(b storage.Bucket) storage.Bucket { return eager{b} }),
		storing("makes-no-children", "P11.1/before-inputs",
			"A fork's child is never made.",
			func(b storage.Bucket) storage.Bucket { return &barren{Bucket: b} }),
	}
}

// sessionOf takes the key of a session's file apart.
func sessionOf(key string) (session, file string, ok bool) {
	rest, ok := strings.CutPrefix(key, "sessions/")
	session, file, cut := strings.Cut(rest, "/")
	return session, file, ok && cut
}

// versionOf is the version that a session's file holds, or 0.
func versionOf(file string) int64 {
	digits, ok := strings.CutPrefix(file, "snapshots/")
	version, err := strconv.ParseInt(strings.TrimSuffix(digits, ".json"), 10, 64)
	if !ok || err != nil {
		return 0
	}
	return version
}

// snapshotOf is the session whose snapshot a key names.
func snapshotOf(key string) (session string, ok bool) {
	session, file, ok := sessionOf(key)
	return session, ok && versionOf(file) > 0
}

// eager makes the children of the forks that a snapshot records when it is stored.
type eager struct{ storage.Bucket }

func (e eager) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if err := e.Bucket.Put(ctx, key, body); err != nil {
		return err
	}
	session, file, ok := sessionOf(key)
	version := versionOf(file)
	if !ok || version == 0 {
		return nil
	}
	store := &storage.Store{Bucket: e.Bucket}
	for entry, err := range store.Entries(ctx, session, version) {
		if err != nil {
			return err
		}
		if !entry.Fork {
			continue
		}
		child := storage.Manifest{Session: entry.TargetSession, Parent: &storage.Version{Session: session, Version: version}}
		if _, _, err := store.CreateSession(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

// barren stores nothing of children, and says that it did.
type barren struct {
	storage.Bucket
	mu       sync.Mutex
	children map[string]bool
}

func (b *barren) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, file, ok := sessionOf(key)
	if !ok {
		return b.Bucket.Put(ctx, key, body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var manifest storage.Manifest
	if file == "manifest.json" && json.Unmarshal(text, &manifest) == nil && manifest.Parent != nil {
		if b.children == nil {
			b.children = map[string]bool{}
		}
		b.children[session] = true
	}
	if b.children[session] {
		return nil
	}
	return b.Bucket.Put(ctx, key, bytes.NewReader(text))
}
