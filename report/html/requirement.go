package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// section is a section of the protocol with its requirements.
type section struct {
	Number, Title string
	Requirements  []requirement
}

// requirement is a requirement as it is shown.
type requirement struct {
	ID, Anchor, Href string
	Verdict, Word    string
	Tone             string
	Level, LevelWord string
	Side             string
	Section, Title   string
	Text, Note       string
	Cells            []cell
	Readings         []reading
	Cases            []link
	Transports       string
}

// cell is what became of a requirement on one transport.
type cell struct {
	Transport, Word, Tone string
	Good, Of              int
}

// link leads to a case.
type link struct{ Href, Text, Tone, Word string }

// reading is an answer of ours that a requirement or a check rests on.
type reading struct {
	ID, Question, Reading, Accepts string
}

// anchor is the name of a place of the page.
func anchor(kind, id string) string { return kind + "=" + line(id, 300) }

// href is the address of a place. A colon would make a scheme of what stands before
// it, and white space and a percent sign mean something else in an address.
func href(anchor string) string {
	return "#" + strings.NewReplacer("%", "%25", ":", "%3A", " ", "%20", "#", "%23", "&", "%26", "+", "%2B").Replace(anchor)
}

// requirement shows what the run and the registry say of a requirement.
func (m *maker) requirement(id string) requirement {
	r := requirement{ID: line(id, 200), Anchor: anchor("requirement", id)}
	r.Href = href(r.Anchor)
	section := ""
	if q := m.requirements[id]; q != nil {
		r.Verdict, r.Word, r.Tone = line(string(q.Verdict), 40), word(q.Verdict), tone(q.Verdict)
		r.Level, r.Side, r.Text = line(q.Level, 20), sideWord(q.Side), line(q.Text, 2048)
		section = q.Section
	}
	r.LevelWord = r.Level
	if m.spec != nil {
		if q, ok := m.spec.Requirement(id); ok {
			r.LevelWord, r.Note = q.Word(), q.Note
			r.Level, r.Side = cmp.Or(r.Level, string(q.Level)), cmp.Or(r.Side, string(q.Side))
			r.Text = cmp.Or(r.Text, q.Text)
			section = cmp.Or(section, string(q.Section))
			for _, id := range q.Readings {
				r.Readings = append(r.Readings, m.reading(id))
			}
		}
	}
	if q := m.requirements[id]; q != nil {
		if why := report.WhyUntested(m.run, q, m.spec); why != "" {
			r.Note = strings.TrimSpace("Untested: " + strings.TrimSuffix(why, ".") + ". " + r.Note)
		}
	}
	r.Section, r.Title = line(section, 20), m.title(section)
	return r
}

func (m *maker) title(section string) string {
	if m.spec == nil {
		return ""
	}
	h, _ := m.spec.Heading(spec.Section(section))
	return h.Title
}

func (m *maker) reading(id string) reading {
	r := reading{ID: line(id, 40)}
	if m.spec != nil {
		if known, ok := m.spec.Reading(id); ok {
			r.Question, r.Reading, r.Accepts = known.Question, known.Reading, known.Accepts
		}
	}
	return r
}

// sections is the matrix: every requirement of the run, by section, with what became
// of it on each transport.
func (m *maker) sections(transports []string) []section {
	said := m.said()
	by := map[string][]requirement{}
	for _, q := range m.run.Requirements {
		r := m.requirement(q.ID)
		for _, t := range transports {
			c := cellOf(said[q.ID], t)
			if c.Of > 0 {
				r.Transports = strings.TrimSpace(r.Transports + " " + t)
			}
			r.Cells = append(r.Cells, c)
		}
		r.Cases = linksOf(said[q.ID], q.Cases)
		by[q.Section] = append(by[q.Section], r)
	}
	var all []section
	for number, requirements := range by {
		all = append(all, section{Number: line(number, 20), Title: m.title(number), Requirements: requirements})
	}
	slices.SortFunc(all, func(a, b section) int {
		return cmp.Or(spec.Section(a.Number).Compare(spec.Section(b.Number)), cmp.Compare(a.Number, b.Number))
	})
	return all
}

// saying is what one case says of a requirement on one transport.
type saying struct {
	id, transport string
	verdict       result.Verdict
}

// cellOf sums up what was said on a transport.
func cellOf(all []saying, transport string) cell {
	c := cell{Transport: transport}
	worst := result.Untested
	for _, s := range all {
		if s.transport != transport {
			continue
		}
		c.Of++
		if s.verdict == result.Pass {
			c.Good++
		}
		if urgency(s.verdict) < urgency(worst) {
			worst = s.verdict
		}
	}
	if c.Of > 0 {
		c.Word, c.Tone = word(worst), tone(worst)
	}
	return c
}

// linksOf leads to the cases of a requirement, each with the worst that it said.
func linksOf(all []saying, cases []string) (links []link) {
	for _, id := range cases {
		worst, seen := result.Untested, false
		for _, s := range all {
			if s.id == id {
				seen = true
				if urgency(s.verdict) < urgency(worst) {
					worst = s.verdict
				}
			}
		}
		if seen {
			links = append(links, link{href(anchor("case", id)), line(id, 300), tone(worst), word(worst)})
		}
	}
	return links
}

// said is what the cases say of each requirement: the worst of their checks of it,
// or why the case says nothing. The verdict of the requirement itself is the run's.
func (m *maker) said() map[string][]saying {
	said := map[string][]saying{}
	covers := map[string][]string{}
	for _, q := range m.run.Requirements {
		for _, id := range q.Cases {
			covers[id] = append(covers[id], q.ID)
		}
	}
	for _, c := range m.run.Cases {
		worst := map[string]result.Verdict{}
		for _, k := range c.Checks {
			if v, ok := worst[k.Requirement]; !ok || urgency(k.Verdict) < urgency(v) {
				worst[k.Requirement] = k.Verdict
			}
		}
		for _, id := range covers[c.ID] {
			v, ok := worst[id]
			if !ok {
				v = result.NotRun
			}
			said[id] = append(said[id], saying{c.ID, line(c.Transport, 40), coverage.Of(v, c.Verdict)})
		}
	}
	return said
}

// Tally is how many cases there are, and how many of them passed if not all did.
func (c cell) Tally() string {
	switch {
	case c.Of == 0:
		return ""
	case c.Good == c.Of:
		return fmt.Sprint(c.Of)
	}
	return fmt.Sprintf("%d/%d", c.Good, c.Of)
}
