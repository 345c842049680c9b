package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Bucket is a flat store of immutable objects. Package buckettest holds the
// contract that every implementation passes, decorators included. All methods
// may be called from several goroutines; a key that [CheckKey] refuses is
// answered with that error.
type Bucket interface {
	// Get opens the object at key. The error is [ErrNotExist] if there is none.
	Get(ctx context.Context, key string) (*Object, error)
	// Put stores body, from its present offset to its end, under key if there is
	// no object yet, and returns only when it is durable. The object appears
	// whole or not at all. The error is [ErrExist] if there is one already,
	// which is then left as it was. After any other error the caller can't know
	// whether the object was stored. A Put may seek in body to try again.
	Put(ctx context.Context, key string, body io.ReadSeeker) error
	// Stat returns the size in bytes of the object at key, or [ErrNotExist].
	Stat(ctx context.Context, key string) (int64, error)
	// List yields the keys that begin with prefix, in any order. An object put
	// while the listing runs may be missing from it. Errors end the sequence. What
	// stands before the last slash of prefix must be a key by [CheckKey].
	List(ctx context.Context, prefix string) iter.Seq2[string, error]
}

// Object is an open object of a [Bucket].
type Object struct {
	io.ReadCloser
	// Size is the length in bytes.
	Size int64
}

// What callers tell apart.
var (
	// ErrNotExist says that there is no such object, session or version.
	ErrNotExist = errors.New("does not exist")
	// ErrExist says that a create-if-absent found an object.
	ErrExist = errors.New("exists already")
	// ErrConflict says that another commit took the version (S3/optimistic-commit).
	ErrConflict = errors.New("version is taken")
	// ErrInvalidKey says that a bucket key is outside the alphabet of [CheckKey].
	ErrInvalidKey = errors.New("invalid key")
	// ErrInvalidName says that a session ID, namespace or object name is refused.
	ErrInvalidName = errors.New("invalid name")
	// ErrDamaged says that what stands under a key is not what a store writes there.
	ErrDamaged = errors.New("is damaged")
)

// MaxSegment is the longest segment of a key in bytes that a folder store takes.
// File systems allow 255; the rest is for the names of temporary files.
const MaxSegment = 200

// CheckKey returns an error that wraps [ErrInvalidKey] unless key is one or more
// segments joined by '/', each of the characters a-z 0-9 - _ . % and beginning
// with something other than a dot. With this alphabet neither letter case nor
// Unicode form can make two keys one on any file system, no key can leave its
// root, and names that begin with a dot stay free for temporary files. A key
// must not be both an object and a folder of others; some stores can't hold it.
func CheckKey(key string) error {
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" {
			return fmt.Errorf("%w %q: empty segment", ErrInvalidKey, key)
		}
		if segment[0] == '.' {
			return fmt.Errorf("%w %q: segment begins with a dot", ErrInvalidKey, key)
		}
		for i := range len(segment) {
			if !isKeyByte(segment[i]) {
				return fmt.Errorf("%w %q: byte %#02x", ErrInvalidKey, key, segment[i])
			}
		}
	}
	return nil
}

func isKeyByte(c byte) bool {
	return isPlainByte(c) || c == '.' || c == '%'
}

func isPlainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
