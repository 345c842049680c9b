package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// appendMetadata appends session metadata as it travels in a variable or a header:
// a JSON object of strings, names sorted, everything but printable ASCII escaped.
func appendMetadata(dst []byte, metadata map[string]string) ([]byte, error) {
	separator := byte('{')
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		value := metadata[key]
		if err := errors.Join(checkText(key), checkText(value)); err != nil {
			return nil, fmt.Errorf("metadata %.64q: %w", key, err)
		}
		dst = append(dst, separator)
		dst = append(appendASCII(dst, key), ':')
		dst = appendASCII(dst, value)
		separator = ','
	}
	return append(dst, '}'), nil
}

// appendASCII appends text as a JSON string of printable ASCII. DEL is escaped too:
// JSON would take it, a header would not.
func appendASCII(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case ' ' <= r && r <= '~':
			dst = append(dst, byte(r))
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, '"')
}

// parseMetadata reads a JSON object of strings that is all of text, as strictly as
// a record (readings R17 and R18).
func parseMetadata(text []byte) (map[string]string, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	value, err := d.ReadValue()
	if err != nil {
		return nil, fmt.Errorf("no JSON object of strings: %w", unexpectedEOF(err))
	}
	if value.Kind() != jsontext.KindBeginObject {
		return nil, fmt.Errorf("no JSON object of strings: %.64q", text)
	}
	var metadata map[string]string
	var r fieldReader
	r.begin(bytes.Clone(value))
	if fault := r.stringMap([]byte("metadata"), &metadata); fault != nil {
		return nil, fmt.Errorf("at byte %d: %w", fault.at, fault.err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("text after the JSON object: %.64q", text[d.InputOffset():])
	}
	return metadata, nil
}

// checkText refuses what is not UTF-8 (P3/utf8).
func checkText(text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return fmt.Errorf("%.64q: %w", text, ErrInvalidUTF8)
}

func checkSession(text string) error {
	switch {
	case text == "":
		return errors.New("absent or empty")
	case !ValidSessionID(text):
		return fmt.Errorf("%.64q is no session ID (32 lower-case hex digits, not all zero)", text)
	}
	return nil
}
