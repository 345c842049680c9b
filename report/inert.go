package report

import "strings"

// Inert is a text of several lines in which none commands a CI server and no character
// acts on a terminal, for what quotes a subject outside of a report. What is harmless
// stays as it is, tabs and the breaks of its lines too.
func Inert(text string) string {
	if !strings.ContainsAny(text, "\n\t") {
		return clean(text)
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, isWhole := strings.CutSuffix(line, "\n")
		line = strings.TrimSuffix(line, "\r")
		// A command may be indented by tabs as well.
		body := strings.TrimLeft(line, " \t")
		b.WriteString(line[:len(line)-len(body)])
		for i, part := range strings.Split(body, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(clean(part))
		}
		if isWhole {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
