package runner

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

// canBeKnown reports whether a known-failures file can excuse a result that ended so.
func canBeKnown(v result.Verdict) bool {
	return v == result.Fail || v == result.Crash || v == result.Hang || v == result.NotTestable
}

// alike is results of a case that an entry can excuse together.
type alike struct {
	id           string
	verdict      result.Verdict
	requirements string
}

// seenOf is what was seen of results that are alike.
type seenOf struct {
	transports []string
	where      map[string][]string // by transport
	why        string
}

// FirstKnown is a known-failures file that lists what failed in a run, sorted by what
// is broken, and how many entries it has. The reasons are placeholders, which the
// loader refuses until somebody has written why. whole is every result that there is
// for the subject.
func FirstKnown(subject string, results []result.Case, whole []Key) ([]byte, int) {
	seen := map[alike]*seenOf{}
	for _, c := range results {
		if !canBeKnown(c.Verdict) {
			continue
		}
		g := alike{c.ID, c.Verdict, strings.Join(failedRequirements(c), ", ")}
		if seen[g] == nil {
			seen[g] = &seenOf{where: map[string][]string{}, why: comment(seenReason(&c))}
		}
		seen[g].transports = append(seen[g].transports, c.Transport)
		seen[g].where[c.Transport] = c.Places()
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The known failures of %s. Each entry is an assertion: the case ends so, by these\n"+
		"# requirements and at these places, and by no others. Write in each reason why it is\n# known, and not mended.\n", oneLine(subject))
	if len(seen) == 0 {
		b.WriteString("known-failures: []\n")
		return b.Bytes(), 0
	}
	b.WriteString("known-failures:\n")
	n := 0
	entry := func(g alike, transport string, places []string) {
		if n++; n > 1 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  - case: %s\n", g.id)
		if transport != "" {
			fmt.Fprintf(&b, "    transport: %s\n", transport)
		}
		fmt.Fprintf(&b, "    verdict: %s\n", g.verdict)
		if g.requirements != "" {
			fmt.Fprintf(&b, "    requirements: [%s]\n", g.requirements)
		}
		if len(places) > 0 {
			b.WriteString("    where:\n")
		}
		for _, place := range places {
			fmt.Fprintf(&b, "      - %s\n", scalar(place))
		}
		if why := seen[g].why; why != "" {
			fmt.Fprintf(&b, "    # %s\n", why)
		}
		fmt.Fprintf(&b, "    reason: %s\n", casefile.PlaceholderReason)
	}
	// Those of one requirement stand together: most have the same reason.
	groups := slices.SortedFunc(maps.Keys(seen), func(a, b alike) int {
		return cmp.Or(cmp.Compare(a.requirements, b.requirements), cmp.Compare(a.id, b.id), cmp.Compare(a.verdict, b.verdict))
	})
	for _, g := range groups {
		of := seen[g]
		if len(of.transports) == countOf(g.id, whole) {
			all := slices.Concat(slices.Collect(maps.Values(of.where))...)
			slices.Sort(all)
			entry(g, "", slices.Compact(all))
			continue
		}
		slices.Sort(of.transports)
		for _, t := range of.transports {
			entry(g, t, of.where[t])
		}
	}
	return b.Bytes(), n
}

// scalar is a text as YAML has it in a list.
func scalar(s string) string {
	text, err := yaml.Marshal(s)
	if err != nil || bytes.Count(text, []byte("\n")) != 1 {
		return strconv.Quote(s)
	}
	return strings.TrimSpace(string(text))
}

// seenReason is why a case ended as it did. Of a handler that said why it ended, its
// own words stand there whole, in the place of all that was wanted and got.
func seenReason(c *result.Case) string {
	for _, k := range c.Checks {
		if k.Verdict != result.Fail {
			continue
		}
		if _, why, ok := strings.Cut(k.Got, result.StderrSays); ok {
			return k.Requirement + ": " + strings.TrimPrefix(result.StderrSays, "; ") + why
		}
		break
	}
	return c.Reason
}

// comment is a text, of a subject in part, as a comment of one line.
func comment(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, result.Visible(s))
	return result.Clip(oneLine(s), 240)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func countOf(id string, whole []Key) (n int) {
	for _, key := range whole {
		if key.ID == id {
			n++
		}
	}
	return n
}

func failedRequirements(c result.Case) (ids []string) {
	for _, k := range c.Checks {
		if k.Verdict == result.Fail {
			ids = append(ids, k.Requirement)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Shrunk is a known-failures file after a run from which it could lose entries.
type Shrunk struct {
	Data []byte
	// Removed says what was taken out, Refused which results fail that the file does not
	// excuse, and Left which entries hold no more and have to be mended by hand.
	Removed, Refused, Left []string
}

// ShrinkKnown takes out of a known-failures file what does not fail any more, by what
// became of its entries in a run. Nothing is added, and of what the run left out
// nothing is said. Comments stay.
func ShrinkKnown(data []byte, x *result.Excuses, results []result.Case) (Shrunk, error) {
	s := Shrunk{Data: data}
	for _, c := range results {
		if canBeKnown(c.Verdict) {
			s.Refused = append(s.Refused, fmt.Sprintf("%s on %s: %s", c.ID, c.Transport, c.Verdict))
		}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return s, err
	}
	spell(&doc)
	list := entriesNode(&doc)
	if list == nil || len(list.Content) != len(x.Entries) {
		return s, fmt.Errorf("the entries of the file can't be told apart any more: it was changed during the run")
	}
	var kept []*yaml.Node
	for i := range x.Entries {
		kept = append(kept, s.shrink(&x.Entries[i], list.Content[i], results)...)
	}
	if len(s.Removed) == 0 {
		return s, nil
	}
	list.Content = kept
	if len(kept) == 0 {
		list.Style = yaml.FlowStyle
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return s, err
	}
	if err := e.Close(); err != nil {
		return s, err
	}
	s.Data = spaced(b.String())
	return s, nil
}

// spell writes aliases out, so that an entry can go without what others take from it.
// A file without any stays as it is.
func spell(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		*n = *n.Alias
	}
	n.Anchor = ""
	n.Content = slices.Clone(n.Content)
	for i, child := range n.Content {
		copied := *child
		n.Content[i] = &copied
		spell(&copied)
	}
}

// entriesNode is the list of entries.
func entriesNode(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) == 0 {
		return nil
	}
	root := doc.Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "known-failures" {
			return root.Content[i+1]
		}
	}
	return nil
}

// shrink is what is left of an entry.
func (s *Shrunk) shrink(e *result.Excuse, n *yaml.Node, results []result.Case) []*yaml.Node {
	name := e.Case
	if e.Transport != "" {
		name += " on " + e.Transport
	}
	var passing, known []string
	for _, c := range results {
		if !fits(e, Key{c.ID, c.Transport}) {
			continue
		}
		switch c.Verdict {
		case result.UnexpectedPass, result.NotApplicable:
			passing = append(passing, c.Transport)
		case result.KnownFailure:
			known = append(known, c.Transport)
		}
	}
	seen := len(passing)+len(known) == e.Fits
	isGlob := strings.ContainsAny(e.Case, "*?[")
	switch {
	case e.Fits == 0:
		s.Removed = append(s.Removed, name+": it matches nothing")
		return nil
	case seen && len(known) == 0:
		s.Removed = append(s.Removed, name+": it does not fail any more")
		return nil
	case seen && e.Judged == e.Fits && e.Excused == 0:
		s.Removed = append(s.Removed, fmt.Sprintf("%s: nothing ends in %s", name, e.Verdict))
		return nil
	case seen && len(passing) > 0 && !isGlob && e.Transport == "":
		s.Removed = append(s.Removed, fmt.Sprintf("%s on %s: it does not fail any more", name, strings.Join(passing, ", ")))
		s.narrow(name, e, n)
		var narrowed []*yaml.Node
		for _, t := range known {
			narrowed = append(narrowed, withTransport(n, t))
		}
		return narrowed
	case e.Problem == "" && len(passing) > 0:
		if isGlob {
			s.Left = append(s.Left, fmt.Sprintf("line %d, %s: %d of the results that it matches pass; list those that don't", e.Line, name, len(passing)))
		}
		return []*yaml.Node{n}
	case e.Judged == e.Fits && e.Excused > 0 && !e.Expired && s.narrow(name, e, n):
	case e.Problem != "":
		s.Left = append(s.Left, fmt.Sprintf("line %d, %s: %s", e.Line, name, e.Problem))
	}
	return []*yaml.Node{n}
}

// narrow takes out of an entry what it names and nothing fails any more, and reports
// whether there was any.
func (s *Shrunk) narrow(name string, e *result.Excuse, n *yaml.Node) bool {
	before := len(s.Removed)
	for _, list := range []struct {
		keys        []string
		named, kept []string
		holds       string
	}{{[]string{"requirements", "checks"}, e.Named(), e.Failed, "%s: %s, which holds"}, {[]string{"where"}, e.Where, e.At, "%s: at %s, where nothing fails"}} {
		for _, id := range list.named {
			if !slices.Contains(list.kept, id) {
				s.Removed = append(s.Removed, fmt.Sprintf(list.holds, name, id))
			}
		}
		keepItems(n, list.keys, list.kept)
	}
	return len(s.Removed) > before
}

// withTransport is an entry for one transport only.
func withTransport(n *yaml.Node, transport string) *yaml.Node {
	out := *n
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	out.Content = slices.Insert(slices.Clone(n.Content), 2, text("transport"), text(transport))
	return &out
}

// keepItems keeps some of the items of a list of an entry.
func keepItems(n *yaml.Node, keys, ids []string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if slices.Contains(keys, n.Content[i].Value) {
			list := n.Content[i+1]
			list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool { return !slices.Contains(ids, item.Value) })
		}
	}
}

// spaced is a file with an empty line between its entries, and the comments before one
// with it.
func spaced(text string) []byte {
	var out []string
	entries := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  - ") {
			at := len(out)
			for at > 0 && strings.HasPrefix(out[at-1], "  #") {
				at--
			}
			if entries++; entries > 1 && (at == 0 || strings.TrimSpace(out[at-1]) != "") {
				out = slices.Insert(out, at, "\n")
			}
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, ""))
}
