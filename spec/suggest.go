package spec

import "strings"

// Suggest returns the known ID, of a requirement or a reading, that is nearest
// to one that was mistyped, for a "did you mean". Letter case does not count.
// It reports false when nothing is near enough to be what was meant. Of
// several that are equally near, the first in document order is returned.
func (s *Spec) Suggest(id string) (string, bool) {
	for _, r := range s.readings {
		// Another number is another reading, not a slip of the same one.
		if strings.EqualFold(id, r.ID) {
			return r.ID, true
		}
	}
	known := make([]string, 0, len(s.requirements))
	for _, r := range s.requirements {
		known = append(known, r.ID)
	}
	return nearest(id, known)
}

// nearest returns the word of known with the smallest edit distance to word,
// if at most every third of the word's letters, rounded up, would have to change.
func nearest(word string, known []string) (string, bool) {
	word = strings.ToLower(word)
	best, limit := "", (len(word)+2)/3+1
	for _, k := range known {
		if d := distance(word, strings.ToLower(k)); d < limit {
			best, limit = k, d
		}
	}
	return best, best != ""
}

// distance is the number of bytes to insert, delete or replace to get from a
// to b (Levenshtein). IDs and keys are ASCII.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
