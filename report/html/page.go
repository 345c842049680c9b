package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// page is what the template shows.
type page struct {
	Heading     heading
	Subject     string
	Version     string
	Facts       []fact
	Command     string
	Bar         []bar
	Facets      []facet
	Known       *knownFailures
	Groups      []group
	Sections    []section
	Areas       []area
	Transports  []string
	Results     int
	CasesShort  int // cases of which not everything that was recorded is embedded
	WithoutRoot bool
}

// fact is one thing about the run.
type fact struct {
	Name, Text string
	Whole      string // of what Text is the beginning of
	Wide       bool
}

// bar is a part of the bar of requirements, in thousandths of its width.
type bar struct {
	Tone, Word string
	N, X, W    int
}

// facet is one thing to filter by.
type facet struct {
	Name, Title string
	Values      []facetValue
}

type facetValue struct {
	Value, Word string
	N           int
	Tone        string
}

// maker puts a page together.
type maker struct {
	run    *result.Run
	spec   *spec.Spec // may be nil
	store  *store
	limits limits

	requirements map[string]*result.Requirement
	position     map[string]int
	short        int
}

func newMaker(run *result.Run, s *spec.Spec, evidence *store) *maker {
	m := &maker{run: run, spec: s, store: evidence, requirements: map[string]*result.Requirement{}, position: map[string]int{}}
	for i := range run.Requirements {
		q := &run.Requirements[i]
		m.requirements[q.ID], m.position[q.ID] = q, i
	}
	return m
}

// page is the page with this much of the evidence.
func (m *maker) page(l limits) *page {
	m.limits, m.short = l, 0
	run := m.run
	p := &page{
		Heading: headingOf(run), Subject: line(run.Subject.Name, 200), Version: line(run.Subject.Version, 200),
		Command: line(shell(run.Command), 4096), Results: len(run.Cases), WithoutRoot: m.store.root == "",
	}
	p.Facts = facts(run)
	p.Bar = bars(run.Requirements)
	p.Transports = transports(run.Cases)
	p.Facets = m.facets(p.Transports)
	p.Known = m.known()
	p.Groups, p.Areas = m.cases()
	p.Sections = m.sections(p.Transports)
	p.CasesShort = m.short
	return p
}

func facts(run *result.Run) []fact {
	var all []fact
	add := func(name, text string) {
		if text = line(text, 600); text != "" {
			all = append(all, fact{Name: name, Text: text, Wide: len(text) > 60})
		}
	}
	add("kind", strings.Join(run.Subject.Kinds, ", "))
	add("transports", strings.Join(run.Subject.Transports, ", "))
	add("claims", strings.Join(run.Subject.Features, ", "))
	selection := "everything there is for the subject"
	if !run.Selection.All {
		selection = cmp.Or(strings.Join(run.Selection.Patterns, " "), "some cases")
	}
	if run.Selection.IsShard() {
		selection += ", shard " + run.Selection.Shard
	}
	add("selection", selection)
	add("seed", fmt.Sprint(run.Seed))
	if run.Repeat > 1 {
		add("repeat", fmt.Sprintf("each case %d times, with the seed and those that follow it", run.Repeat))
	}
	add("suite", run.Suite.Version)
	if cases := line(run.Suite.Cases, 100); cases != "" {
		all = append(all, fact{Name: "its cases", Text: opening(run.Suite.Cases, len("sha256:")+12), Whole: cases})
	}
	add("platform", run.Platform)
	add("started", run.Started)
	add("took", report.Duration(run.DurationMS))
	if len(run.Masked) > 0 {
		add("masked", "the values of "+strings.Join(run.Masked, ", ")+", wherever they stood")
	}
	return all
}

// shell is a command as it can be pasted.
func shell(words []string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// bars is how many requirements came to each verdict, those untested left out.
func bars(requirements []result.Requirement) (all []bar) {
	n, sum := map[result.Verdict]int{}, 0
	for _, q := range requirements {
		if q.Verdict != result.Untested && q.Verdict != result.NotApplicable {
			n[q.Verdict]++
			sum++
		}
	}
	seen := 0
	for _, v := range verdicts() {
		if n[v] > 0 {
			x := seen * 1000 / sum
			seen += n[v]
			all = append(all, bar{Tone: tone(v), Word: word(v), N: n[v], X: x, W: seen*1000/sum - x})
		}
	}
	return all
}

func transports(cases []result.Case) []string {
	var all []string
	for _, c := range cases {
		if t := line(c.Transport, 40); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	// As the protocol has them; others come behind, in the order of letters.
	order := []string{"subprocess", "rpc", "http"}
	place := func(t string) int {
		if i := slices.Index(order, t); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	return all
}

// facets is what the page can be filtered by, with counts of results.
func (m *maker) facets(transports []string) []facet {
	byVerdict, byTransport := map[result.Verdict]int{}, map[string]int{}
	for _, c := range m.run.Cases {
		byVerdict[c.Verdict]++
		byTransport[line(c.Transport, 40)]++
	}
	verdict := facet{Name: "verdict", Title: "Verdict"}
	for _, v := range verdicts() {
		if n := byVerdict[v]; n > 0 {
			verdict.Values = append(verdict.Values, facetValue{string(v), word(v), n, tone(v)})
		}
	}
	byLevel, bySide := map[string]int{}, map[string]int{}
	for _, q := range m.run.Requirements {
		byLevel[q.Level]++
		bySide[sideWord(q.Side)]++
	}
	level := facet{Name: "level", Title: "Level"}
	for _, l := range spec.Levels() {
		if n := byLevel[string(l)]; n > 0 {
			level.Values = append(level.Values, facetValue{Value: string(l), Word: string(l), N: n})
		}
	}
	side := facet{Name: "side", Title: "Side"}
	for _, s := range spec.Sides() {
		if n := bySide[string(s)]; n > 0 {
			side.Values = append(side.Values, facetValue{Value: string(s), Word: string(s), N: n})
		}
	}
	transport := facet{Name: "transport", Title: "Transport"}
	for _, t := range transports {
		transport.Values = append(transport.Values, facetValue{Value: t, Word: t, N: byTransport[t]})
	}
	return []facet{verdict, level, side, transport}
}

// sideWord is who is bound, from the letter that reports use.
func sideWord(letter string) string {
	for _, s := range spec.Sides() {
		if s.Letter() == letter {
			return string(s)
		}
	}
	return line(letter, 20)
}
