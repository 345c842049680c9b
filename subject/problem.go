package subject

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a subject file. Line and Column count
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

// FileError is a subject file that can't be used, with everything that is wrong
// with it, in the order of places.
type FileError struct {
	Problems []Problem
}

// Error has one line for each problem.
func (e *FileError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted puts problems in the order of places, each once: what an alias repeats
// is wrong in one place only.
func sorted(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}
