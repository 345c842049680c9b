package runner

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"pugmark.dev/conform/casefile"
)

// seeds is what of one case on one transport is another in every run, and the same
// in every run with the same seed. Both keep a subject from passing by an answer
// that it knows by heart: told tells it nothing about which case it is in, and the
// nonce is in what it has to tell.
type seeds struct {
	// told is what instructions call the case.
	told string
	// nonce stands in the place of [casefile.Nonce].
	nonce string
}

// seedsOf derives the seeds of a case. A nonce is as long as its placeholder.
func seedsOf(seed int64, c *casefile.Case, transport string) seeds {
	derive := func(purpose string) string {
		sum := hmac.New(sha256.New, fmt.Appendf(nil, "%d", seed))
		fmt.Fprintf(sum, "%s\x00%s\x00%s", purpose, c.ID, transport)
		return hex.EncodeToString(sum.Sum(nil))
	}
	return seeds{told: derive("case")[:32], nonce: derive("nonce")[:len(casefile.Nonce)]}
}
