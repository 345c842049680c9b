package casefile

import (
	"cmp"
	"fmt"
	"slices"
)

// Problem is one thing that is wrong with a case file. Line and Column count
// from 1; a problem of the file as a whole has both 1.
type Problem struct {
	File    string
	Line    int
	Column  int
	Message string
}

// String is the problem as editors and annotations read it: file:line:col: message.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Error makes a problem an error.
func (p Problem) Error() string { return p.String() }

// sorted puts problems in the order of files and places, each once: content
// that an alias repeats is wrong in one place only.
func sorted(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}
