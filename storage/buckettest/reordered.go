package buckettest

import (
	"context"
	"iter"

	"pugmark.dev/conform/storage"
)

// Reordered is a bucket that lists its keys in the order that Order makes of
// them; Order works in place.
type Reordered struct {
	storage.Bucket
	Order func(keys []string)
}

// List implements [storage.Bucket].
func (r Reordered) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var keys []string
		for key, err := range r.Bucket.List(ctx, prefix) {
			if err != nil {
				yield("", err)
				return
			}
			keys = append(keys, key)
		}
		r.Order(keys)
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	}
}
