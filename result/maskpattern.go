package result

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// pattern is one form of a secret.
type pattern struct {
	name string
	text string
	// before and after is how many characters of base64 beside the text hold bits of the
	// secret too.
	before, after int
}

// hit is where a secret stands.
type hit struct {
	start, end int
	name       string
}

// patternsOf is the forms of a value that are not made by escaping single
// characters, which [pattern.match] sees through.
func patternsOf(name, value string) []pattern {
	texts := []string{value}
	// What is encoded in base64 may be JSON that holds the value.
	for _, quoted := range jsonForms(value) {
		if !slices.Contains(texts, quoted) {
			texts = append(texts, quoted)
		}
	}
	all := []pattern{{name: name, text: value}}
	for _, text := range texts {
		for shift := range 3 {
			all = append(all, base64Pattern(name, text, shift)...)
		}
	}
	return all
}

// jsonForms is a text as the usual JSON writers escape it, without the quotes.
func jsonForms(value string) []string {
	html, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	inner := string(html[1 : len(html)-1])
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(inner)
	var ascii strings.Builder
	for _, r := range plain {
		if r < utf8.RuneSelf {
			ascii.WriteRune(r)
			continue
		}
		ascii.WriteString(strings.Trim(strconv.QuoteToASCII(string(r)), `"`))
	}
	return []string{inner, plain, ascii.String(), strings.ReplaceAll(plain, "/", `\/`)}
}

// base64Pattern is what of a text can be seen in the base64 of something longer, in
// which shift bytes stand before it in its group of three. Both alphabets.
func base64Pattern(name, text string, shift int) []pattern {
	encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), text...))
	p := pattern{name: name}
	// The first characters hold bits of what is before.
	skip := []int{0, 2, 3}[shift]
	if shift > 0 {
		p.before = 1
	}
	if (shift+len(text))%3 != 0 { // the last one of what is after
		encoded = encoded[:len(encoded)-1]
		p.after = 1
	}
	p.text = encoded[skip:]
	all := []pattern{p}
	if url := strings.NewReplacer("+", "-", "/", "_").Replace(p.text); url != p.text {
		p.text = url
		all = append(all, p)
	}
	return all
}

// find returns where secrets stand, in order, none in another.
func (m *Mask) find(data []byte) (hits []hit) {
	for i := 0; i < len(data); {
		h, ok := m.at(data, i)
		if !ok {
			i++
			continue
		}
		if n := len(hits); n > 0 && h.start < hits[n-1].end {
			h.start = hits[n-1].end
		}
		hits = append(hits, h)
		i = h.end
	}
	return hits
}

// at looks for a secret that begins at an offset.
func (m *Mask) at(data []byte, i int) (hit, bool) {
	try := func(p *pattern) (hit, bool) {
		end, ok := match(data, i, p.text, 0)
		if !ok {
			return hit{}, false
		}
		h := hit{start: i, end: end, name: p.name}
		for n := p.before; n > 0 && h.start > 0 && isBase64(data[h.start-1]); n-- {
			h.start--
		}
		for n := p.after; n > 0 && h.end < len(data) && isBase64(data[h.end]); n-- {
			h.end++
		}
		return h, true
	}
	c := data[i]
	for _, p := range m.first[c] {
		if h, ok := try(p); ok {
			return h, true
		}
	}
	if c == '%' || c == '\\' || c == '+' { // any character may begin with these
		for n := range m.patterns {
			if h, ok := try(&m.patterns[n]); ok {
				return h, true
			}
		}
	}
	return hit{}, false
}

func isBase64(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '+' || c == '/' || c == '-' || c == '_'
}

// maxEscapes is how many times over a text may have been escaped for JSON: each time
// doubles the backslashes.
const maxEscapes = 4

// match holds text against data from offset i on, from byte n of the text on, and
// returns where the match ends. Each character of the text may stand there as it is,
// percent-encoded, or escaped for JSON.
func match(data []byte, i int, text string, n int) (end int, ok bool) {
	for n < len(text) {
		if i >= len(data) {
			return 0, false
		}
		c, want := data[i], text[n]
		switch {
		case c == '%':
			if b, ok := hexByte(data, i+1); ok && b == want {
				if end, ok := match(data, i+3, text, n+1); ok {
					return end, true
				}
			}
		case c == '\\':
			if end, ok := matchEscaped(data, i, text, n); ok {
				return end, true
			}
		case c == '+' && want == ' ': // in a query
			if end, ok := match(data, i+1, text, n+1); ok {
				return end, true
			}
		}
		if c != want {
			return 0, false
		}
		i, n = i+1, n+1
	}
	return i, true
}

// matchEscaped is match where data has a backslash.
func matchEscaped(data []byte, i int, text string, n int) (end int, ok bool) {
	run := i
	for run < len(data) && data[run] == '\\' {
		run++
	}
	if text[n] == '\\' { // itself escaped, once or more often
		for times, length := 1, 2; times <= maxEscapes && i+length <= run; times, length = times+1, length*2 {
			if end, ok := match(data, i+length, text, n+1); ok {
				return end, true
			}
		}
	}
	if run >= len(data) || run-i >= 1<<maxEscapes {
		return 0, false
	}
	if data[run] == 'u' {
		r, after, ok := unicodeEscape(data, run)
		if !ok {
			return 0, false
		}
		want, size := utf8.DecodeRuneInString(text[n:])
		if r != want || want == utf8.RuneError {
			return 0, false
		}
		return match(data, after, text, n+size)
	}
	const short, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if k := strings.IndexByte(short, data[run]); k >= 0 && means[k] == text[n] {
		return match(data, run+1, text, n+1)
	}
	return 0, false
}

// unicodeEscape reads u and four digits at the offset, and of a surrogate its other
// half behind any number of backslashes.
func unicodeEscape(data []byte, i int) (r rune, after int, ok bool) {
	high, ok := hex4(data, i+1)
	if !ok {
		return 0, 0, false
	}
	after = i + 5
	if !utf16.IsSurrogate(high) {
		return high, after, true
	}
	for after < len(data) && data[after] == '\\' {
		after++
	}
	if after >= len(data) || data[after] != 'u' {
		return 0, 0, false
	}
	low, ok := hex4(data, after+1)
	return utf16.DecodeRune(high, low), after + 5, ok
}

func hex4(data []byte, i int) (rune, bool) {
	if i+4 > len(data) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(data[i:i+4]), 16, 16)
	return rune(v), err == nil
}

func hexByte(data []byte, i int) (byte, bool) {
	if i+2 > len(data) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(data[i:i+2]), 16, 8)
	return byte(v), err == nil
}
