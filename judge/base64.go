package judge

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// dataFault is what is wrong with the text of a data field.
type dataFault struct {
	rule string
	what string
	at   int // byte of the decoded JSON string
}

// decodeData reads the text of a data field as far as it can be read, and says
// what in it the encoder must not have written (section 3.1): letters of the
// URL-safe alphabet, and line breaks or other white space. Both paddings are
// right, so none is asked for. The first fault against each rule is reported; the
// bytes are those that were meant.
func decodeData(text string) (data []byte, faults []dataFault) {
	note := func(rule string, at int, format string, args ...any) {
		if !slices.ContainsFunc(faults, func(f dataFault) bool { return f.rule == rule }) {
			faults = append(faults, dataFault{rule: rule, at: at, what: fmt.Sprintf(format, args...)})
		}
	}
	plain := make([]byte, 0, len(text))
	padding := 0
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '\r' || c == '\n' || c == ' ' || c == '\t':
			note(ruleLineBreaks, i, "%s at byte %d of the text", whiteSpaceName(c), i)
			continue
		case c == '-' || c == '_':
			note(ruleAlphabet, i, "%q of the URL-safe alphabet at byte %d of the text", c, i)
			c = map[byte]byte{'-': '+', '_': '/'}[c]
		case c == '=':
			padding++
			continue
		case !isBase64(c):
			note(ruleAlphabet, i, "%s, which no base64 has, at byte %d of the text", quote(text[i:min(i+1, len(text))]), i)
			continue
		}
		if padding > 0 {
			note(ruleAlphabet, i, "text after the padding, at byte %d of the text", i)
		}
		plain = append(plain, c)
	}
	if len(plain)%4 == 1 {
		note(ruleAlphabet, len(text), "%d base64 letters, a number that encodes nothing", len(plain))
		plain = plain[:len(plain)-1]
	}
	if padding > 0 && (padding > 2 || (len(plain)+padding)%4 != 0) {
		note(ruleAlphabet, strings.IndexByte(text, '='), "%d padding characters after %d letters", padding, len(plain))
	}
	// The letters were checked above, so decoding can't fail; bits that are over
	// at the end are not asserted.
	data = make([]byte, base64.RawStdEncoding.DecodedLen(len(plain)))
	n, _ := base64.RawStdEncoding.Decode(data, plain)
	return data[:n], faults
}

func isBase64(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/'
}

func whiteSpaceName(c byte) string {
	switch c {
	case '\r':
		return "a CR"
	case '\n':
		return "an LF"
	case '\t':
		return "a tab"
	}
	return "a space"
}
