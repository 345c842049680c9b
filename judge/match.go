package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pugmark.dev/conform/script"
)

// pair is one compared field: what was wanted of it and what came, as text.
type pair struct {
	name, want, got string
	equal           bool
	// members is how an object of strings differs, a line for each member.
	members []string
}

// comparison collects the fields of one thing that a case matches.
type comparison struct {
	pairs []pair
	// detail is the diff of the first body that differs.
	detail string
	err    error
}

func (c *comparison) add(name, want, got string, equal bool) {
	c.pairs = append(c.pairs, pair{name: name, want: want, got: got, equal: equal})
}

// text compares a string field; an empty wanted one matches an absent one.
func (c *comparison) text(name string, want *string, got string) {
	if want != nil {
		c.add(name, quote(*want), quote(got), *want == got)
	}
}

// strings compares an object of strings. Nil is not compared; an empty one
// matches an absent one.
func (c *comparison) strings(name string, want, got map[string]string) {
	if want != nil {
		c.add(name, showMap(want), showMap(got), maps.Equal(want, got))
		c.pairs[len(c.pairs)-1].members = memberDiff(name, want, got)
	}
}

func (c *comparison) flag(name string, want *bool, got bool) {
	if want != nil {
		c.add(name, fmt.Sprint(*want), fmt.Sprint(got), *want == got)
	}
}

// body compares a decoded body; problem says why there is none.
func (c *comparison) body(want *script.Body, got []byte, problem string, mode bodyMode) {
	if want == nil {
		return
	}
	f, equal, err := compareBody(want, got, mode)
	if err != nil && c.err == nil {
		c.err = err
	}
	if problem != "" {
		if plain, err := want.Plain(); err == nil {
			c.add("body", describe(plain), problem, false)
		}
		return
	}
	c.add("body", f.want, f.got, equal)
	if !equal && c.detail == "" {
		c.detail = "body: " + f.diff
	}
}

// differs returns the fields that differ.
func (c *comparison) differs() (list []pair) {
	for _, p := range c.pairs {
		if !p.equal {
			list = append(list, p)
		}
	}
	return list
}

// finding tells how the thing that the comparison is about differs.
func (c *comparison) finding(where string) finding {
	list := c.differs()
	var wants, gots []string
	for _, p := range list {
		wants = append(wants, p.name+": "+p.want)
		gots = append(gots, p.name+": "+p.got)
	}
	f := finding{where: where, want: strings.Join(wants, ", "), got: strings.Join(gots, ", "), diff: c.detail}
	if len(list) == 1 {
		f.where += ", " + list[0].name
	}
	if f.diff == "" {
		f.diff = fieldDiff(list)
	}
	return f
}

func showMap(m map[string]string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s: %s", quote(k), quote(m[k]))
	}
	b.WriteByte('}')
	return clip(b.String(), 1000)
}

// sequence compares two lists in order. compare is called for each pair at the
// same place; label names an item in findings.
type sequence struct {
	what      string // "entry", "output"
	where     func(string) string
	want, got int
	compare   func(i, k int) comparison
	labelWant func(i int) string
	labelGot  func(k int) string
}

// judge says where the lists part. A list that is right but for its order, or for
// a missing or a surplus item, is told apart from one whose item differs.
func (s sequence) judge() outcome {
	for i := range min(s.want, s.got) {
		c := s.compare(i, i)
		if c.err != nil {
			return failed(finding{where: s.where(s.place(i)), want: "an expectation that can be compared", got: c.err.Error()})
		}
		if len(c.differs()) == 0 {
			continue
		}
		place := s.where(s.place(i))
		for k := range s.got {
			if c := s.compare(i, k); k == i || c.err != nil || len(c.differs()) > 0 {
				continue
			}
			if s.want == s.got {
				return failed(finding{where: place, want: s.labelWant(i) + " here",
					got: fmt.Sprintf("%s; %s is %s %d", s.labelGot(i), s.labelWant(i), s.what, k+1), diff: s.lists()})
			}
			if k > i {
				return failed(finding{where: place, want: s.labelWant(i), got: "a surplus " + s.what + ", " + s.labelGot(i), diff: s.lists()})
			}
		}
		if s.want > s.got && i+1 < s.want {
			if c := s.compare(i+1, i); c.err == nil && len(c.differs()) == 0 {
				return failed(finding{where: place, want: s.labelWant(i), got: fmt.Sprintf("%s, which is wanted next: %s %d is missing", s.labelGot(i), s.what, i+1), diff: s.lists()})
			}
		}
		return failed(c.finding(place))
	}
	switch n := min(s.want, s.got); {
	case s.got > n:
		return failed(finding{where: s.where(s.place(n)), want: fmt.Sprintf("%s, no more", count(s.want, s.what)),
			got: fmt.Sprintf("%s; the first too many is %s", count(s.got, s.what), s.labelGot(n)), diff: s.lists()})
	case s.want > n:
		return failed(finding{where: s.where(s.place(n)), want: fmt.Sprintf("%s; the first missing is %s", count(s.want, s.what), s.labelWant(n)),
			got: count(s.got, s.what), diff: s.lists()})
	}
	return passed()
}

// anyOrder judges lists whose order does not matter: each wanted item takes the first
// that fits and is left.
func (s sequence) anyOrder() outcome {
	taken := make([]bool, s.got)
	for i := range s.want {
		found := -1
		for k := range s.got {
			c := s.compare(i, k)
			if c.err != nil {
				return failed(finding{where: s.where(s.place(i)), want: "an expectation that can be compared", got: c.err.Error()})
			}
			if !taken[k] && len(c.differs()) == 0 {
				found = k
				break
			}
		}
		if found < 0 {
			return failed(finding{where: s.where("in any order"), want: s.labelWant(i), got: "none that fits, or none that is left", diff: s.lists()})
		}
		taken[found] = true
	}
	if k := slices.Index(taken, false); k >= 0 {
		return failed(finding{where: s.where(s.place(k)), want: count(s.want, s.what) + ", no more", got: "a surplus " + s.what + ", " + s.labelGot(k), diff: s.lists()})
	}
	return passed()
}

func (s sequence) place(i int) string { return fmt.Sprintf("%s %d", s.what, i+1) }

// lists is the diff of both lists by their labels.
func (s sequence) lists() string {
	var want, got []string
	for i := range s.want {
		want = append(want, s.labelWant(i))
	}
	for k := range s.got {
		got = append(got, s.labelGot(k))
	}
	return listDiff(want, got)
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	case strings.HasSuffix(what, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}
