package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What handlers and others wrote is shown so that it can neither control a terminal
// nor be taken for something that this program says.

// safe escapes, as Go does in strings, whatever is no printable character: control
// characters, what changes the direction of text, and bytes that are no UTF-8.
func safe(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}

// fact is a value within a line of facts, which two spaces part: in quotes where it
// could be taken for another value, or for several.
func fact(value string) string {
	plain := value != "" && value == safe(value) && value == strings.TrimSpace(value) &&
		!strings.Contains(value, "  ") && !strings.ContainsAny(value, `"\`)
	if plain {
		return value
	}
	return strconv.Quote(value)
}

// typeFact is a content type, which stands in a line without saying what it is: in
// quotes unless it looks like one.
func typeFact(value string) string {
	words := strings.ReplaceAll(value, "; ", ";")
	if !strings.Contains(words, "/") || strings.Contains(words, " ") {
		return strconv.Quote(value)
	}
	return fact(value)
}

// bodyText shows a body below its line of facts: each line stands in from the edge,
// and what is not printable is escaped.
func bodyText(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("    ")
		for i, cell := range strings.Split(line, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(safe(cell))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// printJSON writes a value as JSON and a line end. It stays on one line without an
// indent, and escapes what would change a terminal, which changes no value.
func (a *app) printJSON(value any, indent string) error {
	options := []json.Options{json.Deterministic(true)}
	if indent != "" {
		options = append(options, jsontext.WithIndent(indent))
	}
	data, err := json.Marshal(value, options...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", safeJSON(data))
	return err
}

// safeJSON escapes what is not printable. Outside of strings JSON has nothing of it
// but the line ends of its indentation, and within them none that is not escaped.
func safeJSON(data []byte) string {
	// Most of it is bodies in base64.
	if !slices.ContainsFunc(data, func(c byte) bool { return c != '\n' && (c < ' ' || c >= 0x7f) }) {
		return string(data)
	}
	var b strings.Builder
	b.Grow(len(data))
	for _, r := range string(data) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			const surrogates, high, low = 0x10000, 0xd800, 0xdc00
			fmt.Fprintf(&b, `\u%04x\u%04x`, high+(r-surrogates)>>10, low+(r-surrogates)&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
