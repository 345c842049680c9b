package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"pugmark.dev/conform/result"
)

var (
	//go:embed matrix.tmpl
	matrixTemplate string
	//go:embed matrix.css
	matrixStyle string
)

// WriteHTML writes the matrix as one page that needs nothing else: no network and no
// script. What stands in the runs is text, and the page's policy allows its own
// style alone.
func (m *Matrix) WriteHTML(w io.Writer) error {
	t, err := template.New("matrix").Parse(matrixTemplate)
	if err != nil {
		return fmt.Errorf("write the matrix: %w", err)
	}
	sum := sha256.Sum256([]byte(matrixStyle))
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>pugmark-conform: implementations and requirements</title>
<style>%s</style>
</head>
`, base64.StdEncoding.EncodeToString(sum[:]), matrixStyle)
	if err := t.Execute(&b, m); err != nil {
		return fmt.Errorf("write the matrix: %w", err)
	}
	b.WriteString("</html>\n")
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the matrix: %w", err)
	}
	return nil
}

// matrixSection is the requirements of one section of the page.
type matrixSection struct {
	Section, Title string
	Rows           []matrixRow
}

// matrixRow is a requirement on the page.
type matrixRow struct {
	Row
	Boxes []matrixBox
	// Only is the implementation that alone fails.
	Only string
}

// matrixBox is a cell of the page.
type matrixBox struct {
	Word, Tone string
	IsAlone    bool
}

// Sections is the rows by section, for the page.
func (m *Matrix) Sections() []matrixSection {
	var all []matrixSection
	for _, r := range m.Rows {
		if n := len(all); n == 0 || all[n-1].Section != r.Section {
			all = append(all, matrixSection{Section: r.Section, Title: r.Title})
		}
		row := matrixRow{Row: r}
		for i, v := range r.Cells {
			row.Boxes = append(row.Boxes, matrixBox{Word: strings.ReplaceAll(string(v), "-", " "), Tone: tone(v), IsAlone: i == r.Alone})
		}
		if r.Alone >= 0 {
			row.Only = m.Columns[r.Alone].Name
		}
		last := &all[len(all)-1]
		last.Rows = append(last.Rows, row)
	}
	return all
}

// Width is how many columns of the page a section's heading spans.
func (m *Matrix) Width() int { return len(m.Columns) + 2 }

// tone is the class that a verdict is shown in; its word always stands there too.
func tone(v result.Verdict) string {
	switch {
	case v == "" || v == result.NotApplicable || v == result.Untested:
		return "none"
	case v == result.Pass:
		return "good"
	case isFailing(v):
		return "bad"
	case v == result.Warn || v == result.KnownFailure:
		return "odd"
	}
	return "open"
}
