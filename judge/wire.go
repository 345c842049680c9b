package judge

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// The rules of section 3, by the words of a case's `stream`.
const (
	ruleSingle     = "single-object"
	ruleNeverSplit = "never-split"
	ruleUTF8       = "utf8"
	ruleBOM        = "no-bom"
	ruleForeign    = "no-foreign-content"
	ruleTrailingLF = "trailing-lf"
	ruleAlphabet   = "standard-alphabet"
	ruleLineBreaks = "no-line-breaks"
	ruleOmitEmpty  = "omit-empty"
	ruleFields     = "closed-fields"
	ruleEvents     = "closed-events"
)

// violation is one rule that a stream breaks: its first place, and how many more
// there are.
type violation struct {
	rule   string
	offset int
	record int // number of the record, 0 outside of records
	want   string
	got    string
	more   int
}

// stream is a record stream that was split.
type stream struct {
	raw     []byte
	records []record
	// broken is the rules that were broken, at most one of each, in order of their
	// first offset.
	broken []violation
	// unreadable: what follows the first violation of the framing can't be told
	// apart into records with certainty, so nothing but that violation is judged.
	unreadable bool
	dir        direction
}

// find returns the violation of a rule.
func (s *stream) find(rule string) (violation, bool) {
	for _, v := range s.broken {
		if v.rule == rule {
			return v, true
		}
	}
	return violation{}, false
}

func (s *stream) note(v violation) {
	for i := range s.broken {
		if s.broken[i].rule == v.rule {
			s.broken[i].more++
			return
		}
	}
	s.broken = append(s.broken, v)
}

// split takes a stream apart and finds all that section 3 forbids. It reads on
// behind every fault, so that one fault does not hide another. open is set when
// the record of the stream may end in the middle (its peer died, or the recording
// side did not read to the end): then a record that is cut off is no violation.
func split(raw []byte, dir direction, open bool) *stream {
	s := &stream{raw: raw, dir: dir}
	s.scan(open)
	s.checkUTF8(open)
	for i := range s.records {
		s.checkRecord(&s.records[i], i == len(s.records)-1)
	}
	slices.SortStableFunc(s.broken, func(a, b violation) int { return cmp.Compare(a.offset, b.offset) })
	for _, v := range s.broken {
		switch v.rule {
		case ruleSingle, ruleUTF8, ruleBOM, ruleForeign:
			s.unreadable = true
		}
	}
	return s
}

var bom = [...]byte{0xef, 0xbb, 0xbf}

func (s *stream) scan(open bool) {
	for i := 0; ; {
		from := i
		for i < len(s.raw) && isSpace(s.raw[i]) {
			i++
		}
		if n := len(s.records); n > 0 && s.records[n-1].after == nil {
			s.records[n-1].after = s.raw[from:i:i]
		}
		if i == len(s.raw) {
			return
		}
		switch {
		case bytes.HasPrefix(s.raw[i:], bom[:]):
			s.note(violation{rule: ruleBOM, offset: i, want: "no byte-order mark",
				got: "a byte-order mark: ef bb bf"})
			i += len(bom)
		case s.raw[i] == '{':
			i = s.object(i, open)
		default:
			i = s.stranger(i, open)
		}
	}
}

// object reads the record that begins at i, and returns where to go on.
func (s *stream) object(i int, open bool) int {
	end, f := valueEnd(s.raw, i)
	if f == nil {
		text := s.raw[i:end:end]
		s.records = append(s.records, record{
			number: len(s.records) + 1, offset: i, text: text, fields: members(text, i),
		})
		return end
	}
	if f.truncated {
		if !open {
			s.note(violation{rule: ruleSingle, offset: i, want: "every record whole, from { to }",
				got: fmt.Sprintf("a record that begins at byte %d and is cut off by the end of the stream: %s", i, quoteBytes(s.raw[i:]))})
		}
		return len(s.raw)
	}
	next := lineEnd(s.raw, f.offset)
	if f.named {
		// The rest of the record is no fault of its own: the stream goes on with the
		// next line that begins one.
		for next < len(s.raw) && !beginsRecord(s.raw[next+1:]) {
			next = lineEnd(s.raw, next+1)
		}
		s.note(violation{rule: ruleSingle, offset: i, want: "every record one JSON object",
			got: fmt.Sprintf("a record that begins at byte %d and stops being JSON at byte %d: %s", i, f.offset, quoteBytes(s.raw[f.offset:lineEnd(s.raw, f.offset)]))})
		return next
	}
	s.foreign(i, next)
	return next
}

// stranger reads what begins at i, where a record was wanted: another JSON value,
// or no JSON at all.
func (s *stream) stranger(i int, open bool) int {
	end, f := valueEnd(s.raw, i)
	if f == nil {
		// A log line can begin with a number or a bracket: it is a JSON value only if
		// nothing foreign stands behind it on its line.
		k := end
		for k < len(s.raw) && (s.raw[k] == ' ' || s.raw[k] == '\t' || s.raw[k] == '\r') {
			k++
		}
		if k == len(s.raw) || s.raw[k] == '\n' || s.raw[k] == '{' {
			s.note(violation{rule: ruleSingle, offset: i, want: "JSON objects only at the top level of the stream",
				got: fmt.Sprintf("%s at the top level: %s", kindOf(s.raw[i]), quoteBytes(s.raw[i:end]))})
			return end
		}
	} else if f.truncated && !open && s.raw[i] == '[' && f.offset > i+1 && bytes.HasPrefix(bytes.TrimLeft(s.raw[i+1:], " \t\r\n"), []byte("{")) {
		s.note(violation{rule: ruleSingle, offset: i, want: "JSON objects only at the top level of the stream",
			got: "an array around the records, cut off by the end of the stream: " + quoteBytes(s.raw[i:])})
		return len(s.raw)
	}
	// It ends with its line, or where something that looks like a record begins.
	next := i + 1
	for ; next < len(s.raw) && s.raw[next] != '\n'; next++ {
		if s.raw[next] == '{' && looksLikeRecord(s.raw[next+1:]) {
			break
		}
	}
	s.foreign(i, next)
	return next
}

func (s *stream) foreign(from, to int) {
	s.note(violation{rule: ruleForeign, offset: from, want: "nothing but records and white space",
		got: "non-JSON on the stream: " + quoteBytes(s.raw[from:to])})
}

func beginsRecord(line []byte) bool {
	return len(line) > 0 && line[0] == '{' && looksLikeRecord(line[1:])
}

// looksLikeRecord reports whether what follows a brace could be a record.
func looksLikeRecord(rest []byte) bool {
	rest = bytes.TrimLeft(rest[:min(len(rest), 64)], " \t\r\n")
	return len(rest) > 0 && (rest[0] == '"' || rest[0] == '}')
}

func lineEnd(data []byte, from int) int {
	if n := bytes.IndexByte(data[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(data)
}

func kindOf(first byte) string {
	switch first {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "a null"
	}
	return "a number"
}

// checkUTF8 looks at the stream as a whole (P3/utf8). A character that the end of
// an open stream cuts off is not held against it.
func (s *stream) checkUTF8(open bool) {
	for i := 0; i < len(s.raw); {
		r, n := utf8.DecodeRune(s.raw[i:])
		if r != utf8.RuneError || n != 1 {
			i += n
			continue
		}
		if open && !utf8.FullRune(s.raw[i:]) {
			return
		}
		s.note(violation{rule: ruleUTF8, offset: i, record: s.recordAt(i), want: "UTF-8",
			got: fmt.Sprintf("byte %02x, which is no UTF-8 here: %s", s.raw[i], quoteBytes(s.raw[i:min(i+16, len(s.raw))]))})
		i++
	}
}

// recordAt returns the number of the record that holds the byte, or 0.
func (s *stream) recordAt(offset int) int {
	n, found := slices.BinarySearchFunc(s.records, offset, func(r record, at int) int {
		switch {
		case r.offset+len(r.text) <= at:
			return -1
		case r.offset > at:
			return 1
		}
		return 0
	})
	if !found {
		return 0
	}
	return n + 1
}

// checkRecord looks at one record's layout and fields.
func (s *stream) checkRecord(r *record, last bool) {
	at := func(rule string, offset int, want, got string) {
		s.note(violation{rule: rule, offset: offset, record: r.number, want: want, got: got})
	}
	if string(r.after) != "\n" {
		at(ruleTrailingLF, r.offset+len(r.text), "a single LF after each record", afterWords(r.after))
	}
	for _, f := range r.fields {
		if !s.dir.knows(f.name) {
			at(ruleFields, f.offset, "fields of version 1 only", "the field "+quote(f.name))
			continue
		}
		// R1 takes a lifecycle event whose empty event is written out.
		if isZero(f.raw) && !(s.dir == inputs && last && f.name == "event") {
			at(ruleOmitEmpty, f.offset, "empty fields omitted", fmt.Sprintf("%s written out as %s", quote(f.name), f.raw))
		}
		switch {
		case f.name == "data" && string(f.raw) != "null":
			b := record{fields: []field{f}}
			for _, fault := range b.data().faults {
				at(fault.rule, f.offset, "base64 in the standard alphabet, in one piece", fault.what)
			}
		case f.name == "event" && s.dir == inputs && !isZero(f.raw) && !knownEvent(f.raw):
			at(ruleEvents, f.offset, "memory, push, start, fork, wake or no event", clip(string(f.raw), 200))
		}
	}
}

func afterWords(gap []byte) string {
	if len(gap) == 0 {
		return "nothing after the record"
	}
	return quoteBytes(gap) + " after the record"
}

// knownEvent reports whether the JSON value is an event of section 6. The event
// `protocol` announces a later version (section 17), so no stream of version 1
// has it.
func knownEvent(raw []byte) bool {
	if raw[0] != '"' {
		return false
	}
	switch unquote(raw) {
	case "memory", "push", "start", "fork", "wake":
		return true
	}
	return false
}
