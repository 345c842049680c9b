package report

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"pugmark.dev/conform/result"
)

// outline is the structure that a parser of GitHub's Markdown finds, texts left out,
// and the texts that are not code, as a browser would show them. Markup that no
// report has is an error.
func outline(source string) (kinds []string, prose string, err error) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))
	doc := markdown.Parser().Parse(text.NewReader([]byte(source)))
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Kind() == ast.KindText || n.Kind() == ast.KindString {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindLink, ast.KindAutoLink, ast.KindImage, ast.KindRawHTML, ast.KindHTMLBlock, ast.KindBlockquote, ast.KindThematicBreak:
			return ast.WalkStop, fmt.Errorf("the report holds a %s", n.Kind())
		}
		kinds = append(kinds, n.Kind().String())
		if n.Kind() == ast.KindCodeSpan || n.Kind() == ast.KindFencedCodeBlock {
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	var page strings.Builder
	err = errors.Join(err, markdown.Renderer().Render(&page, []byte(source), doc))
	for _, part := range []string{`(?s)<code[^>]*>.*?</code>`, `<[^>]*>`} {
		shown := regexp.MustCompile(part).ReplaceAllString(page.String(), "")
		page.Reset()
		page.WriteString(shown)
	}
	return kinds, html.UnescapeString(page.String()), err
}

// acts is what GitHub looks for in the text that has been parsed.
var acts = regexp.MustCompile(`(?i)@[a-z0-9]|#[0-9]|\bGH-[0-9]|://|www\.|:[a-z]+:`)

// hostileRun has the text in every field of a report, those of the cases included: a
// report to be rendered may come from anywhere.
func hostileRun(t testing.TB, s string) *result.Run {
	run := everyVerdict(t)
	poison(run, s)
	run.Suite.Version, run.Platform = s, s
	run.Selection = result.Selection{Patterns: []string{s}}
	run.Requirements = append(run.Requirements, result.Requirement{ID: "Z/" + s, Level: "MUST", Side: "B", Section: "zz" + s, Text: s, Verdict: result.Fail})
	run.Cases = append(run.Cases, result.Case{ID: "zz/" + s, Transport: s, Why: s, Verdict: result.Fail, Reason: s, Rerun: s, Evidence: s,
		Checks: []result.Check{{ID: s, Requirement: "Z/" + s, Readings: []string{s}, Verdict: result.Fail, Where: s, Want: s, Got: s, Diff: s}}})
	return run
}

func TestNothingInAReportIsMarkupInMarkdown(t *testing.T) {
	r := Renderer{Registry: registry(t)}
	want, _, err := outline(rendered(t, Renderer.Markdown, r, hostileRun(t, "x")))
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		s := "x" + texts().Draw(rt, "text") // "x", since an absent text takes its line away
		source := rendered(rt, Renderer.Markdown, r, hostileRun(t, s))
		got, prose, err := outline(source)
		require.NoError(rt, err, source)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("structure (-want +got):\n%s\n%s", diff, source)
		}
		if found := acts.FindString(prose); found != "" {
			rt.Fatalf("%q would act in %s", found, prose)
		}
	})
}

func TestTextStaysTextInMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"plain words, 3.1 (a-b)": "plain words, 3.1 (a-b)",
		"3.1 Binary":             `3\.1 Binary`,
		"- item":                 `\- item`,
		"a `b` *c* [d](e) <f>":   "a \\`b\\` \\*c\\* \\[d\\](e) &lt;f\\>",
		"@me #1 | &amp; a: b":    `\@&#8203;me \#&#8203;1 &#124; &amp;amp; a: b`,
		"http://x www.y.z :)":    `http\:&#8203;//x w&#8203;ww.y.z \:&#8203;)`,
		"a\nb":                   `a\\nb`,
	} {
		if diff := cmp.Diff(want, mdProse(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
	for in, want := range map[string]string{
		"a": "`a`", "": "(empty)", " ": "(empty)", "a`b": "``a`b``", "`": "`` ` ``", "a|b": "`a\\x7cb`", " a": "`  a `",
	} {
		if diff := cmp.Diff(want, mdCode(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
	require.Equal(t, "````text\n```\n````\n", mdBlock("```\n"))
}
