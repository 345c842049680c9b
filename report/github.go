package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"pugmark.dev/conform/result"
)

// GitHub shows ten errors and ten warnings of a step, and drops the others without
// a word.
const maxAnnotations = 10

// GitHub writes the run as workflow commands of GitHub Actions, one a line, which
// become annotations: first the verdict, then an error for each requirement that
// does not hold and for each reason why cases need looking at, a warning for each
// SHOULD. Of more than GitHub shows the last one counts the rest. They have to be
// printed by a step of a job.
func (r Renderer) GitHub(w io.Writer, run *result.Run) error {
	stored, err := AsStored(run)
	if err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	look := newLookUp(stored, r.Registry)
	verdict := annotation{title: "pugmark-conform: " + conclusion(stored)}
	verdict.message = fmt.Sprintf("%s: %s", subjectOf(stored), strings.Join(append(nonEmpty(tested(stored)), fmt.Sprintf("exit status %d", ExitStatus(stored))), "; "))
	var b strings.Builder
	most := maxAnnotations
	if ExitStatus(stored) == ExitConformant {
		b.WriteString(verdict.command("notice"))
	} else {
		b.WriteString(verdict.command("error"))
		most--
	}
	errs := ofEntries(stored)
	for _, f := range findings(look, result.Fail) {
		errs = append(errs, r.ofFinding(look, f, "fails"))
	}
	for _, o := range unclear(stored.Cases) {
		errs = append(errs, r.ofOutcome(look, o))
	}
	b.WriteString(commands("error", errs, most))
	var warnings []annotation
	for _, f := range findings(look, result.Warn) {
		warnings = append(warnings, r.ofFinding(look, f, "does not hold"))
	}
	b.WriteString(commands("warning", warnings, maxAnnotations))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	return nil
}

// annotation is one workflow command.
type annotation struct {
	file, title, message string
	// line is 1, the whole file, when it is 0.
	line int
}

// ofEntries is the entries of the known-failures file that don't hold, each where it
// stands.
func ofEntries(run *result.Run) (all []annotation) {
	if run.Known == nil {
		return nil
	}
	for _, e := range run.Known.Entries {
		if e.Problem != "" {
			all = append(all, annotation{
				file: clean(run.Known.File), line: e.Line, title: "known failure: " + clean(result.Clip(e.Case, maxName)),
				message: clean(result.Clip(e.Problem, maxLine)),
			})
		}
	}
	return all
}

// commands writes at most as many as may be, the last of which then counts the rest.
func commands(level string, all []annotation, most int) string {
	var b strings.Builder
	for i, a := range all {
		if i == most-1 && len(all) > most {
			a = annotation{
				title:   fmt.Sprintf("and %d more", len(all)-i),
				message: "GitHub shows no more annotations than these; the other reports of the run have all of it.",
			}
			b.WriteString(a.command(level))
			break
		}
		b.WriteString(a.command(level))
	}
	return b.String()
}

// command is the annotation as the line that GitHub reads.
func (a annotation) command(level string) string {
	var properties []string
	if a.file != "" {
		properties = append(properties, "file="+commandProperty(a.file), fmt.Sprintf("line=%d", max(a.line, 1)))
	}
	properties = append(properties, "title="+commandProperty(a.title))
	return fmt.Sprintf("::%s %s::%s\n", level, strings.Join(properties, ","), commandData(a.message))
}

// commandData is a text as the message of a workflow command.
func commandData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// commandProperty is a text as a property of a workflow command.
func commandProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

func (r Renderer) ofFinding(look *lookUp, f finding, word string) annotation {
	all := echoes(f.hits)
	p := plainPage(look)
	p.prose(0, plainStyle, f.requirement.text)
	p.whole(all[0])
	if more := len(all) - 1; more > 0 {
		p.line("and %s", count(more, "more finding"))
	}
	return annotation{
		file:    r.place(all[0].ID),
		title:   clean(result.Clip(f.requirement.id, maxName)) + " " + word,
		message: p.cut(),
	}
}

func (r Renderer) ofOutcome(look *lookUp, o outcome) annotation {
	p := plainPage(look)
	p.list(o.cases)
	p.field("reason", o.reason)
	p.verbatim("rerun", o.cases[0].Rerun)
	p.verbatim("evidence", o.cases[0].Evidence)
	return annotation{
		file:    r.place(o.cases[0].ID),
		title:   cmp.Or(strings.ReplaceAll(clean(string(o.verdict)), "-", " "), "unclear") + ": " + clean(result.Clip(o.cases[0].ID, maxName)) + andMore(len(o.cases)-1),
		message: p.cut(),
	}
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %s", count(n, "more case"))
}

// place is the file that an annotation about a case points at.
func (r Renderer) place(id string) string {
	if r.Place == nil {
		return ""
	}
	return clean(r.Place(id))
}
