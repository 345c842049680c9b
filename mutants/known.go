package mutants

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
)

// Failure is a case of which a check of its own fails on a mutant.
type Failure struct {
	Mutant    string `json:"mutant"`
	Case      string `json:"case"`
	Transport string `json:"transport"`
}

func (f Failure) compare(o Failure) int {
	return cmp.Or(cmp.Compare(f.Mutant, o.Mutant), cmp.Compare(f.Case, o.Case), cmp.Compare(f.Transport, o.Transport))
}

//go:embed known.tsv
var knownFile []byte

// Known is the failures that were seen when the list was last written: at least one
// for each mutant, by a check that cites what it breaks, and at least one for each
// case. It tells [Kill] where to look first.
func Known() (list []Failure) {
	lines := bufio.NewScanner(bytes.NewReader(knownFile))
	for lines.Scan() {
		mutant, rest, _ := strings.Cut(lines.Text(), "\t")
		id, transport, _ := strings.Cut(rest, "\t")
		list = append(list, Failure{Mutant: mutant, Case: id, Transport: transport})
	}
	return list
}

// WriteKnown writes what Known is to be after this matrix: for each mutant where it
// was caught first, and for each case that this leaves out the first mutant that
// failed it. The error is w's.
func (m *Matrix) WriteKnown(w io.Writer) error {
	var kept []Failure
	failed := map[string]bool{}
	for _, row := range m.Mutants {
		if len(row.Caught) > 0 {
			c := row.Caught[0]
			kept = append(kept, Failure{Mutant: row.ID, Case: c.Case, Transport: c.Transport})
			failed[c.Case] = true
		}
	}
	for _, f := range m.Failures {
		if !failed[f.Case] {
			kept = append(kept, f)
			failed[f.Case] = true
		}
	}
	slices.SortFunc(kept, Failure.compare)
	for _, f := range kept {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", f.Mutant, f.Case, f.Transport); err != nil {
			return err
		}
	}
	return nil
}

// knownOf is the cases that a mutant is known to fail, as far as they exist.
func (k *killer) knownOf(mutant string) plan {
	p := plan{}
	for _, f := range k.known[mutant] {
		at := slices.IndexFunc(k.Cases, func(c *casefile.Case) bool { return c.ID == f.Case })
		if at >= 0 && k.Cases[at].Supports(f.Transport) {
			p[f.Transport] = append(p[f.Transport], k.Cases[at])
		}
	}
	return p
}
