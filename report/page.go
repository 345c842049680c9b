package report

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
)

// What a terminal shows at most of one thing; the report has all of it.
const (
	maxLine   = 600     // bytes of one text of a finding
	maxProse  = 2 << 10 // bytes of one sentence of ours
	maxBlock  = 24      // lines of a diff
	maxName   = 200     // bytes of a name or a version
	maxCopied = 4 << 10 // bytes of a command or a path
	maxEchoes = 20      // further cases of one finding or one outcome
)

// labelWidth is the column behind the labels of a finding.
const labelWidth = 10

// page is text being laid out for a terminal.
type page struct {
	*terminalStyle
	strings.Builder
	look *lookUp
	// readings is the readings that were told already.
	readings map[string]bool
	// evidence is [Terminal.Evidence]; folder is the same where stderr is shown, also on
	// pages that leave the evidence paths as they are.
	evidence, folder string
}

// plainPage is a page whose text goes into another format: without colors, and with
// evidence paths as they stand in the report.
func plainPage(look *lookUp) *page {
	paint := func(_ style, text string) string { return text }
	return &page{terminalStyle: &terminalStyle{paint: paint, width: defaultWidth}, look: look, readings: map[string]bool{}}
}

// cut is what was written since the last cut.
func (p *page) cut() string {
	text := p.String()
	p.Reset()
	return strings.TrimRight(text, "\n")
}

// terminalStyle is what laying out needs of a Terminal.
type terminalStyle struct {
	paint func(style, string) string
	width int
}

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// prose writes words wrapped and indented.
func (p *page) prose(indent int, s style, text string) {
	for _, line := range wrap(strings.Fields(clean(result.Clip(text, maxProse))), p.width-indent) {
		p.line("%s%s", strings.Repeat(" ", indent), p.paint(s, line))
	}
}

// field writes a labelled text of a finding. Its words are wrapped; what stands in
// quotes or brackets is bytes and stays in one piece. A text of several lines is
// shown as it is.
func (p *page) field(label, text string) {
	if text == "" {
		return
	}
	if strings.Contains(strings.TrimRight(text, "\n"), "\n") {
		p.block(label, text)
		return
	}
	words := pieces(clean(result.Clip(strings.TrimRight(text, "\n"), maxLine)))
	p.labelled(label, wrap(words, p.width-4-labelWidth), plainStyle)
}

// block writes text of several lines, a diff for example.
func (p *page) block(label, text string) {
	if text == "" {
		return
	}
	lines := cleanLines(text)
	for i, line := range lines {
		lines[i] = result.Clip(line, maxLine)
	}
	if over := len(lines) - maxBlock; over > 0 {
		head, tail := maxBlock*2/3, maxBlock-maxBlock*2/3
		lines = slices.Concat(lines[:head], []string{fmt.Sprintf("... %d more lines in the report ...", over)}, lines[len(lines)-tail:])
	}
	for i, line := range lines {
		switch {
		case label != "diff":
		case strings.HasPrefix(line, "-"):
			lines[i] = p.paint(red, line)
		case strings.HasPrefix(line, "+"):
			lines[i] = p.paint(green, line)
		}
	}
	p.labelled(label, lines, plainStyle)
}

// labelled writes lines with the label before the first.
func (p *page) labelled(label string, lines []string, s style) {
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		p.line("%s", strings.TrimRight(fmt.Sprintf("    %s%s", p.paint(dim, fmt.Sprintf("%-*s", labelWidth, label)), p.paint(s, line)), " "))
	}
}

// verbatim writes a labelled text that is meant to be copied: never wrapped.
func (p *page) verbatim(label, text string) {
	if text != "" {
		p.labelled(label, []string{clean(result.Clip(text, maxCopied))}, plainStyle)
	}
}

// below is the path of a case's evidence as it can be opened; none stays none.
func (p *page) below(folder string) string {
	if folder == "" || p.evidence == "" {
		return folder
	}
	return path.Join(filepath.ToSlash(p.evidence), folder)
}
