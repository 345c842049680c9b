package mutants

import (
	"bytes"
	"context"
	"io"
	"iter"
	"regexp"
	"strings"
	"sync"

	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeCrashes keep in the memory of their process what belongs into the store. No
// one can tell before the process is killed.
func runtimeCrashes() []Mutant {
	remembering := func(id, requirement, sentence string, process func(storage.Bucket) storage.Bucket) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: func() *stage.Reference { return &stage.Reference{Process: process} },
		}
	}
	return []Mutant{
		remembering("writes-behind", "S3/append-only",
			"Of what is committed the last file reaches the store with the next one.",
			func(b storage.Bucket) storage.Bucket { return &behind{Bucket: b} }),
		remembering("remembers-deliveries-alone", "P12/idempotent",
			"That a write has reached its target is known to the process that has brought it there, and to no other.",
			func(b storage.Bucket) storage.Bucket { return &forgetful{Bucket: b, own: map[string]bool{}} }),
	}
}

// behind holds back the last object that was put, and shows it all the same.
type behind struct {
	storage.Bucket
	mu   sync.Mutex
	key  string // empty while nothing is held back
	body []byte
}

func (b *behind) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if err := storage.CheckKey(key); err != nil {
		return err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.Bucket.Stat(ctx, key); err == nil || key == b.key {
		return storage.ErrExist
	}
	if b.key != "" {
		if err := b.Bucket.Put(ctx, b.key, bytes.NewReader(b.body)); err != nil {
			return err
		}
	}
	b.key, b.body = key, text
	return nil
}

// held is the object that is held back, if it has that key.
func (b *behind) held(key string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.body, b.key == key && key != ""
}

func (b *behind) Get(ctx context.Context, key string) (*storage.Object, error) {
	if body, ok := b.held(key); ok {
		return &storage.Object{ReadCloser: io.NopCloser(bytes.NewReader(body)), Size: int64(len(body))}, nil
	}
	return b.Bucket.Get(ctx, key)
}

func (b *behind) Stat(ctx context.Context, key string) (int64, error) {
	if body, ok := b.held(key); ok {
		return int64(len(body)), nil
	}
	return b.Bucket.Stat(ctx, key)
}

func (b *behind) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		b.mu.Lock()
		held := b.key
		b.mu.Unlock()
		for key, err := range b.Bucket.List(ctx, prefix) {
			if key == held {
				held = "" // it has just been put
			}
			if !yield(key, err) {
				return
			}
		}
		if held != "" && strings.HasPrefix(held, prefix) {
			yield(held, nil)
		}
	}
}

// forgetful sees the source of a cross-session write in those snapshots alone that
// were put through it.
type forgetful struct {
	storage.Bucket
	mu  sync.Mutex
	own map[string]bool
}

func (f *forgetful) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	err := f.Bucket.Put(ctx, key, body)
	if err == nil {
		f.mu.Lock()
		f.own[key] = true
		f.mu.Unlock()
	}
	return err
}

func (f *forgetful) Get(ctx context.Context, key string) (*storage.Object, error) {
	object, err := f.Bucket.Get(ctx, key)
	f.mu.Lock()
	own := f.own[key]
	f.mu.Unlock()
	if _, ok := snapshotOf(key); err != nil || own || !ok {
		return object, err
	}
	defer object.Close()
	text, err := io.ReadAll(object)
	if err != nil {
		return nil, err
	}
	text = regexp.MustCompile(`"source":\{[^}]*\},?`).ReplaceAll(text, nil)
	return &storage.Object{ReadCloser: io.NopCloser(bytes.NewReader(text)), Size: int64(len(text))}, nil
}
