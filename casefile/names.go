package casefile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The forms of names, told by hand: patterns that are compiled for each of hundreds of
// files were a quarter of the time that it takes to load them, and a pattern that is
// compiled once would be so in every process of a handler too.

// isName reports whether a text is lower-case letters and digits, with hyphens between
// words.
func isName(s string) bool {
	return isOf(s, isNameByte) && !strings.HasPrefix(s, "-") && !strings.HasSuffix(s, "-") && !strings.Contains(s, "--")
}

// isPosition reports whether a name begins with a number of its own.
func isPosition(s string) bool {
	rest := strings.TrimLeft(s, "0123456789")
	return rest != s && (rest == "" || rest[0] == '-')
}

// isReference reports whether a text is {name}, for the ID of a session.
func isReference(s string) bool { return referenced(s) != "" }

// referenced is the name in {name}, empty if the text is something else.
func referenced(s string) string {
	name, closed := strings.CutSuffix(s, "}")
	name, opened := strings.CutPrefix(name, "{")
	if !closed || !opened || !isOf(name, isNameByte) {
		return ""
	}
	return name
}

// isSessionID reports whether a text is 32 lower-case hex digits.
func isSessionID(s string) bool {
	return len(s) == 32 && isOf(s, func(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' })
}

// isOf reports whether a text that is not empty has bytes of a kind only.
func isOf(s string, kind func(byte) bool) bool {
	for i := range len(s) {
		if !kind(s[i]) {
			return false
		}
	}
	return s != ""
}

func isNameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-'
}

// beginsLikeASentence reports whether a text begins with a capital letter, a digit or
// something quoted.
func beginsLikeASentence(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsUpper(r) || '0' <= r && r <= '9' || r == '`' || r == '"'
}

// hasTwoSentences reports whether a sentence ends within a text and another begins.
func hasTwoSentences(text string) bool {
	for i := range len(text) {
		if !strings.ContainsRune(".!?", rune(text[i])) {
			continue
		}
		rest := strings.TrimLeft(text[i+1:], " ")
		if r, _ := utf8.DecodeRuneInString(rest); len(rest) < len(text)-i-1 && unicode.IsUpper(r) {
			return true
		}
	}
	return false
}
