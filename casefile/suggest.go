package casefile

import "strings"

// nearest returns the word of known that word was probably meant to be: the one
// with the fewest letters to change, if that is a third of them or fewer. Letter
// case does not count. Of several that are equally near the first is returned.
func nearest(word string, known []string) (string, bool) {
	word = strings.ToLower(word)
	best, limit := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := distance(word, strings.ToLower(k)); d < limit && d < max(len(k), len(word)) {
			best, limit = k, d
		}
	}
	return best, best != ""
}

// distance is the number of bytes to insert, delete, replace or swap with their
// neighbour to get from a to b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 0
			if a[i-1] != b[j-1] {
				cost = 1
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// meant is the end of a message about an unknown word.
func meant(word string, known []string) string {
	if near, ok := nearest(word, known); ok {
		return ", did you mean `" + near + "`?"
	}
	return ""
}
