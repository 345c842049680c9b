package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

//go:embed page.tmpl style.css script.js
var assets embed.FS

// Render writes the run as one page. The registry gives titles and readings; nil
// leaves these out. Evidence is the folder that the evidence of the run's cases is
// below; empty leaves it out. Evidence that can't be read is a sentence on the
// page. An error is one of writing, or of a run that is no report.
//
// The page is made of what the JSON report holds, as it stands there, whether the
// run comes from the file or from memory: the same report and evidence give the
// same bytes. A page of a full run has at most [MaxSize] bytes; only one whose
// findings alone are longer is larger.
func Render(w io.Writer, run *result.Run, s *spec.Spec, evidence string) error {
	stored, err := report.AsStored(run)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	p, err := newPrinter()
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	m := newMaker(stored, s, newStore(evidence))
	var text []byte
	all := levels()
	for i, l := range all {
		limit := MaxSize
		if i == len(all)-1 {
			limit = math.MaxInt
		}
		text, err = p.print(m.page(l), limit)
		if !errors.Is(err, errFull) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// printer puts the page together from its fixed parts and the template. The fixed
// parts do not go through the template, so that their digests are those of the
// bytes that the browser sees.
type printer struct {
	template      *template.Template
	style, script string
}

func newPrinter() (*printer, error) {
	t, err := template.New("page").ParseFS(assets, "page.tmpl")
	if err != nil {
		return nil, err
	}
	style, err := assets.ReadFile("style.css")
	if err != nil {
		return nil, err
	}
	script, err := assets.ReadFile("script.js")
	if err != nil {
		return nil, err
	}
	return &printer{t, string(style), string(script)}, nil
}

// print is the page as a file. The policy allows nothing but the style and the
// script that stand in it, so that not even a fault of the template could run or
// load anything.
//
// A page of more than limit bytes is errFull.
func (p *printer) print(page *page, limit int) ([]byte, error) {
	b := &bounded{limit: limit}
	fmt.Fprintf(b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
`, digest(p.style), digest(p.script))
	if err := p.template.ExecuteTemplate(b, "title", page); err != nil {
		return nil, err
	}
	fmt.Fprintf(b, "<style>%s</style>\n</head>\n<body>\n", p.style)
	if err := p.template.ExecuteTemplate(b, "body", page); err != nil {
		return nil, err
	}
	fmt.Fprintf(b, "<script>%s</script>\n</body>\n</html>\n", p.script)
	return b.Bytes(), b.full()
}

// errFull is the error of a page that would be larger than it may be.
var errFull = errors.New("the page is larger than it may be")

// bounded is a buffer that ends the printing of a page that does not fit: what is
// printed of it is thrown away.
type bounded struct {
	bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	n, _ := b.Buffer.Write(p)
	return n, b.full()
}

func (b *bounded) full() error {
	if b.Len() > b.limit {
		return errFull
	}
	return nil
}

// digest is a text as a content security policy names it.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
