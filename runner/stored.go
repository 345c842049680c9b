package runner

import (
	"fmt"
	"slices"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/judge"
	"pugmark.dev/conform/result"
)

// JudgeStored judges the evidence in a folder again, by the case of cases that it is
// of. No subject is needed. Evidence that can't be read, of a case that is not among
// them, or of one whose file is another now, is an error: what it would be held
// against is not what was played. Where secrets were masked, what was judged then
// stands: what it was judged by is not there any more.
func JudgeStored(dir string, cases []*casefile.Case, j *judge.Judge) (result.Case, *result.Evidence, error) {
	e, err := result.ReadEvidence(dir)
	if err != nil {
		return result.Case{}, nil, err
	}
	i := slices.IndexFunc(cases, func(c *casefile.Case) bool { return c.ID == e.Case })
	switch {
	case i < 0:
		return result.Case{}, nil, fmt.Errorf("%s: it is evidence of %s, which is no case of these", dir, result.Visible(e.Case))
	case e.CaseDigest != "" && e.CaseDigest != cases[i].Digest:
		return result.Case{}, nil, fmt.Errorf("%s: the case %s has changed since this evidence was recorded; run it again, or judge with the --cases of that time", dir, e.Case)
	}
	if len(e.Masked) > 0 {
		judged, err := result.ReadCase(dir)
		if err != nil {
			return result.Case{}, nil, err
		}
		return *judged, e, nil
	}
	return j.Judge(cases[i], e), e, nil
}
