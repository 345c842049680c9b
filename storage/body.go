package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

const digestPrefix = "sha256:"

// Body is what an entry says of a stored body.
type Body struct {
	// Digest is "sha256:" and 64 lower-case hex digits.
	Digest string
	// Size is the length in bytes.
	Size int64
	// Data is the body again if it has at most [InlineLimit] bytes, else nil.
	Data []byte
}

// PutBody stores everything that r gives under its content address, once
// (S1/content-address, S1/one-copy). The body is never held in memory whole,
// unless it is small. What comes from a [Spool] is not spooled again.
func (s *Store) PutBody(ctx context.Context, r io.Reader) (Body, error) {
	if spooled, ok := r.(spoolReader); ok {
		return s.putSpooled(ctx, spooled)
	}
	var spool Spool
	defer spool.Close()
	if _, err := io.Copy(&spool, r); err != nil {
		return Body{}, fmt.Errorf("reading a body: %w", err)
	}
	return s.putSpooled(ctx, spool.Reader())
}

func (s *Store) putSpooled(ctx context.Context, spooled io.ReadSeeker) (Body, error) {
	start, err := spooled.Seek(0, io.SeekCurrent)
	if err != nil {
		return Body{}, fmt.Errorf("reading a body: %w", err)
	}
	// again goes back to where the body begins.
	again := func() error {
		if _, err := spooled.Seek(start, io.SeekStart); err != nil {
			return fmt.Errorf("reading a body back: %w", err)
		}
		return nil
	}
	hash := sha256.New()
	size, err := io.Copy(hash, spooled)
	if err != nil {
		return Body{}, fmt.Errorf("reading a body: %w", err)
	}
	body := Body{Digest: digestPrefix + hex.EncodeToString(hash.Sum(nil)), Size: size}
	if size > 0 && size <= InlineLimit {
		if err := again(); err != nil {
			return Body{}, err
		}
		if body.Data, err = io.ReadAll(spooled); err != nil {
			return Body{}, fmt.Errorf("reading a body back: %w", err)
		}
	}
	key, err := bodyKey(body.Digest)
	if err != nil {
		return Body{}, err
	}
	if err := again(); err != nil {
		return Body{}, err
	}
	putErr := s.Bucket.Put(ctx, key, spooled)
	if putErr == nil || errors.Is(putErr, ErrExist) {
		return body, nil
	}
	// The answer may have been lost after the body was stored. An object under a
	// content address can only be this body.
	if size, err := s.Bucket.Stat(ctx, key); err == nil && size == body.Size {
		return body, nil
	}
	return Body{}, fmt.Errorf("storing body %s: %w", body.Digest, putErr)
}

// OpenBody opens the body with a digest, or [ErrNotExist].
func (s *Store) OpenBody(ctx context.Context, digest string) (*Object, error) {
	key, err := bodyKey(digest)
	if err != nil {
		return nil, err
	}
	object, err := s.Bucket.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("body %s: %w", digest, err)
	}
	return object, nil
}
