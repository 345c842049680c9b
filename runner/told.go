package runner

import "pugmark.dev/conform/casefile"

// Told is what the instructions of a case call it in a run with the seed: who wants
// to compose its input again has to know.
func Told(seed int64, c *casefile.Case, transport string) string {
	return seedsOf(seed, c, transport).told
}
