package runner

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
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

// seedsOf derives the seeds of a case. A nonce is as long as its placeholder, and of
// digits: they are the same in either letter case.
func seedsOf(seed int64, c *casefile.Case, transport string) seeds {
	derive := func(purpose string) []byte {
		sum := hmac.New(sha256.New, fmt.Appendf(nil, "%d", seed))
		fmt.Fprintf(sum, "%s\x00%s\x00%s", purpose, c.ID, transport)
		return sum.Sum(nil)
	}
	const choices = 10_000_000 // of len(casefile.Nonce) digits
	return seeds{
		told:  hex.EncodeToString(derive("case")[:16]),
		nonce: fmt.Sprintf("%07d", binary.BigEndian.Uint64(derive("nonce"))%choices),
	}
}
