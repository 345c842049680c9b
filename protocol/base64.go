package protocol

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"
)

var (
	errLineBreak = errors.New("a line break within base64 (section 3.1)")
	errURLSafe   = errors.New("a character of the URL-safe alphabet (section 3.1)")
	errPadding   = errors.New("base64 of an impossible length or padding")
)

// decodeBase64 decodes the standard alphabet, padded or not (P3.1/accept-unpadded).
// With an error it returns where in text the fault is. The unused bits of a last
// group may have any value: the text asks nothing of them.
func decodeBase64(text []byte) (data []byte, bad int, err error) {
	// The library skips line breaks, so they are looked for here.
	for _, c := range []byte("\r\n") {
		if at := bytes.IndexByte(text, c); at >= 0 {
			return nil, at, errLineBreak
		}
	}
	encoding := base64.StdEncoding
	if !bytes.HasSuffix(text, []byte("=")) {
		encoding = base64.RawStdEncoding
	}
	data = make([]byte, encoding.DecodedLen(len(text)))
	n, err := encoding.Decode(data, text)
	if err == nil {
		return data[:n], 0, nil
	}
	var corrupt base64.CorruptInputError
	if errors.As(err, &corrupt) {
		bad = int(min(max(int64(corrupt), 0), int64(len(text))))
	}
	if bad < len(text) {
		switch c := text[bad]; {
		case c == '-' || c == '_':
			return nil, bad, errURLSafe
		case c != '=' && !isBase64(c):
			r, _ := utf8.DecodeRune(text[bad:])
			return nil, bad, fmt.Errorf("the character %q within base64", r)
		}
	}
	return nil, bad, errPadding
}

func isBase64(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}
