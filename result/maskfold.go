package result

import (
	"bytes"
	"encoding/binary"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// folded is data as it was before its characters were escaped: percent-encoding and
// the escapes of JSON are resolved, however many times over they were applied,
// backslashes are left out, as it can't be told whether they are meant, line breaks
// too, as what wraps base64 puts them anywhere, and + and space are one, as in a
// query. Whatever was escaped differently and says the same is the same.
//
// It is made in one pass, in time and space linear in the data.
type folded struct {
	source, text []byte
	// spans is where text is not, byte for byte, what source is, in order.
	spans []span
}

// span is a part of a folded text, of n bytes from at on, and where it stands in the
// source. Offsets have 32 bits: what is kept of a subject is bounded long before.
type span struct {
	at, from, to uint32
	n            uint8
}

// folding is the bytes that a fold may change.
const folding = "%\\+\r\n"

func fold(data []byte) folded {
	f := folded{source: data, text: data}
	first := bytes.IndexAny(data, folding)
	if first < 0 {
		return f
	}
	f.text = append(make([]byte, 0, len(data)), data[:first]...)
	for i := first; i < len(data); {
		switch data[i] {
		case '%', '\\', '+', '\r', '\n':
			u := unitAt(data, i)
			f.add(u, i)
			i = u.end
		default:
			f.text = append(f.text, data[i])
			i++
		}
	}
	return f
}

// foldText is a text as it stands in folded data.
func foldText(s string) string { return string(fold([]byte(s)).text) }

func (f *folded) add(u unit, from int) {
	at := len(f.text)
	f.text = append(f.text, u.bytes[:u.n]...)
	if u.n == 1 && u.end == from+1 {
		return
	}
	if k := len(f.spans) - 1; k >= 0 && u.n == 0 && f.spans[k].n == 0 && int(f.spans[k].to) == from {
		f.spans[k].to = uint32(u.end)
		return
	}
	f.spans = append(f.spans, span{at: uint32(at), n: uint8(u.n), from: uint32(from), to: uint32(u.end)})
}

// place is where the byte at an offset of the folded text stands in the source.
func (f *folded) place(k int) (from, to int) {
	i := sort.Search(len(f.spans), func(i int) bool { return int(f.spans[i].at) > k }) - 1
	if i < 0 {
		return k, k + 1
	}
	s := f.spans[i]
	if behind := k - int(s.at) - int(s.n); behind >= 0 {
		return int(s.to) + behind, int(s.to) + behind + 1
	}
	return int(s.from), int(s.to)
}

// isBase64 reports whether the byte at an offset of the folded text is a character of
// base64.
func (f *folded) isBase64(k int) bool {
	c := f.text[k]
	if c == ' ' {
		from, to := f.place(k)
		return to-from > 1 || f.source[from] == '+'
	}
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '/' || c == '-' || c == '_'
}

// unit is what stands for up to four bytes of a folded text, and where it ends.
type unit struct {
	bytes  [utf8.UTFMax]byte
	n, end int
}

func oneByte(c byte, end int) unit {
	switch c {
	case '\r', '\n':
		return unit{end: end}
	case '+':
		c = ' '
	}
	return unit{bytes: [utf8.UTFMax]byte{c}, n: 1, end: end}
}

// unitAt is the unit that begins at an offset.
func unitAt(data []byte, i int) unit {
	c, end := percentAt(data, i)
	if c != '\\' {
		return oneByte(c, end)
	}
	// How many there are says how often it was escaped, which does not matter, and
	// whether a backslash is meant: with one and without are the same.
	end = backslashesEnd(data, end)
	if end >= len(data) {
		return unit{end: end}
	}
	c, next := percentAt(data, end)
	const short, means = `"'/bfnrt`, "\"'/\b\f\n\r\t"
	switch k := strings.IndexByte(short, c); {
	case k >= 0:
		return oneByte(means[k], next)
	case c == 'x':
		if v, next, ok := hexAt(data, next, 2); ok {
			return oneByte(byte(v), next)
		}
	case c == 'u':
		if r, next, ok := unicodeAt(data, next); ok {
			if r < utf8.RuneSelf {
				return oneByte(byte(r), next)
			}
			u := unit{end: next}
			u.n = utf8.EncodeRune(u.bytes[:], r)
			return u
		}
	}
	return unit{end: end}
}

// percentAt is the byte at an offset, which may be percent-encoded, once or more
// often: %41, %2541, %252541.
func percentAt(data []byte, i int) (c byte, end int) {
	if data[i] != '%' {
		return data[i], i + 1
	}
	end = i + 1
	for end+2 <= len(data) && data[end] == '2' && data[end+1] == '5' {
		end += 2
	}
	if v, end, ok := hexAt(data, end, 2); ok {
		return byte(v), end
	}
	return '%', end
}

func backslashesEnd(data []byte, i int) int {
	for i < len(data) {
		c, next := percentAt(data, i)
		if c != '\\' {
			break
		}
		i = next
	}
	return i
}

// hexAt reads a number of hexadecimal digits.
func hexAt(data []byte, i, digits int) (v rune, end int, ok bool) {
	if i+digits > len(data) {
		return 0, 0, false
	}
	for _, c := range data[i : i+digits] {
		k := strings.IndexByte("0123456789abcdef", c|0x20)
		if k < 0 || c < '0' {
			return 0, 0, false
		}
		v = v<<4 | rune(k)
	}
	return v, i + digits, true
}

// unicodeAt reads the digits of an escape behind its u, and of a surrogate its other
// half, which has its own backslashes.
func unicodeAt(data []byte, i int) (r rune, end int, ok bool) {
	high, end, ok := hexAt(data, i, 4)
	if !ok || !utf16.IsSurrogate(high) {
		return high, end, ok
	}
	u := backslashesEnd(data, end)
	if u == end || u >= len(data) || data[u] != 'u' {
		return 0, 0, false
	}
	low, end, ok := hexAt(data, u+1, 4)
	if r = utf16.DecodeRune(high, low); !ok || r == utf8.RuneError {
		return 0, 0, false
	}
	return r, end, true
}

// index finds any of many texts in one pass. Each has [keySize] bytes or more.
type index struct {
	// begins is which hashes of a text's first bytes there are: most of what is
	// searched ends here.
	begins [1 << 16]bool
	byKey  map[uint32][]*pattern
}

const keySize = 4

func newIndex(patterns []pattern) *index {
	x := &index{byKey: map[uint32][]*pattern{}}
	for i := range patterns { // the longest first
		p := &patterns[i]
		key := binary.LittleEndian.Uint32([]byte(p.text[:keySize]))
		x.begins[hash(key)] = true
		x.byKey[key] = append(x.byKey[key], p)
	}
	return x
}

func hash(key uint32) uint16 { return uint16(key * 2654435761 >> 16) }

// at is the first of the texts that stands at an offset, or nil.
func (x *index) at(data []byte, i int) *pattern {
	if i+keySize > len(data) {
		return nil
	}
	key := binary.LittleEndian.Uint32(data[i:])
	if !x.begins[hash(key)] {
		return nil
	}
	for _, p := range x.byKey[key] {
		if len(data)-i >= len(p.text) && string(data[i:i+len(p.text)]) == p.text {
			return p
		}
	}
	return nil
}
