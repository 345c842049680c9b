package result

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
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
// characters, which [fold] sees through: itself, and what can be seen of it in the
// base64 of something, in base64 of that, and so on, three times over.
func patternsOf(name, value string) []pattern {
	all := []pattern{{name: name, text: value}}
	// What is encoded in base64 may be JSON or a URL that holds the value.
	texts := append([]string{value, url.QueryEscape(value), url.PathEscape(value)}, jsonForms(value)...)
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		for _, once := range inBase64(pattern{name: name, text: text}) {
			all = append(all, once)
			for _, form := range slashForms(once.text) {
				twice := once
				twice.text = form
				for _, twice := range inBase64(twice) {
					all = append(all, twice)
					if text == value && len(value) <= maxThrice {
						all = append(all, inBase64(twice)...)
					}
				}
			}
		}
	}
	return all
}

// maxThrice is how many bytes a value may have to be looked for in base64 of base64 of
// base64, which has a hundred forms: no token is longer, and a key of many lines is
// found by its lines.
const maxThrice = 512

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

// slashForms is base64 as it may stand in JSON that is encoded in turn.
func slashForms(text string) []string {
	if !strings.Contains(text, "/") {
		return []string{text}
	}
	return []string{text, strings.ReplaceAll(text, "/", `\/`)}
}

// inBase64 is what of a pattern can be seen in the base64 of something longer, with
// none, one or two bytes before it in its group of three. Both alphabets.
func inBase64(p pattern) (all []pattern) {
	const byteBits, charBits = 8, 6
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), p.text...))
		// The first and last characters hold bits of what is beside it too.
		begin := (shift*byteBits + charBits - 1) / charBits
		end := (shift + len(p.text)) * byteBits / charBits
		form := pattern{name: p.name, text: encoded[begin:end]}
		form.before = begin - floorDiv((shift-p.before)*byteBits, charBits)
		form.after = -floorDiv(-(shift+len(p.text)+p.after)*byteBits, charBits) - end
		all = append(all, form)
		if other := strings.NewReplacer("+", "-", "/", "_").Replace(form.text); other != form.text {
			form.text = other
			all = append(all, form)
		}
	}
	return all
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// foldedPatterns is the patterns as they stand in folded data.
func foldedPatterns(patterns []pattern) []pattern {
	var all []pattern
	add := func(p pattern, text string) {
		// What follows may turn the end of it into an escape.
		p.text = text
		if n := strings.LastIndexByte(p.text, '%'); n >= 0 && n >= len(p.text)-2 {
			p.text = p.text[:n]
		}
		if len(p.text) >= MinSecret || p.text == text && len(text) >= keySize {
			all = append(all, p)
		}
	}
	for _, p := range patterns {
		text := foldText(p.text)
		add(p, text)
		// So may what stands before it do with its beginning.
		if behind := foldText(`\` + p.text); behind != text {
			add(p, behind)
		}
	}
	return all
}

// ordered is patterns by their length, the longest first, as it may hold another;
// of equal ones the first stands.
func ordered(patterns []pattern) []pattern {
	seen := map[string]bool{}
	patterns = slices.DeleteFunc(slices.Clone(patterns), func(p pattern) bool {
		was := seen[p.text]
		seen[p.text] = true
		return was
	})
	slices.SortStableFunc(patterns, func(a, b pattern) int { return cmp.Compare(len(b.text), len(a.text)) })
	return patterns
}

// find returns where secrets stand, in order, none in another.
func (m *Mask) find(data []byte) []hit {
	f := fold(data)
	hits := search(m.folded, &f)
	if len(f.spans) > 0 {
		// A value may look as if it were escaped, or be the end of an escape.
		hits = append(hits, search(m.plain, &folded{source: data, text: data})...)
		slices.SortStableFunc(hits, func(a, b hit) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
		})
	}
	return apart(hits)
}

// search finds what an index has in a folded text.
func search(x *index, f *folded) (hits []hit) {
	for i := range f.text {
		p := x.at(f.text, i)
		if p == nil {
			continue
		}
		begin, end := i, i+len(p.text)-1
		for n := p.before; n > 0 && begin > 0 && f.isBase64(begin-1); n-- {
			begin--
		}
		for n := p.after; n > 0 && end+1 < len(f.text) && f.isBase64(end+1); n-- {
			end++
		}
		h := hit{name: p.name}
		h.start, _ = f.place(begin)
		_, h.end = f.place(end)
		if n := len(hits); n > 0 && hits[n-1].name == h.name && h.start < hits[n-1].end {
			// A text that repeats itself would be found at every byte.
			hits[n-1].start, hits[n-1].end = min(hits[n-1].start, h.start), max(hits[n-1].end, h.end)
			continue
		}
		hits = append(hits, h)
	}
	return hits
}

// apart is hits of which none lies in another: what two of them share goes to the
// first.
func apart(hits []hit) []hit {
	var all []hit
	for _, h := range hits {
		n := len(all)
		switch {
		case n == 0 || h.start >= all[n-1].end:
			all = append(all, h)
		case h.end <= all[n-1].end:
			all[n-1].start = min(all[n-1].start, h.start)
		case h.name == all[n-1].name:
			all[n-1].end = h.end
		default:
			h.start = all[n-1].end
			all = append(all, h)
		}
	}
	return all
}
