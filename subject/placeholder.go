package subject

import (
	"slices"
	"strings"
)

// A placeholder is a word in braces inside an item of an argument list. What
// follows a dollar sign is not one, so that ${HOME} reaches a shell that a list
// starts. Values are put in once: a value that looks like a placeholder stays.

// placeholders returns the words that mean something in an argument list, by
// where it stands in the file: the names of the keys that lead there.
func placeholders(place string) []string {
	here := []string{"cache", "dir"}
	switch key, op, _ := strings.Cut(place, "."); {
	case place == "transports.http.url":
		return []string{"port"}
	case place == "transports.http.command":
		return append(here, "port")
	case key == "commands":
		return append(here, operands(op)...)
	}
	return here
}

// operands returns the placeholders of one operation of a runtime.
func operands(op string) []string {
	words := []string{"store", "session"}
	switch op {
	case opStart:
		return append(words, "agent", "handler", "metadata", "namespaces")
	case opPush:
		return append(words, "body", "name", "content-type", "content-encoding", "schema-url", "metadata")
	case opRun, opRunOnce, opRunRPC, opRunRPCOnce:
		return append(words, "handler")
	case opRunURL, opRunURLOnce:
		return append(words, "url")
	case opRunNamed, opRunNamedOnce:
		return append(words, "handlers", "handler")
	}
	return words
}

// required returns the placeholders without which an operation can't say what it
// is about.
func required(op string) []string {
	switch op {
	case opPush:
		return []string{"session", "body"}
	case opRun, opRunOnce, opRunRPC, opRunRPCOnce:
		return []string{"session", "handler"}
	case opRunURL, opRunURLOnce:
		return []string{"session", "url"}
	case opRunNamed, opRunNamedOnce:
		return []string{"session", "handlers"}
	case opLog, opInspect:
		return []string{"session"}
	}
	return nil
}

// standsAlone reports whether the placeholder is a list in that place, and so
// must be the whole of its item.
func standsAlone(place, word string) bool {
	switch word {
	case "handlers", "namespaces":
		return true
	case "handler":
		return strings.HasPrefix(place, "commands.run")
	}
	return false
}

// allPlaceholders returns every placeholder there is.
func allPlaceholders() []string {
	words := placeholders("transports.http.command")
	for _, op := range CommandNames() {
		for _, word := range operands(op) {
			if !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// braced is what looks like a placeholder: its word and where it is in the item.
type braced struct {
	word       string
	start, end int
}

// scan returns what looks like a placeholder in an item, misspelt ones included.
func scan(item string) []braced {
	var found []braced
	for at := 0; at < len(item); {
		open := strings.IndexByte(item[at:], '{')
		if open < 0 {
			break
		}
		open += at
		end := open + 1
		for end < len(item) && isWordByte(item[end]) {
			end++
		}
		if end == len(item) || item[end] != '}' || end == open+1 || open > 0 && item[open-1] == '$' {
			at = open + 1
			continue
		}
		found = append(found, braced{item[open+1 : end], open, end + 1})
		at = end + 1
	}
	return found
}

func isWordByte(b byte) bool {
	return b == '-' || b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// alone returns the placeholder that is the whole of an item.
func alone(item string) (word string, ok bool) {
	if found := scan(item); len(found) == 1 && found[0].start == 0 && found[0].end == len(item) {
		return found[0].word, true
	}
	return "", false
}

// expand puts values in. A placeholder that values does not have stays.
func expand(item string, values map[string]string) string {
	var b strings.Builder
	at := 0
	for _, p := range scan(item) {
		value, ok := values[p.word]
		if !ok {
			continue
		}
		b.WriteString(item[at:p.start])
		b.WriteString(value)
		at = p.end
	}
	b.WriteString(item[at:])
	return b.String()
}

// expandAll is expand for each item.
func expandAll(list Args, values map[string]string) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = expand(item, values)
	}
	return out
}
