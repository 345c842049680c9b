package subject

import (
	"maps"
	"slices"
	"strings"
)

// filling is what the placeholders of one operation stand for.
type filling struct {
	// texts is by placeholder; an empty text is no value.
	texts map[string]string
	// list takes the place of {handler} in the runs.
	list []string
	// repeated is, by placeholder, what is put in once for each of several things,
	// each time with the option before it.
	repeated map[string][]string
}

// fill makes the argument list of an operation. An item that is one placeholder
// without a value is left out, and with it the item before it if that begins
// with a hyphen.
func fill(template Args, f filling) []string {
	out := make([]string, 0, len(template))
	for i, text := range template {
		word, whole := alone(text)
		option := i > 0 && strings.HasPrefix(template[i-1], "-")
		switch items, many := f.repeated[word]; {
		case !whole:
			out = append(out, expand(text, f.texts))
		case many:
			name := ""
			if option {
				name, out = out[len(out)-1], out[:len(out)-1]
			}
			for _, item := range items {
				if option {
					out = append(out, name)
				}
				out = append(out, item)
			}
		case word == "handler" && len(f.list) > 0:
			out = append(out, f.list...)
		case f.texts[word] != "":
			out = append(out, f.texts[word])
		case option:
			out = out[:len(out)-1]
		}
	}
	return out
}

// dropped returns a placeholder that has a value and no place in the template.
// A request must not lose anything on its way: what the runtime was never told
// it would be blamed for. The store and the namespaces are hints that a runtime
// may do without.
func dropped(template Args, f filling) (word string, ok bool) {
	for _, word := range slices.Sorted(maps.Keys(f.texts)) {
		if f.texts[word] != "" && word != "store" && !mentions(template, word) {
			return word, true
		}
	}
	if len(f.list) > 0 && !mentions(template, "handler") {
		return "handler", true
	}
	if len(f.repeated["handlers"]) > 0 && !mentions(template, "handlers") {
		return "handlers", true
	}
	return "", false
}

// registered is one item for each named handler: the name and its command as a
// shell would be given it (section 15).
func registered(named map[string]HandlerSpec) []string {
	items := make([]string, 0, len(named))
	for _, name := range slices.Sorted(maps.Keys(named)) {
		words := make([]string, len(named[name].Command))
		for i, word := range named[name].Command {
			words[i] = shellQuote(word)
		}
		items = append(items, name+"="+strings.Join(words, " "))
	}
	return items
}
