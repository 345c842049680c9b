package membucket

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"pugmark.dev/conform/storage"
)

// Bucket is a [storage.Bucket] in memory. The zero value is empty and ready.
type Bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
}

// Get implements [storage.Bucket].
func (b *Bucket) Get(ctx context.Context, key string) (*storage.Object, error) {
	data, err := b.lookup(ctx, key)
	if err != nil {
		return nil, err
	}
	return &storage.Object{ReadCloser: io.NopCloser(bytes.NewReader(data)), Size: int64(len(data))}, nil
}

// Put implements [storage.Bucket].
func (b *Bucket) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("storing %s: %w", key, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, found := b.objects[key]; found {
		return fmt.Errorf("object %s %w", key, storage.ErrExist)
	}
	if b.objects == nil {
		b.objects = make(map[string][]byte)
	}
	b.objects[key] = data
	return nil
}

// Stat implements [storage.Bucket].
func (b *Bucket) Stat(ctx context.Context, key string) (int64, error) {
	data, err := b.lookup(ctx, key)
	return int64(len(data)), err
}

// List implements [storage.Bucket]; the order is that of a Go map.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := checkPrefix(ctx, prefix); err != nil {
			yield("", err)
			return
		}
		b.mu.Lock()
		keys := slices.Collect(maps.Keys(b.objects))
		b.mu.Unlock()
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) && !yield(key, nil) {
				return
			}
		}
	}
}

func (b *Bucket) lookup(ctx context.Context, key string) ([]byte, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	data, found := b.objects[key]
	if !found {
		return nil, fmt.Errorf("object %s %w", key, storage.ErrNotExist)
	}
	return data, nil
}

func checkPrefix(ctx context.Context, prefix string) error {
	if slash := strings.LastIndexByte(prefix, '/'); slash >= 0 {
		return check(ctx, prefix[:slash])
	}
	return ctx.Err()
}

func check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return storage.CheckKey(key)
}
