package runner

import (
	"fmt"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

// How many bytes of a value, one after the other, are a part of it that a text must not
// have: few where a value was seen. Elsewhere, where a value could only have been in
// something that the mask does not see through, as many as no two texts share by chance.
const (
	partSeen   = 6
	partUnseen = 12
)

// disclosed judges evidence, and returns the verdict and the evidence as they may be
// seen, kept and shown. It is the one way out of the stage: what holds a secret is
// judged as it is, and told of so that no text which was made of it, cut, compared or
// dumped in hexadecimal, has any of it.
func (r *run) disclosed(c *casefile.Case, e *result.Evidence) (result.Case, *result.Evidence) {
	out := r.judge.Judge(c, e)
	if r.Mask == nil {
		return out, e
	}
	masked := r.Mask.Evidence(e)
	t := telling{mask: r.Mask, names: masked.Masked, part: partSeen}
	switch {
	case len(masked.Masked) > 0:
		t.other = r.judge.Judge(c, masked)
	default:
		t.names = r.Mask.In(texts(out)...)
		if len(t.names) == 0 {
			t.part = partUnseen
			break
		}
		// It was in what the mask does not see through, and would be told of again by
		// whoever judges this evidence again.
		hidden := *masked
		hidden.Masked = t.names
		masked = &hidden
	}
	return t.of(out), masked
}

// texts is all that a judgement says in words.
func texts(c result.Case) []string {
	all := []string{c.Reason}
	for _, k := range c.Checks {
		all = append(all, k.Where, k.Want, k.Got, k.Diff)
	}
	return all
}

// telling tells of a judgement without secrets.
type telling struct {
	mask *result.Mask
	// names is the variables whose values were seen; none when none was.
	names []string
	// part is how many bytes of a value a text must not have.
	part int
	// other is the judgement of the evidence after masking; without checks when that
	// is the same.
	other result.Case
}

func (t telling) of(out result.Case) result.Case {
	others := map[string]result.Check{}
	for _, k := range t.other.Checks {
		others[k.ID] = k
	}
	told := t.mask.Case(out)
	same := t.other.Verdict == out.Verdict
	for i := range told.Checks {
		k := &told.Checks[i]
		other, ok := others[k.ID]
		switch {
		// The same finding in both: this one has what could be compared and dumped, and
		// its offsets are those of the evidence that is kept.
		case ok && other.Verdict == k.Verdict && place(other.Where) == place(k.Where) && other.Want == k.Want:
			k.Where, k.Got, k.Diff = t.mask.Text(other.Where), t.mask.Text(other.Got), t.mask.Text(other.Diff)
		// Masking has made another finding of it, which may be untrue of what was seen:
		// a diff can't be told of then, as its lines have parts of values.
		case len(t.names) > 0:
			same = same && k.Verdict == result.Pass
			k.Diff = ""
		}
		k.Where, k.Want, k.Got = t.safe(k.Where), t.safe(k.Want), t.safe(k.Got)
		if t.mask.HasPart(k.Diff, t.part) {
			k.Diff = ""
		}
	}
	switch {
	case out.Reason == "":
	case same:
		told.Reason = t.mask.Text(t.other.Reason)
	case t.mask.HasPart(told.Reason, t.part):
		told.Reason = fmt.Sprintf("%s; %s", failing(out), t.hidden())
	}
	return told
}

// place is where a finding was made, without the offset there.
func place(where string) string {
	head, rest, ok := strings.Cut(where, ", byte ")
	if !ok {
		return where
	}
	return head + strings.TrimLeft(rest, "0123456789")
}

// safe is a text, or what stands for one that has a part of a value.
func (t telling) safe(text string) string {
	if t.mask.HasPart(text, t.part) {
		return t.hidden()
	}
	return text
}

func (t telling) hidden() string {
	if len(t.names) == 0 {
		return "left out: it has a part of a value that is masked"
	}
	return "left out: it has a part of a value that is masked, of " + strings.Join(t.names, ", ")
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
