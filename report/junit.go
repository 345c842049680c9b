package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"pugmark.dev/conform/result"
)

// maxJUnit is how many bytes of details a JUnit file holds; consumers refuse files
// that are much larger. Behind it each case still has its verdict and its message.
const maxJUnit = 16 << 20

// The elements of a JUnit file, as its consumers agree on them.
type (
	junitSuites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Time     string   `xml:"time,attr"`
		Suites   []*junitSuite
	}
	junitSuite struct {
		XMLName    xml.Name `xml:"testsuite"`
		Name       string   `xml:"name,attr"`
		Tests      int      `xml:"tests,attr"`
		Failures   int      `xml:"failures,attr"`
		Errors     int      `xml:"errors,attr"`
		Skipped    int      `xml:"skipped,attr"`
		Time       string   `xml:"time,attr"`
		Timestamp  string   `xml:"timestamp,attr,omitempty"`
		Properties *junitProperties
		Cases      []junitCase
		ms         int64
	}
	junitProperties struct {
		XMLName xml.Name `xml:"properties"`
		All     []junitProperty
	}
	junitProperty struct {
		XMLName xml.Name `xml:"property"`
		Name    string   `xml:"name,attr"`
		Value   string   `xml:"value,attr"`
	}
	junitCase struct {
		XMLName   xml.Name   `xml:"testcase"`
		ClassName string     `xml:"classname,attr"`
		Name      string     `xml:"name,attr"`
		Time      string     `xml:"time,attr"`
		Skipped   *junitSaid `xml:"skipped"`
		Failure   *junitSaid `xml:"failure"`
		Error     *junitSaid `xml:"error"`
		Out       *junitText `xml:"system-out"`
		Err       *junitText `xml:"system-err"`
	}
	junitSaid struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",innerxml"`
	}
	junitText struct {
		Text string `xml:",innerxml"`
	}
)

// JUnit writes the run as JUnit XML, one suite for each side and area, one test for
// each case and transport. The first test is the verdict of the run, so that the
// file is red whenever the exit status is not 0.
//
// A failure is a case that speaks against the subject, or that the known-failures
// file did not expect; an error one that could not be judged or that the subject did
// not live through; skipped are what the subject declared away and known failures,
// each with its reason. The text is XML 1.0 whatever the subject wrote.
func (r Renderer) JUnit(w io.Writer, run *result.Run) error {
	stored, err := AsStored(run)
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	text, err := xml.MarshalIndent(r.suites(stored), "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, text); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	return nil
}

func (r Renderer) suites(run *result.Run) *junitSuites {
	all := &junitSuites{Name: subjectOf(run) + ": " + conclusion(run), Time: seconds(run.DurationMS)}
	began := ""
	if t, err := time.Parse(time.RFC3339, run.Started); err == nil {
		began = t.UTC().Format("2006-01-02T15:04:05")
	}
	all.add(verdictSuite(run, began))
	look := newLookUp(run, r.Registry)
	room := maxJUnit
	for i := range run.Cases {
		c := &run.Cases[i]
		if area := areaOf(c.ID); len(all.Suites) == 1 || all.Suites[len(all.Suites)-1].Name != area {
			all.Suites = append(all.Suites, &junitSuite{Name: area, Timestamp: began})
		}
		suite := all.Suites[len(all.Suites)-1]
		suite.ms += c.DurationMS
		suite.put(r.testcase(look, c, &room))
	}
	for _, suite := range all.Suites[1:] {
		suite.Time = seconds(suite.ms)
		all.count(suite)
	}
	return all
}

func (s *junitSuites) add(suite *junitSuite) {
	s.Suites = append(s.Suites, suite)
	s.count(suite)
}

func (s *junitSuites) count(suite *junitSuite) {
	s.Tests += suite.Tests
	s.Failures += suite.Failures
	s.Errors += suite.Errors
	s.Skipped += suite.Skipped
}

func (s *junitSuite) put(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// areaOf is side and area of a case, handler/framing.
func areaOf(id string) string {
	parts := strings.SplitN(id, "/", 3)
	return clean(strings.Join(parts[:min(2, len(parts))], "/"))
}

// verdictSuite holds the one test that is the verdict of the run, and what the run
// was of.
func verdictSuite(run *result.Run, began string) *junitSuite {
	suite := &junitSuite{Name: "run", Time: seconds(0), Timestamp: began, Properties: &junitProperties{}}
	property := func(name, value string) {
		if value != "" {
			suite.Properties.All = append(suite.Properties.All, junitProperty{Name: name, Value: clean(result.Clip(value, maxCopied))})
		}
	}
	property("subject", subjectOf(run))
	property("suite", strings.TrimSpace(run.Suite.Version+" "+run.Suite.Cases))
	property("selection", selectionOf(run.Selection))
	property("platform", run.Platform)
	property("seed", fmt.Sprint(run.Seed))
	property("command", strings.Join(run.Command, " "))
	said := &junitSaid{Message: conclusion(run), Type: clean(string(run.Verdict))}
	said.Text = xmlText(strings.Join(append(nonEmpty(tested(run)), fmt.Sprintf("exit status %d", ExitStatus(run))), "; "))
	for _, line := range broken(run) {
		said.Text += "\n" + xmlText(line)
	}
	c := junitCase{ClassName: "run", Name: "verdict", Time: seconds(0)}
	switch ExitStatus(run) {
	case ExitConformant:
		c.Out = &junitText{xmlText(said.Message) + "; " + said.Text}
	case ExitNotConformant:
		c.Failure = said
	default:
		c.Error = said
	}
	suite.put(c)
	return suite
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// selectionOf says what was left out; of a whole run it is empty.
func selectionOf(s result.Selection) string {
	if s.IsWhole() {
		return ""
	}
	var words []string
	if !s.All {
		words = append(words, s.Patterns...)
	}
	if s.IsShard() {
		words = append(words, "shard "+s.Shard)
	}
	return cmp.Or(strings.Join(words, " "), "not everything")
}

// testcase is one case on one transport.
func (r Renderer) testcase(look *lookUp, c *result.Case, room *int) junitCase {
	t := junitCase{
		ClassName: strings.ReplaceAll(areaOf(c.ID), "/", "."),
		Name:      clean(result.Clip(c.ID, maxCopied)) + " on " + clean(result.Clip(c.Transport, maxName)),
		Time:      seconds(c.DurationMS),
	}
	said := &junitSaid{Message: message(c), Type: clean(string(c.Verdict))}
	switch c.Verdict {
	case result.Pass:
		return t
	case result.NotApplicable:
		t.Skipped = &junitSaid{Message: cmp.Or(clean(result.Clip(c.Reason, maxLine)), "no reason given")}
		return t
	case result.KnownFailure:
		t.Skipped = &junitSaid{Message: "known failure: " + cmp.Or(clean(result.Clip(c.Reason, maxLine)), "no reason given")}
		return t
	}
	text, stderr := xmlText(caseText(look, c)), xmlText(diagnostics(r.Evidence, c))
	if *room -= len(text) + len(stderr); *room < 0 {
		text, stderr = "The details are left out for want of room; the JSON report and the evidence folder have them.", ""
	}
	if stderr != "" {
		t.Err = &junitText{stderr}
	}
	said.Text = text
	switch c.Verdict {
	case result.Warn:
		t.Out = &junitText{text}
	case result.Fail, result.Flaky, result.UnexpectedPass:
		t.Failure = said
	default:
		t.Error = said
	}
	return t
}

// message is what became of a case in one line: its first failed check, and how
// many there are beside it, or the reason.
func message(c *result.Case) string {
	var first *result.Check
	more := 0
	for i := range c.Checks {
		switch k := &c.Checks[i]; {
		case k.Verdict != result.Fail && (k.Verdict != result.Warn || c.Verdict != result.Warn):
		case first == nil:
			first = k
		default:
			more++
		}
	}
	text := string(c.Verdict)
	if isOwn := c.Verdict == result.Fail || c.Verdict == result.Warn; !isOwn || first == nil {
		if c.Reason != "" {
			text += ": " + result.Clip(c.Reason, maxLine)
		}
		return clean(text)
	}
	text = clean(first.Requirement) + says(first)
	if first.Got != "" && first.Want != "" {
		text += "; want " + clean(result.Clip(first.Want, maxLine))
	}
	if more > 0 {
		text += "; and " + count(more, "more check")
	}
	return text
}

// caseText is all that a case found, as the terminal would show it, for formats in
// which each case stands alone.
func caseText(look *lookUp, c *result.Case) string {
	p := plainPage(look)
	shown, left := 0, 0
	for i := range c.Checks {
		k := &c.Checks[i]
		if k.Verdict != result.Fail && k.Verdict != result.Warn {
			continue
		}
		if shown++; shown > maxEchoes {
			left++
			continue
		}
		q := look.requirement(k.Requirement)
		p.heading(plainStyle, strings.ToUpper(string(k.Verdict)), q)
		p.prose(2, plainStyle, q.text)
		p.line("")
		p.check(k)
		p.line("")
	}
	if left > 0 {
		p.line("and %s, all in the report\n", count(left, "more check"))
	}
	p.why(c.Why)
	if c.Verdict != result.Fail && c.Verdict != result.Warn {
		p.field("ended in", string(c.Verdict))
	}
	if shown == 0 || c.Verdict != result.Fail && c.Verdict != result.Warn {
		p.field("reason", c.Reason)
	}
	p.verbatim("rerun", c.Rerun)
	p.verbatim("evidence", c.Evidence)
	return "\n" + p.cut() + "\n"
}

// seconds shows milliseconds as JUnit wants them.
func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// xmlText is text as it stands in XML 1.0. What XML can't carry, control characters
// above all, has to be made visible before: [clean] and [cleanLines] do.
func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s)
}
