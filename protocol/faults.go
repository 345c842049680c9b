package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// byteOrderMark returns the byte-order mark that begins with the byte first, or
// "". The marks of UTF-16 are what a shell that writes UTF-16 puts first.
func byteOrderMark(first byte) string {
	switch first {
	case 0xEF:
		return "\xEF\xBB\xBF"
	case 0xFE:
		return "\xFE\xFF"
	case 0xFF:
		return "\xFF\xFE"
	}
	return ""
}

// refuseStart says what stands at start in place of a record: a byte-order mark,
// a JSON value that is no object, or something else. What is JSON as far as the
// stream goes counts as JSON; a number that runs into other text, as in a date,
// does not.
func (d *Decoder[T]) refuseStart(first byte, start int64) error {
	fault := &SyntaxError{Offset: start, Kind: KindForeignContent, Record: d.count, Start: start}
	if mark := byteOrderMark(first); mark != "" {
		return d.refuseMark(fault, mark)
	}
	if !strings.Contains(`["-0123456789tfn`, string(rune(first))) {
		fault.Excerpt = d.arrived(excerptLimit)
		return fault
	}
	value, err := d.json.ReadValue()
	if err != nil {
		if d.src.failed() != nil {
			return d.readFault()
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			fault.Kind = KindNotAnObject
		}
		fault.Excerpt = d.arrived(excerptLimit)
		return fault
	}
	fault.Excerpt = appendUpTo(nil, value, excerptLimit)
	after := d.json.UnreadBuffer()
	// The end of a number shows only in the byte after it, so that byte is here.
	if value.Kind() != jsontext.KindNumber || len(after) == 0 || isSpace(after[0]) {
		fault.Kind = KindNotAnObject
	}
	fault.Excerpt = d.src.appendArrived(appendUpTo(fault.Excerpt, after, excerptLimit), excerptLimit)
	return fault
}

// refuseMark completes the fault of a byte that begins a byte-order mark. To name
// the mark it must wait for the other bytes.
func (d *Decoder[T]) refuseMark(fault *SyntaxError, mark string) error {
	begin := d.awaited(len(mark))
	if err := d.src.failed(); err != nil {
		return d.readError(fault.Start+int64(len(begin)), err)
	}
	if string(begin) == mark {
		fault.Kind = KindBOM
	}
	fault.Excerpt = d.arrived(excerptLimit)
	return fault
}

// awaited is arrived, but waits for limit bytes.
func (d *Decoder[T]) awaited(limit int) []byte {
	unread := d.json.UnreadBuffer()
	return d.src.appendAwaited(appendUpTo(nil, unread[countSpace(unread):], limit), limit)
}

// explain turns an error of the JSON decoder inside the record begun at start
// into one of ours.
func (d *Decoder[T]) explain(err error, start int64) error {
	if d.src.failed() != nil {
		return d.readFault()
	}
	unread := d.json.UnreadBuffer()
	record := unread[countSpace(unread):]
	fault := &SyntaxError{Record: d.count, Start: start, Err: err}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		fault.Offset, fault.Err = d.base+syntax.ByteOffset, syntax.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		fault.Kind = KindTruncated
		fault.Offset = start + int64(len(record))
		fault.Excerpt = bytes.Clone(record[max(len(record)-excerptLimit, 0):])
		return fault
	}
	at := int(min(max(fault.Offset-start, 0), int64(len(record))))
	fault.Kind = faultKind(err, record, at)
	if fault.Kind == KindSyntax && nestsTooDeep(record, at) {
		fault.Err = errNesting
	}
	fault.Excerpt = d.src.appendArrived(appendUpTo(nil, record[at:], excerptLimit), excerptLimit)
	return fault
}

// readFault is the error of the reader at the end of what it gave.
func (d *Decoder[T]) readFault() error {
	end := d.base + d.json.InputOffset() + int64(len(d.json.UnreadBuffer()))
	return d.readError(end, d.src.failed())
}

// faultKind tells the faults of a record's JSON apart by the bytes at the fault,
// since the JSON decoder has no names for most of them.
func faultKind(err error, record []byte, at int) Kind {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return KindDuplicateName
	}
	rest := record[at:]
	if len(rest) == 0 || !insideString(record[:at]) {
		return KindSyntax
	}
	if isSurrogateEscape(rest) {
		return KindLoneSurrogate
	}
	if r, n := utf8.DecodeRune(rest); r == utf8.RuneError && n == 1 {
		return KindBadUTF8
	}
	return KindSyntax
}

// nestingLimit is how many levels of objects and arrays the JSON decoder reads, the
// record's own braces included.
const nestingLimit = 10_000

// errNesting stands in for the JSON decoder's own error, which does not say the limit.
var errNesting = fmt.Errorf("it nests deeper than %d levels, which is a limit of this decoder and not of JSON", nestingLimit)

// nestsTooDeep reports whether the fault at a place of a record is one level of
// nesting too many.
func nestsTooDeep(record []byte, at int) bool {
	if at >= len(record) || record[at] != '{' && record[at] != '[' {
		return false
	}
	levels, inside := 0, false
	for i := 0; i < at; i++ {
		switch c := record[i]; {
		case c == '"':
			inside = !inside
		case inside && c == '\\':
			i++
		case inside:
		case c == '{' || c == '[':
			levels++
		case c == '}' || c == ']':
			levels--
		}
	}
	return !inside && levels >= nestingLimit
}

// insideString reports whether b, which is right up to its end, ends inside a
// JSON string.
func insideString(b []byte) bool {
	inside := false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			inside = !inside
		case b[i] == '\\' && inside:
			i++
		}
	}
	return inside
}

// isSurrogateEscape reports whether b begins with a \u escape of a surrogate.
func isSurrogateEscape(b []byte) bool {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || b[2] != 'd' && b[2] != 'D' {
		return false
	}
	return bytes.IndexByte([]byte("89abcdefABCDEF"), b[3]) >= 0 && isHex(b[4]) && isHex(b[5])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
