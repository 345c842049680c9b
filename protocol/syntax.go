package protocol

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Kind says what is wrong with a stream. The set is closed, so that a report can
// name a fault without reading the text of an error.
type Kind string

// The kinds of [SyntaxError].
const (
	// KindBOM is a byte-order mark, of UTF-8 or UTF-16, where a record should
	// begin (P3/no-bom).
	KindBOM Kind = "bom"
	// KindForeignContent is text between records that is no JSON, a log line for
	// example (P3/no-foreign-content).
	KindForeignContent Kind = "foreign-content"
	// KindNotAnObject is a JSON value between records that is no object, as far
	// as the stream goes (P3/single-object).
	KindNotAnObject Kind = "not-an-object"
	// KindBadUTF8 is a string of a record that is not UTF-8 (P3/utf8).
	KindBadUTF8 Kind = "bad-utf8"
	// KindLoneSurrogate is a \u escape of one half of a surrogate pair
	// (reading R18).
	KindLoneSurrogate Kind = "lone-surrogate"
	// KindDuplicateName is a name that an object has twice, at any depth
	// (reading R18).
	KindDuplicateName Kind = "duplicate-name"
	// KindWrongType is a recognised field whose value has another type than the
	// schema's (sections 4 and 5), or a null metadata value (reading R17).
	KindWrongType Kind = "wrong-type"
	// KindBadBase64 is a data field that is no base64 of the standard alphabet
	// (section 3.1).
	KindBadBase64 Kind = "bad-base64"
	// KindTruncated is a record that the end of the stream cuts short.
	KindTruncated Kind = "truncated"
	// KindSyntax is any other fault of the JSON inside a record.
	KindSyntax Kind = "syntax"
)

// describe gives the words that an error message has for a kind.
func (k Kind) describe() string {
	switch k {
	case KindBOM:
		return "a byte-order mark"
	case KindForeignContent:
		return "non-JSON content"
	case KindNotAnObject:
		return "a JSON value that is no object"
	case KindBadUTF8:
		return "invalid UTF-8"
	case KindLoneSurrogate:
		return "half of a surrogate pair"
	case KindDuplicateName:
		return "a name given twice"
	case KindWrongType:
		return "a value of the wrong type"
	case KindBadBase64:
		return "malformed base64"
	default:
		return "malformed JSON"
	}
}

// excerptLimit is how many bytes of the stream an error shows.
const excerptLimit = 32

// SyntaxError is what a [Decoder] says about a stream that breaks section 3. The
// same stream gives the same Offset, Kind, Start and Record however it is cut
// into reads; Excerpt may be shorter when fewer bytes had arrived.
type SyntaxError struct {
	// Offset is where in the stream the fault is, in bytes from 0. For
	// KindTruncated it is the length of the stream.
	Offset int64
	// Kind is what is wrong.
	Kind Kind
	// Excerpt holds at most 32 bytes from Offset on, of those that had arrived:
	// the decoder never waits for more only to show them. For KindTruncated it
	// holds the last bytes of the record before the end.
	Excerpt []byte
	// Record is the number of the faulty record, counted from 1.
	Record int
	// Start is where that record begins, in bytes from 0.
	Start int64
	// Err says more, if there is more to say; it is nil for KindBOM,
	// KindForeignContent and KindNotAnObject.
	Err error
}

// Error gives one sentence with the place, the fault and the bytes.
func (e *SyntaxError) Error() string {
	if e.Kind == KindTruncated {
		return fmt.Sprintf("record %d, begun at byte %d, is cut short by the end of the stream at byte %d, after %s",
			e.Record, e.Start, e.Offset, quoteBytes(e.Excerpt))
	}
	text := fmt.Sprintf("record %d: %s at byte %d: %s", e.Record, e.Kind.describe(), e.Offset, quoteBytes(e.Excerpt))
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	return text
}

// Unwrap gives Err.
func (e *SyntaxError) Unwrap() error { return e.Err }

// ReadError is what a [Decoder] says when its reader failed: a fault of the
// transport, never of what was written. The bytes before it may have been a part
// of a record.
type ReadError struct {
	// Offset is how many bytes had been read, counted from 0.
	Offset int64
	// Record is the number of the record that was being read, counted from 1.
	Record int
	// Err is the reader's own error.
	Err error
}

// Error gives one sentence with the place and the reader's own words.
func (e *ReadError) Error() string {
	return fmt.Sprintf("reading record %d at byte %d: %v", e.Record, e.Offset, e.Err)
}

// Unwrap gives the reader's own error.
func (e *ReadError) Unwrap() error { return e.Err }

// quoteBytes quotes what can be seen, and shows all else byte by byte: the bytes
// of a mark, rather than the code point that they stand for.
func quoteBytes(b []byte) string {
	quoted := []byte{'"'}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '"' || r == '\\':
			quoted = append(quoted, '\\', byte(r))
		case r == '\n':
			quoted = append(quoted, `\n`...)
		case r == '\r':
			quoted = append(quoted, `\r`...)
		case r == '\t':
			quoted = append(quoted, `\t`...)
		case unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			quoted = append(quoted, b[:n]...)
		default:
			for _, c := range b[:n] {
				quoted = fmt.Appendf(quoted, `\x%02x`, c)
			}
		}
		b = b[n:]
	}
	return string(append(quoted, '"'))
}
