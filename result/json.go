package result

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// EncodeJSON is how everything that is kept of a run is written: the same value
// gives the same bytes (maps are sorted by key), an absent list is [], bytes that
// are no UTF-8 stay visible ([Visible]), and characters that would act on whoever
// looks at the file, control characters and those that change the direction of
// text, are written as escapes. Items stand on lines of their own down to the
// depth, 1 being those of the outermost value.
func EncodeJSON(v any, depth int) ([]byte, error) {
	// Most of what is kept is UTF-8, and is written in half the time without a look at
	// each text.
	compact, err := json.Marshal(v, plainOptions())
	if err != nil {
		compact, err = json.Marshal(v, jsonOptions())
	}
	if err != nil {
		return nil, err
	}
	return layout(inert(compact), depth), nil
}

func jsonOptions() json.Options {
	return json.JoinOptions(plainOptions(),
		json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, s string) error {
			return enc.WriteToken(jsontext.String(Visible(s)))
		})),
	)
}

// plainOptions refuse a text that is no UTF-8.
func plainOptions() json.Options {
	return json.JoinOptions(
		json.Deterministic(true),
		// What a runtime printed is kept as it is, repeated names included.
		jsontext.AllowDuplicateNames(true),
		// The tags are those of encoding/json, where omitempty leaves out zeros.
		jsonv1.OmitEmptyWithLegacySemantics(true),
	)
}

// inert escapes, in JSON text, the characters beyond ASCII that are not printed.
// They can stand in strings only, where the escape means the same.
func inert(text []byte) []byte {
	// Byte by byte first: most of it is ASCII, where there is nothing to do.
	if !slices.ContainsFunc(text, func(c byte) bool { return c >= 0x7f }) {
		return text
	}
	active := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, active) < 0 {
		return text
	}
	var out bytes.Buffer
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case !active(r):
			out.Write(text[:n])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out.Bytes()
}

// DecodeStrict reads the one JSON value that data holds into v. A member that v
// has no field for, a repeated member, a name in other letters, bytes that are no
// UTF-8 and text after the value are errors that name line, column and member.
func DecodeStrict(data []byte, v any) error {
	return decode(data, v)
}

// decode is DecodeStrict with more options.
func decode(data []byte, v any, more ...json.Options) error {
	err := json.Unmarshal(data, v, json.JoinOptions(json.RejectUnknownMembers(true), json.JoinOptions(more...)))
	if err == nil {
		return nil
	}
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		return fmt.Errorf("%s: %s", place(data, semantic.ByteOffset, semantic.JSONPointer), semanticText(semantic))
	case errors.As(err, &syntactic):
		return fmt.Errorf("%s: %w", place(data, syntactic.ByteOffset, syntactic.JSONPointer), syntactic.Err)
	}
	return err
}

// semanticText says what is wrong without Go's names for it.
func semanticText(e *json.SemanticError) string {
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		return fmt.Sprintf("unknown member %q", e.JSONPointer.LastToken())
	case e.Err != nil:
		return e.Err.Error()
	case e.JSONKind != 0:
		return fmt.Sprintf("a JSON %s can't stand here", e.JSONKind)
	}
	return e.Error()
}

// place is line and column of an offset, and the member that it is in.
func place(data []byte, offset int64, pointer jsontext.Pointer) string {
	line, column := 1, 1
	for _, c := range data[:min(max(offset, 0), int64(len(data)))] {
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	at := fmt.Sprintf("line %d, column %d", line, column)
	if pointer != "" {
		at += ", at " + Visible(string(pointer))
	}
	return at
}

// layout puts the items of JSON text on lines of their own down to the given
// depth, and leaves what is deeper on one line: a stored transcript reads with
// one event a line. The text has to be valid and compact.
func layout(compact []byte, depth int) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/16)
	level, inString := 0, false
	newline := func() {
		out = append(out, '\n')
		for range level {
			out = append(out, ' ', ' ')
		}
	}
	for i, c := range compact {
		if inString {
			out = append(out, c)
			inString = c != '"' || escaped(compact, i)
			continue
		}
		switch c {
		case '"':
			inString = true
			out = append(out, c)
		case '{', '[':
			level++
			out = append(out, c)
			if level <= depth && compact[i+1] != c+2 {
				newline()
			}
		case '}', ']':
			level--
			if level < depth && compact[i-1] != c-2 {
				newline()
			}
			out = append(out, c)
		case ',':
			out = append(out, c)
			if level <= depth {
				newline()
			}
		case ':':
			out = append(out, c)
			if level <= depth {
				out = append(out, ' ')
			}
		default:
			out = append(out, c)
		}
	}
	return append(out, '\n')
}

// escaped reports whether an odd number of backslashes stands before text[i].
func escaped(text []byte, i int) bool {
	n := 0
	for i--; i >= 0 && text[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}
