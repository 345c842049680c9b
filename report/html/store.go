package html

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"pugmark.dev/conform/result"
)

// store is the evidence of a run, each case's read once.
type store struct {
	root string
	read map[string]stored
}

type stored struct {
	evidence *result.Evidence
	// problem is why there is none.
	problem string
}

func newStore(root string) *store { return &store{root: root, read: map[string]stored{}} }

// of is the evidence of a case. What can't be read is a sentence for the page, not
// an error: the findings stand without it.
func (s *store) of(c *result.Case) stored {
	switch {
	case c.Evidence == "":
		return stored{problem: "The case left no evidence."}
	case s.root == "":
		return stored{problem: "The page was made without the evidence folder."}
	case !filepath.IsLocal(filepath.FromSlash(c.Evidence)):
		return stored{problem: "The report names evidence outside of the evidence folder, which is not read."}
	}
	if known, ok := s.read[c.Evidence]; ok {
		return known
	}
	e, err := result.ReadEvidence(filepath.Join(s.root, filepath.FromSlash(c.Evidence)))
	got := stored{evidence: e}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		got = stored{problem: "The evidence folder does not hold the evidence of this case."}
	case err != nil:
		got = stored{problem: "The evidence can't be read: " + line(strings.ReplaceAll(err.Error(), s.root, "the evidence folder"), 300)}
	case e.Case != c.ID || e.Transport != c.Transport:
		got = stored{problem: "The evidence folder holds evidence of another case in this one's place."}
	}
	s.read[c.Evidence] = got
	return got
}
