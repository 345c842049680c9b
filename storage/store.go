package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// Store keeps sessions, bodies and memory namespaces in a [Bucket]. All methods
// may be called from several goroutines, and several Stores may share a bucket.
type Store struct {
	// Bucket holds the objects.
	Bucket Bucket
	// Token returns a fresh, unguessable word for each committed file, by which
	// a writer knows its own commit again when the answer to it was lost. Nil
	// means 16 random bytes in hex.
	Token func() string
}

func (s *Store) token() string {
	if s.Token != nil {
		return s.Token()
	}
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails; it ends the program if it must
	return hex.EncodeToString(raw[:])
}

// createJSON stores value under key if absent. The error is [ErrExist] only if
// the object there is not this value. Since value carries a token, an object
// with equal bytes is this very write, whose answer was lost on the way or
// turned into "exists" by a silent retry below us; so the object is read back
// after every error, and a write counts as done when it is seen, never when it
// is hoped for.
func (s *Store) createJSON(ctx context.Context, key string, value any) error {
	data, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding %s: %w", key, err)
	}
	putErr := s.Bucket.Put(ctx, key, bytes.NewReader(data))
	if putErr == nil {
		return nil
	}
	stored, err := s.readAll(ctx, key)
	switch {
	case err == nil && bytes.Equal(stored, data):
		return nil
	case err == nil:
		return fmt.Errorf("%s %w", key, ErrExist)
	case errors.Is(err, ErrNotExist):
		return putErr // which names the key
	default:
		return fmt.Errorf("writing %s, which may or may not be stored: %w; reading it back: %w", key, putErr, err)
	}
}

func (s *Store) readAll(ctx context.Context, key string) ([]byte, error) {
	object, err := s.Bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	return io.ReadAll(object)
}

func (s *Store) readJSON(ctx context.Context, key string, value any) error {
	data, err := s.readAll(ctx, key)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return damaged(key, err)
	}
	return nil
}

// damaged says that the object under a key can't be what a store wrote there.
func damaged(key string, why error) error { return fmt.Errorf("%s %w: %w", key, ErrDamaged, why) }
