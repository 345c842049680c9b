package storage

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// versionDigits is the width of a version in a key: every int64 fits, and text
// order is numeric order for people who look at the folder. No code relies on
// the order.
const versionDigits = 20

const jsonSuffix = ".json"

func bodyKey(digest string) (string, error) {
	hex, found := strings.CutPrefix(digest, digestPrefix)
	if !found || !isHex(hex, 64) {
		return "", fmt.Errorf("%w: digest %q is not sha256: and 64 lower-case hex digits", ErrInvalidName, digest)
	}
	return "objects/sha256/" + hex, nil
}

func manifestKey(session string) string { return "sessions/" + session + "/manifest.json" }

func snapshotsPrefix(session string) string { return "sessions/" + session + "/snapshots/" }

const memoriesPrefix = "memories/"

func memoryPrefix(namespace string) string { return memoriesPrefix + escapeSegment(namespace) + "/" }

func versionKey(prefix string, version int64) string {
	return fmt.Sprintf("%s%0*d%s", prefix, versionDigits, version, jsonSuffix)
}

// versionOf is the inverse of versionKey; ok is false for a key of another shape.
func versionOf(prefix, key string) (version int64, ok bool) {
	name, found := strings.CutPrefix(key, prefix)
	if !found {
		return 0, false
	}
	digits, found := strings.CutSuffix(name, jsonSuffix)
	if !found || len(digits) != versionDigits {
		return 0, false
	}
	version, err := strconv.ParseInt(digits, 10, 64)
	return version, err == nil && version > 0
}

// CheckSession returns an error that wraps [ErrInvalidName] unless id is 32
// lower-case hex digits that are not all zero (S2/session-id).
func CheckSession(id string) error {
	if !isHex(id, 32) || strings.Trim(id, "0") == "" {
		return fmt.Errorf("%w: %.80q is no session ID (32 lower-case hex digits, not all zero)", ErrInvalidName, id)
	}
	return nil
}

// CheckMemoryName returns an error that wraps [ErrInvalidName] if the namespace
// or the object name has a NUL or an empty, "." or ".." segment, or if the
// object name has a slash (section 8.2).
func CheckMemoryName(namespace, name string) error {
	if err := checkNamespace(namespace); err != nil {
		return err
	}
	if strings.Contains(name, "/") {
		return fmt.Errorf("%w: memory object name %q has a slash", ErrInvalidName, name)
	}
	return checkSegments("memory object name", name)
}

func checkNamespace(namespace string) error {
	return checkSegments("memory namespace", namespace)
}

func checkSegments(what, name string) error {
	if strings.ContainsRune(name, 0) {
		return fmt.Errorf("%w: %s %q has a NUL", ErrInvalidName, what, name)
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("%w: %s %q has the segment %q", ErrInvalidName, what, name, segment)
		}
	}
	return nil
}

// escapeSegment writes any byte string as one key segment: bytes other than
// a-z 0-9 - _ become % and two lower-case hex digits. Names stay byte strings on
// every store (reading R21).
func escapeSegment(name string) string {
	const hexDigits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; isPlainByte(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// unescapeSegment is the inverse of escapeSegment; ok is false for a segment that
// escapeSegment does not write.
func unescapeSegment(segment string) (name string, ok bool) {
	plain, err := url.PathUnescape(segment)
	return plain, err == nil && escapeSegment(plain) == segment
}

func isHex(s string, length int) bool {
	if len(s) != length {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
