package runner

import (
	"fmt"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

// disclosed judges evidence, and returns the verdict and the evidence as they may be
// seen, kept and shown. It is the one way out of the stage: what holds a secret is
// judged as it is, and told of as it is after masking, so that no text which was made
// of it, cut, compared or dumped in hexadecimal, has any of it.
func (r *run) disclosed(c *casefile.Case, e *result.Evidence) (result.Case, *result.Evidence) {
	out := r.judge.Judge(c, e)
	masked := r.Mask.Evidence(e)
	if len(masked.Masked) > 0 {
		out = retold(out, r.judge.Judge(c, masked), masked.Masked)
	}
	return r.Mask.Case(out), masked
}

// retold is a judgement with the texts of another, of the same evidence after
// masking. Where that came to something else its texts are about something else, and
// are left out.
func retold(out, masked result.Case, names []string) result.Case {
	hidden := "what was seen holds masked values: " + strings.Join(names, ", ")
	of := map[string]result.Check{}
	for _, k := range masked.Checks {
		of[k.ID] = k
	}
	checks := make([]result.Check, len(out.Checks))
	for i, k := range out.Checks {
		other, ok := of[k.ID]
		switch {
		case ok && other.Verdict == k.Verdict:
			k.Where, k.Want, k.Got, k.Diff = other.Where, other.Want, other.Got, other.Diff
		case k.Verdict != result.Pass:
			k.Where, k.Want, k.Got, k.Diff = "", "", hidden, ""
		}
		checks[i] = k
	}
	out.Checks = checks
	switch {
	case out.Reason == "":
	case masked.Verdict == out.Verdict:
		out.Reason = masked.Reason
	default:
		out.Reason = fmt.Sprintf("%s; %s", failing(out), hidden)
	}
	return out
}

// failing names what of a case did not pass.
func failing(c result.Case) string {
	var ids []string
	for _, k := range c.Checks {
		if k.Verdict == c.Verdict {
			ids = append(ids, k.Requirement)
		}
	}
	if len(ids) == 0 {
		return "the case ended in " + string(c.Verdict)
	}
	return strings.Join(ids, ", ")
}
