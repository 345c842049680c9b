package main

import (
	"errors"
	"strings"
)

// splitWords splits a command line into words as a POSIX shell would that expands
// nothing: blanks separate, quotes and backslashes protect.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		case '\'', '"':
			begun = true
			rest, err := unquote(text[i+1:], c, &word)
			if err != nil {
				return nil, err
			}
			i = len(text) - len(rest) - 1
		case '\\':
			if i++; i == len(text) {
				return nil, errors.New("the command ends with a backslash")
			}
			begun = true
			word.WriteByte(text[i])
		default:
			begun = true
			word.WriteByte(c)
		}
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}

// unquote appends what stands before the closing quote to word and returns what
// stands after it.
func unquote(text string, quote byte, word *strings.Builder) (string, error) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return text[i+1:], nil
		case c == '\\' && quote == '"' && i+1 < len(text) && strings.IndexByte("\"\\$`", text[i+1]) >= 0:
			i++
			word.WriteByte(text[i])
		default:
			word.WriteByte(c)
		}
	}
	return "", errors.New("a quote is not closed")
}
