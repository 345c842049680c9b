package judge

import "unicode/utf8"

// fault is where JSON text stops being JSON.
type fault struct {
	offset int
	// truncated: the text ended before the value did.
	truncated bool
	// named: at least one field name of the outermost object had been read, so the
	// text was meant to be a record.
	named bool
}

// What the scanner waits for.
const (
	wantValue = iota
	wantValueOrEnd
	wantName
	wantNameOrEnd
	wantColon
	wantCommaOrEnd
)

// valueEnd returns the offset behind the JSON value that begins at data[start].
// It keeps its own stack, so that no depth of nesting can exhaust the program's.
// Bytes that are no UTF-8 pass inside strings; they are reported for the whole
// stream at once.
func valueEnd(data []byte, start int) (end int, f *fault) {
	var stack []byte
	named := false
	want := wantValue
	i := start
	bad := func(at int) (int, *fault) { return 0, &fault{offset: at, named: named} }
	short := func() (int, *fault) { return 0, &fault{offset: len(data), truncated: true, named: named} }
	for {
		for i < len(data) && isSpace(data[i]) {
			i++
		}
		if i == len(data) {
			return short()
		}
		c := data[i]
		switch {
		case want == wantColon:
			if c != ':' {
				return bad(i)
			}
			named = true
			want = wantValue
			i++
			continue
		case want == wantCommaOrEnd && c == ',':
			want = wantValue
			if stack[len(stack)-1] == '{' {
				want = wantName
			}
			i++
			continue
		case c == '}' && stackTop(stack) == '{' && (want == wantCommaOrEnd || want == wantNameOrEnd),
			c == ']' && stackTop(stack) == '[' && (want == wantCommaOrEnd || want == wantValueOrEnd):
			stack = stack[:len(stack)-1]
			i++
		case want == wantCommaOrEnd:
			return bad(i)
		case want == wantName || want == wantNameOrEnd:
			if c != '"' {
				return bad(i)
			}
			e, sf := stringEnd(data, i)
			if sf != nil {
				sf.named = named
				return 0, sf
			}
			i, want = e, wantColon
			continue
		case c == '{':
			stack, want = append(stack, c), wantNameOrEnd
			i++
			continue
		case c == '[':
			stack, want = append(stack, c), wantValueOrEnd
			i++
			continue
		default:
			e, sf := scalarEnd(data, i)
			if sf != nil {
				sf.named = named
				return 0, sf
			}
			i = e
		}
		if len(stack) == 0 {
			return i, nil
		}
		want = wantCommaOrEnd
	}
}

func stackTop(stack []byte) byte {
	if len(stack) == 0 {
		return 0
	}
	return stack[len(stack)-1]
}

// isSpace reports whether c is white space of JSON, which section 3 allows
// between records.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func scalarEnd(data []byte, i int) (int, *fault) {
	switch c := data[i]; {
	case c == '"':
		return stringEnd(data, i)
	case c == '-' || c >= '0' && c <= '9':
		return numberEnd(data, i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if data[i] != word[0] {
			continue
		}
		for k := range len(word) {
			if i+k == len(data) {
				return 0, &fault{offset: len(data), truncated: true}
			}
			if data[i+k] != word[k] {
				return 0, &fault{offset: i + k}
			}
		}
		return i + len(word), nil
	}
	return 0, &fault{offset: i}
}

// numberEnd follows the number grammar of RFC 8259.
func numberEnd(data []byte, i int) (int, *fault) {
	digits := func() bool {
		from := i
		for i < len(data) && data[i] >= '0' && data[i] <= '9' {
			i++
		}
		return i > from
	}
	missing := func() (int, *fault) { return 0, &fault{offset: i, truncated: i == len(data)} }
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if !digits() {
		return missing()
	}
	if i < len(data) && data[i] == '.' {
		i++
		if !digits() {
			return missing()
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if !digits() {
			return missing()
		}
	}
	return i, nil
}

// stringEnd returns the offset behind the string that begins at data[i].
func stringEnd(data []byte, i int) (int, *fault) {
	for i++; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return i + 1, nil
		case c < 0x20:
			return 0, &fault{offset: i}
		case c == '\\':
			i++
			if i == len(data) {
				return 0, &fault{offset: i, truncated: true}
			}
			switch data[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for k := 1; k <= 4; k++ {
					if i+k == len(data) {
						return 0, &fault{offset: i + k, truncated: true}
					}
					if !isHex(data[i+k]) {
						return 0, &fault{offset: i + k}
					}
				}
				i += 4
			default:
				return 0, &fault{offset: i}
			}
		}
	}
	return 0, &fault{offset: len(data), truncated: true}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// unquote returns the text of a JSON string that [stringEnd] accepted. A lone
// surrogate escape becomes U+FFFD: no peer but the reference is judged by those
// (R18). Bytes that are no UTF-8 stay as they are.
func unquote(raw []byte) string {
	raw = raw[1 : len(raw)-1]
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(raw[i+1:])
			i += 4
			if r >= 0xd800 && r < 0xdc00 && i+6 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
				if low := hex4(raw[i+3:]); low >= 0xdc00 && low < 0xe000 {
					r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
					i += 6
				}
			}
			out = utf8.AppendRune(out, r) // a lone surrogate is appended as U+FFFD
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// hex4 reads the four digits of an escape.
func hex4(digits []byte) rune {
	var r rune
	for _, c := range digits[:4] {
		switch {
		case c <= '9':
			r = r<<4 | rune(c-'0')
		case c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			r = r<<4 | rune(c-'a'+10)
		}
	}
	return r
}
