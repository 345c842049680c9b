package protocol

import (
	"bufio"
	"errors"
	"io"
)

// sourceSize is how many bytes a decoder asks its reader for at once.
const sourceSize = 64 << 10

// maxEmptyReads is how often a reader may give neither bytes nor an error.
const maxEmptyReads = 100

// source stands between a reader and the JSON decoder, so that what lies between
// records can be looked at, and skipped, without being kept.
type source struct {
	// held goes before everything still in r.
	held []byte
	r    *bufio.Reader
	// err is what r ended with. It is kept, since it may come with bytes, which go
	// first.
	err error
	// told says that err was handed on, so that what follows is due to it. The JSON
	// decoder passes errors on in a wrapping that depends on the depth it was at.
	told bool
}

// end hands on what r ended with.
func (s *source) end() error {
	s.told = true
	return s.err
}

// failed returns the error of the reader that was handed on, unless there was none
// or it was the end.
func (s *source) failed() error {
	if !s.told || errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// Read gives the bytes that are there, after at most one read that yields some.
func (s *source) Read(p []byte) (int, error) {
	if len(s.held) > 0 {
		n := copy(p, s.held)
		s.held = s.held[n:]
		return n, nil
	}
	if len(p) == 0 {
		return 0, nil
	}
	for range maxEmptyReads {
		if s.err != nil {
			return 0, s.end()
		}
		var n int
		if n, s.err = s.r.Read(p); n > 0 {
			return n, nil
		}
	}
	s.err = io.ErrNoProgress
	return 0, s.end()
}

// skipSpace drops JSON whitespace up to the next other byte, and returns that
// byte and how many bytes it dropped. It waits for that byte; without one, err is
// what the reader ended with.
func (s *source) skipSpace() (next byte, skipped int64, err error) {
	n := countSpace(s.held)
	s.held = s.held[n:]
	skipped = int64(n)
	if len(s.held) > 0 {
		return s.held[0], skipped, nil
	}
	for {
		if s.err != nil {
			return 0, skipped, s.end()
		}
		if _, s.err = s.r.Peek(1); s.err != nil {
			continue
		}
		b, _ := s.r.Peek(s.r.Buffered())
		n := countSpace(b)
		if n < len(b) {
			next = b[n]
		}
		n, s.err = s.r.Discard(n)
		skipped += int64(n)
		if n < len(b) {
			return next, skipped, nil
		}
	}
}

// appendArrived appends to dst what was read already and not yet handed on, as
// long as dst is shorter than limit. It never reads.
func (s *source) appendArrived(dst []byte, limit int) []byte {
	dst = appendUpTo(dst, s.held, limit)
	b, _ := s.r.Peek(min(s.r.Buffered(), max(limit-len(dst), 0)))
	return appendUpTo(dst, b, limit)
}

// appendAwaited appends to dst until it has limit bytes, and waits for them. It
// returns less only when the reader has ended.
func (s *source) appendAwaited(dst []byte, limit int) []byte {
	dst = appendUpTo(dst, s.held, limit)
	n := limit - len(dst)
	if n <= 0 {
		return dst
	}
	if s.err == nil {
		var b []byte
		b, s.err = s.r.Peek(n)
		dst = append(dst, b...)
	}
	s.told = s.err != nil
	return dst
}

// appendUpTo appends of src what fits into limit bytes of dst.
func appendUpTo(dst, src []byte, limit int) []byte {
	return append(dst, src[:min(len(src), max(limit-len(dst), 0))]...)
}

// countSpace counts the JSON whitespace that b begins with.
func countSpace(b []byte) int {
	for i, c := range b {
		if !isSpace(c) {
			return i
		}
	}
	return len(b)
}

// isSpace reports whether c is whitespace of JSON (P3/any-whitespace).
func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r'
}
