package subject

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of a program's output stands in an error.
const (
	excerptLines = 12
	excerptLine  = 300 // bytes
)

// lastLines is the end of a program's output for people: the last lines that
// are not blank, long ones cut, without control characters.
func lastLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = printable(line)
		if line != "" {
			lines = append(lines, line)
		}
	}
	if n := len(lines); n > excerptLines {
		lines = append([]string{fmt.Sprintf("[... %d lines before ...]", n-excerptLines)}, lines[n-excerptLines:]...)
	}
	return strings.Join(lines, "\n")
}

// printable is one line without what would disturb a terminal or a report.
func printable(line string) string {
	line = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\ufffd"))
	return cut(strings.TrimSpace(line), excerptLine)
}

// cut shortens text to limit bytes, at the border of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return fmt.Sprintf("%s[... %d bytes more]", text[:limit], len(text)-limit)
}

// indented puts a block of lines below a message.
func indented(block string) string {
	return "\n    " + strings.ReplaceAll(block, "\n", "\n    ")
}

// shown is an argument list as it is shown to people, and can be given to a
// shell.
func shown(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = shellQuote(arg)
	}
	return cut(strings.Join(words, " "), 4*excerptLine)
}

// shellQuote is one word of a POSIX shell.
func shellQuote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
