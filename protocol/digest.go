package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// DigestPrefix begins every digest (section 7).
const DigestPrefix = "sha256:"

// Digest returns the name of a body: "sha256:" and the 64 lower-case hex digits of
// its SHA-256 (section 7, S1/content-address). With a content encoding, body is
// the encoded one (reading R3).
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return DigestPrefix + hex.EncodeToString(sum[:])
}

// ValidDigest reports whether text has the form that [Digest] gives.
func ValidDigest(text string) bool {
	digits, found := strings.CutPrefix(text, DigestPrefix)
	return found && len(digits) == 2*sha256.Size && isLowerHex(digits)
}

// ObjectPath returns the path of a body's URL on the object server (section 7).
func ObjectPath(digest string) string { return "/" + digest }

// ValidSessionID reports whether text is a session ID: 32 lower-case hex digits,
// not all zero, since it is a trace ID too (S2/session-id).
func ValidSessionID(text string) bool {
	return len(text) == 32 && isLowerHex(text) && strings.Trim(text, "0") != ""
}
