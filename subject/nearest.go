package subject

import (
	"fmt"
	"strings"
)

// orOneOf ends a message about an unknown word: with the known word that was
// probably meant, else with all that there are.
func orOneOf(word string, known []string) string {
	if near, ok := nearest(word, known); ok {
		return fmt.Sprintf(", did you mean `%s`?", near)
	}
	return ", want one of `" + strings.Join(known, "`, `") + "`"
}

// nearest returns the known word with the fewest letters to change, if that is
// a third of them or fewer. Letter case does not count.
func nearest(word string, known []string) (string, bool) {
	word = strings.ToLower(word)
	best, limit := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := distance(word, strings.ToLower(k)); d < limit && d < len(k) {
			best, limit = k, d
		}
	}
	return best, best != ""
}

// distance is the number of bytes to insert, delete, replace or swap with their
// neighbour to get from a to b. Known words are ASCII.
func distance(a, b string) int {
	above, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above, last, row = last, row, above
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], above[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
