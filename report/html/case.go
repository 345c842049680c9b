package html

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
)

// group is cases that are shown whole, together because they speak against one
// requirement or came to one verdict.
type group struct {
	Anchor, Href string
	Tone, Word   string
	Requirement  *requirement
	Cases        []testCase
	Results      int
}

// area is the cases of one folder that need no looking at.
type area struct {
	Name    string
	Cases   []testCase
	Results int
}

// testCase is a case with what became of it on each transport.
type testCase struct {
	ID, Anchor, Href string
	Folder, Name     string
	Why              string
	Word, Tone       string
	Said             string // of the most urgent result
	Levels, Sides    string
	Requirements     []link
	Outcomes         []outcome
}

// outcome is a case on one transport.
type outcome struct {
	Anchor, Href    string
	Transport       string
	Verdict         string
	Word, Tone      string
	Took            string
	Reason, Said    string
	Whole, Open     bool
	Checks          []check
	Passed, NotRun  []string
	Evidence        string
	Rerun           string
	Recorded        *recorded
	EvidenceProblem string
}

// check is a check that did not pass.
type check struct {
	ID          string
	Requirement requirement
	// Sentence is set when the requirement is not the one that heads the group.
	Sentence   bool
	Word, Tone string
	Where      string
	Fields     []field
	Want, Got  []segment
	Diff       []diffLine
	Readings   []reading
}

// place is where a case is shown.
type place struct {
	rank        int
	requirement string
	verdict     result.Verdict
}

// The ranks of groups. What speaks against the subject comes first.
const (
	rankFailed = iota
	rankDied
	rankUnseen
	rankKnown
	rankWarned
	rankQuiet
)

// placeOf tells where a case belongs by one of its outcomes.
func placeOf(c *result.Case) place {
	first := func(v result.Verdict) string {
		for _, k := range c.Checks {
			if k.Verdict == v {
				return k.Requirement
			}
		}
		return ""
	}
	switch v := c.Verdict; v {
	case result.Pass, result.NotApplicable:
		return place{rank: rankQuiet}
	case result.NotTestable, result.NotRun:
		return place{rankUnseen, "", v}
	case result.KnownFailure:
		return place{rankKnown, "", v}
	case result.Warn:
		return place{rankWarned, first(result.Warn), v}
	case result.HarnessError, result.UnexpectedPass:
		return place{rankDied, "", v}
	default:
		if id := first(result.Fail); id != "" {
			return place{rankFailed, id, result.Fail}
		}
		return place{rankDied, "", v}
	}
}

// cases sorts all cases of the run into groups and areas.
func (m *maker) cases() ([]group, []area) {
	byPlace, byFolder := map[place]*group{}, map[string]*area{}
	var places []place
	cases := m.run.Cases
	for len(cases) > 0 {
		n := 1
		for n < len(cases) && cases[n].ID == cases[0].ID {
			n++
		}
		same := slices.Clone(cases[:n])
		cases = cases[n:]
		slices.SortStableFunc(same, func(a, b result.Case) int { return cmp.Compare(urgency(a.Verdict), urgency(b.Verdict)) })
		p := placeOf(&same[0])
		if p.rank == rankQuiet {
			c := m.testCase(same, p)
			a := byFolder[c.Folder]
			if a == nil {
				a = &area{Name: c.Folder}
				byFolder[c.Folder] = a
			}
			a.Cases, a.Results = append(a.Cases, c), a.Results+len(same)
			continue
		}
		g := byPlace[p]
		if g == nil {
			g = m.group(p)
			byPlace[p] = g
			places = append(places, p)
		}
		g.Cases, g.Results = append(g.Cases, m.testCase(same, p)), g.Results+len(same)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(m.position[a.requirement], m.position[b.requirement]),
			cmp.Compare(urgency(a.verdict), urgency(b.verdict)), cmp.Compare(a.requirement, b.requirement))
	})
	var groups []group
	for _, p := range places {
		groups = append(groups, *byPlace[p])
	}
	var areas []area
	for _, a := range byFolder {
		areas = append(areas, *a)
	}
	slices.SortFunc(areas, func(a, b area) int { return cmp.Compare(a.Name, b.Name) })
	return groups, areas
}

func (m *maker) group(p place) *group {
	g := &group{Tone: tone(p.verdict), Word: word(p.verdict)}
	about := line(string(p.verdict), 40)
	if p.requirement != "" {
		r := m.requirement(p.requirement)
		g.Requirement = &r
		about += "/" + p.requirement
	}
	g.Anchor = anchor("group", about)
	g.Href = href(g.Anchor)
	return g
}

// testCase shows a case; its results stand the most urgent first.
func (m *maker) testCase(same []result.Case, p place) testCase {
	first := &same[0]
	c := testCase{
		ID: line(first.ID, 300), Anchor: anchor("case", first.ID), Why: line(first.Why, m.limits.text),
		Word: word(first.Verdict), Tone: tone(first.Verdict),
	}
	c.Href = href(c.Anchor)
	c.Folder, c.Name = path.Split(c.ID)
	c.Folder = strings.TrimSuffix(c.Folder, "/")
	var ids, levels, sides []string
	add := func(to *[]string, s string) {
		if s != "" && !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
	for i := range same {
		for _, k := range same[i].Checks {
			add(&ids, k.Requirement)
		}
	}
	for _, id := range ids {
		if q := m.requirements[id]; q != nil {
			add(&levels, line(q.Level, 20))
			add(&sides, sideWord(q.Side))
		}
		a := anchor("requirement", id)
		c.Requirements = append(c.Requirements, link{Href: href(a), Text: line(id, 200)})
	}
	c.Levels, c.Sides = strings.Join(levels, " "), strings.Join(sides, " ")
	for i := range same {
		o := m.outcome(&same[i], p)
		o.Open = o.Whole && i == 0
		if i == 0 {
			c.Said = o.Said // none when the result is a line that says it
		}
		c.Outcomes = append(c.Outcomes, o)
	}
	return c
}

func (m *maker) outcome(c *result.Case, p place) outcome {
	o := outcome{
		Transport: line(c.Transport, 40), Verdict: line(string(c.Verdict), 40), Word: word(c.Verdict), Tone: tone(c.Verdict),
		Took: report.Duration(c.DurationMS), Whole: needsLooking(c.Verdict),
	}
	o.Anchor = anchor("case", c.ID+"@"+c.Transport)
	o.Href = href(o.Anchor)
	if o.Whole && m.limits.brief {
		o.Whole, o.Reason = false, line(said(c), m.limits.text)
		m.short++
		return o
	}
	if !o.Whole {
		o.Reason = line(c.Reason, min(m.limits.text, 240))
		return o
	}
	l := m.limits
	if !speaksAgainst(c.Verdict) {
		l = l.lesser()
	}
	o.Reason = line(c.Reason, l.text)
	o.Evidence, o.Rerun = line(c.Evidence, 600), line(c.Rerun, 4096)
	failing := slices.ContainsFunc(c.Checks, func(k result.Check) bool { return k.Verdict == result.Fail })
	for _, k := range byUrgency(c.Checks, p.requirement) {
		switch {
		case k.Verdict == result.Pass:
			o.Passed = append(o.Passed, line(k.ID, 100))
		case k.Verdict == result.NotRun && (failing || k.Want == "" && (k.Got == "" || k.Got == c.Reason)):
			// It says nothing that the failure, or the reason, does not.
			o.NotRun = append(o.NotRun, line(k.ID, 100))
		default:
			o.Checks = append(o.Checks, m.check(&k, c, l, p.requirement))
		}
	}
	o.Said = said(c)
	if !l.embeds() {
		m.short++
		o.EvidenceProblem = "There was no room on this page for what was recorded; all of it is in the evidence folder."
		return o
	}
	e := m.store.of(c)
	if o.EvidenceProblem = e.problem; e.evidence != nil {
		o.Recorded = l.recorded(e.evidence, targetsOf(c, p.requirement))
	}
	return o
}

// targetsOf is where the findings of a case point to, the most urgent first.
func targetsOf(c *result.Case, requirement string) (all []target) {
	for _, k := range byUrgency(c.Checks, requirement) {
		if k.Verdict == result.Fail || k.Verdict == result.Warn {
			all = append(all, pointed(k.Where))
		}
	}
	return all
}

// byUrgency is the checks of a case in the order in which one wants to read them:
// failures of the requirement that the case is shown under, further failures, the
// rest.
func byUrgency(checks []result.Check, requirement string) []result.Check {
	rank := func(k result.Check) int {
		switch {
		case k.Verdict == result.Fail && k.Requirement == requirement:
			return 0
		case k.Verdict == result.Fail:
			return 1
		}
		return 2
	}
	all := slices.Clone(checks)
	slices.SortStableFunc(all, func(a, b result.Check) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

// speaksAgainst reports whether a case accuses its subject.
func speaksAgainst(v result.Verdict) bool {
	return v != result.Warn && v != result.NotTestable && v != result.NotRun && v != result.KnownFailure
}

// said is an outcome in a few words.
func said(c *result.Case) string {
	const few = 160
	for _, v := range []result.Verdict{result.Fail, result.Warn} {
		for _, k := range c.Checks {
			if k.Verdict == v {
				return line(cmp.Or(k.Got, k.Where, k.Want), few)
			}
		}
	}
	return line(c.Reason, few)
}

func (m *maker) check(k *result.Check, c *result.Case, l limits, heads string) check {
	out := check{
		ID: line(k.ID, 200), Requirement: m.requirement(k.Requirement), Sentence: k.Requirement != heads,
		Word: word(k.Verdict), Tone: tone(k.Verdict), Where: line(k.Where, l.text),
	}
	got := k.Got
	if got == c.Reason {
		got = "" // the reason stands above
	}
	want, got := block(k.Want, l.text), block(got, l.text)
	out.Fields = fields(want, got)
	switch {
	case out.Fields != nil:
	case want != "" && got != "":
		out.Want, out.Got = compared(want, got)
	default:
		out.Want, out.Got = whole(want), whole(got)
	}
	if !repeats(k.Diff, out.Fields) {
		out.Diff = diffLines(k.Diff, l.text, pointed(k.Where).offset)
	}
	for _, id := range k.Readings {
		out.Readings = append(out.Readings, m.reading(id))
	}
	return out
}

func whole(s string) []segment {
	if s == "" {
		return nil
	}
	return []segment{{Text: s}}
}
