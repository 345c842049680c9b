package casefile

import (
	"bytes"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"
)

// file is one file of a story, with the document that its problems go to.
type file struct {
	name string
	data []byte
	doc  *document
	// marker is the line of the file's name.
	marker int
	used   bool
}

// story loads a .txtar case: comment lines with what every case begins with, the
// script, and the files.
func (k *checker) story(doc *document, data []byte) {
	if k.kind == KindHandler {
		doc.fault(1, 1, "the verbs of stories drive a runtime: a handler case is data, in a .yaml file")
		return
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !doc.isText(data) {
		return
	}
	if i := bytes.IndexByte(data, '\r'); i >= 0 {
		doc.fault(1+bytes.Count(data[:i], []byte("\n")), 1, "a carriage return: the lines of a story end in LF alone")
		return
	}
	archive := txtar.Parse(data)
	before := doc.count()
	root, script, line := header(doc, string(archive.Comment))
	if h, ok := decode[head](doc, k.shapes, root, walker{}); ok {
		k.head(place{doc, root}, h)
	}
	k.c.Story = &Story{Script: script, ScriptLine: line, Files: map[string][]byte{}, Expects: map[string][]RuntimeExpect{}}
	files := map[string]*file{}
	at := 1 + bytes.Count(archive.Comment, []byte("\n"))
	for _, f := range archive.Files {
		if _, twice := files[f.Name]; twice {
			doc.fault(at, 1, "the file %s is there twice", f.Name)
		}
		files[f.Name] = &file{
			name: f.Name, data: f.Data, marker: at,
			doc: &document{file: doc.file, above: at, found: doc.found},
		}
		k.c.Story.Files[f.Name] = f.Data
		at += 1 + bytes.Count(f.Data, []byte("\n"))
	}
	if !doc.clean(before) {
		return
	}
	t := &teller{checker: k, doc: doc, files: files, cited: map[string]bool{}}
	t.tell(script, line)
}

// header makes a mapping of the comment lines that a story begins with, as if it
// were the head of a YAML case, and returns the script after it and its line.
func header(doc *document, comment string) (root *yaml.Node, script string, line int) {
	root = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1, Column: 1}
	form := regexp.MustCompile(`^#?\s*([a-z-]+):\s*(.*?)\s*$`)
	bare := regexp.MustCompile(`^(why|covers|needs|transports|limit):`)
	line = 1
	for comment != "" {
		text, rest, _ := strings.Cut(comment, "\n")
		if word := bare.FindStringSubmatch(text); word != nil {
			doc.fault(line, 1, "the head of a story is comments: write `# %s: ...`", word[1])
		} else if !strings.HasPrefix(text, "#") {
			break
		}
		match := form.FindStringSubmatchIndex(text)
		if match == nil {
			doc.fault(line, 1, "a story begins with lines like `# why: ...`; other comments come after an empty line")
		} else {
			key := scalar(text[match[2]:match[3]], line, match[2]+1)
			root.Content = append(root.Content, key, headValue(key.Value, text[match[4]:match[5]], line, match[4]+1))
		}
		comment, line = rest, line+1
	}
	return root, comment, line
}

// headValue is the value of a header line: text, or words for the keys that are
// lists.
func headValue(key, text string, line, column int) *yaml.Node {
	if key != "covers" && key != "needs" && key != "transports" {
		return scalar(text, line, column)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: line, Column: column}
	for _, span := range regexp.MustCompile(`\S+`).FindAllStringIndex(text, -1) {
		list.Content = append(list.Content, scalar(text[span[0]:span[1]], line, column+span[0]))
	}
	return list
}

// scalar is a text with a place.
func scalar(text string, line, column int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text, Line: line, Column: column}
}

// word is one argument of a command.
type word struct {
	text   string
	column int
}

// split takes a line apart as testscript does: white space separates, single
// quotes group, two of them inside quotes are one, # begins a comment.
func split(line string) (words []word, message string) {
	var b strings.Builder
	start, quotedNow := -1, false
	end := func() {
		if start >= 0 {
			words = append(words, word{b.String(), start + 1})
		}
		b.Reset()
		start = -1
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\'' && quotedNow && i+1 < len(line) && line[i+1] == '\'':
			b.WriteByte(c)
			i++
		case c == '\'':
			quotedNow = !quotedNow
			if start < 0 {
				start = i
			}
		case !quotedNow && (c == ' ' || c == '\t'):
			end()
		case !quotedNow && c == '#':
			end()
			return words, ""
		default:
			if start < 0 {
				start = i
			}
			b.WriteByte(c)
		}
	}
	end()
	if quotedNow {
		return nil, "a quote is not closed"
	}
	return words, ""
}
