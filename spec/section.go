package spec

import (
	"cmp"
	"strconv"
	"strings"
)

// Section is the number of a section of the protocol, as in "3" or "11.1".
type Section string

// Heading is a section of the protocol with its title.
type Heading struct {
	Section Section
	Title   string
}

// Compare orders sections as the protocol's table of contents does: part by
// part, each as a number, a section before its subsections. So 2.1 < 2.2 < 10
// < 11 < 11.1. What is no section number comes before every section, in text
// order. It fits slices.SortFunc as spec.Section.Compare.
func (s Section) Compare(other Section) int {
	a, aOK := s.parts()
	b, bOK := other.parts()
	switch {
	case !aOK && !bOK:
		return cmp.Compare(s, other)
	case !aOK:
		return -1
	case !bOK:
		return 1
	}
	for i := range min(len(a), len(b)) {
		if c := cmp.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// Top returns the section of the table of contents that s belongs to: "11"
// for "11.1", and "11" itself for "11".
func (s Section) Top() Section {
	top, _, _ := strings.Cut(string(s), ".")
	return Section(top)
}

// IsValid reports whether s is written as a section number: whole numbers
// from 1 on, without leading zeros, with dots between. Whether the protocol
// has the section is for [Spec.Heading] to say.
func (s Section) IsValid() bool {
	_, ok := s.parts()
	return ok
}

// parts splits the number at its dots.
func (s Section) parts() ([]int, bool) {
	var parts []int
	for text := range strings.SplitSeq(string(s), ".") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || strconv.Itoa(n) != text {
			return nil, false
		}
		parts = append(parts, n)
	}
	return parts, true
}
