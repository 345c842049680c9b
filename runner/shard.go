package runner

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Key names a result of a run: a case on a transport.
type Key struct{ ID, Transport string }

// String is the key as people write it.
func (k Key) String() string { return k.ID + " on " + k.Transport }

// Shard is one part of a run that is split, part Index of Count, from 1. The zero
// value is the whole.
type Shard struct{ Index, Count int }

// ParseShard reads I/N.
func ParseShard(text string) (Shard, error) {
	first, second, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if !ok || err1 != nil || err2 != nil || i < 1 || i > n {
		return Shard{}, fmt.Errorf("%q: I/N is wanted, part I of N, as 1/4", text)
	}
	return Shard{i, n}, nil
}

// String is I/N; the whole is 1/1.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", max(s.Index, 1), max(s.Count, 1)) }

// Of returns the keys that are the shard's, in their order. They are dealt out in the
// order of a hash of each key, so that the parts differ by one at the most, cases that
// stand together are spread, and the same keys give the same parts on every machine.
func (s Shard) Of(keys []Key) []Key {
	if s.Count <= 1 {
		return keys
	}
	hash := func(k Key) string {
		sum := sha256.Sum256([]byte(k.ID + "\x00" + k.Transport))
		return string(sum[:])
	}
	dealt := slices.Clone(keys)
	slices.SortFunc(dealt, func(a, b Key) int { return strings.Compare(hash(a), hash(b)) })
	mine := map[Key]bool{}
	for i, k := range dealt {
		if i%s.Count == s.Index-1 {
			mine[k] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return !mine[k] })
}
