package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
)

// maxDiagnostics is how many bytes of what one handler wrote to stderr are shown.
const maxDiagnostics = 8 << 10

// maxRead is how many bytes of one stored stream are read: more than is stored.
const maxRead = result.MaxStream + 1<<10

// diagnostics is what the handlers of a case wrote to stderr, invocation by
// invocation, each bounded to its head, its tail and a count, with nothing in it
// that acts.
func diagnostics(folder string, c *result.Case) string {
	return stored(folder, c, func(text string) []string { return cleanLines(result.Clip(text, maxDiagnostics)) })
}

// maxTelling is how many lines of what one handler wrote to stderr are shown where the
// rest is in the evidence.
const maxTelling = 6

// stderr shows what of the diagnostics of a case tells most.
func (p *page) stderr(c *result.Case) {
	p.block("stderr", stored(p.folder, c, telling))
}

// telling is the last of the lines that tell something, with the one that says why, or
// with the first when none does.
func telling(text string) []string {
	lines := result.DiagnosticLines(text)
	n := len(lines)
	switch why := result.DiagnosticReason(lines); {
	case n <= maxTelling:
	case why > n-maxTelling:
		lines = slices.Concat(omitted(lines[:n-maxTelling+1]), lines[n-maxTelling+1:])
	case why > 0:
		lines = slices.Concat(omitted(lines[:why]), lines[why:why+1], omitted(lines[why+1:n-maxTelling+3]), lines[n-maxTelling+3:])
	default:
		lines = slices.Concat(lines[:1], omitted(lines[1:n-maxTelling+2]), lines[n-maxTelling+2:])
	}
	for i, line := range lines {
		lines[i] = strings.Join(cleanLines(line), " ")
	}
	return lines
}

// omitted is the line that stands for others, if any. It counts what was left out
// before as well.
func omitted(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	left := count(len(lines), "line")
	gap := regexp.MustCompile(`\.\.\. \((\d+) bytes left out\) \.\.\.`)
	for _, line := range lines {
		if bytes := gap.FindStringSubmatch(line); bytes != nil {
			left += " and " + bytes[1] + " bytes"
			break
		}
	}
	return []string{"... (" + left + " left out) ..."}
}

// stored is what show makes of what the handlers of a case wrote to stderr, invocation
// by invocation. Without evidence it is empty. Nothing outside of the folder is read,
// whatever the report says: it may come from anywhere.
func stored(folder string, c *result.Case, show func(text string) []string) string {
	where := filepath.FromSlash(c.Evidence)
	if folder == "" || c.Evidence == "" || !filepath.IsLocal(where) {
		return ""
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return ""
	}
	defer root.Close()
	names, err := fs.Glob(root.FS(), globQuoted(path.Clean(c.Evidence))+"/*.stderr*")
	if err != nil {
		return ""
	}
	slices.SortFunc(names, func(a, b string) int { return compareNumbered(path.Base(a), path.Base(b)) })
	var b strings.Builder
	for _, name := range names {
		data, err := readBounded(root, name)
		if err != nil || len(data) == 0 {
			continue
		}
		text := string(data)
		if strings.HasSuffix(name, cutSuffix) {
			text = joined(text)
		}
		lines := show(text)
		if len(lines) == 0 {
			continue
		}
		if len(names) > 1 {
			fmt.Fprintf(&b, "-- %s --\n", clean(strings.TrimSuffix(path.Base(name), cutSuffix)))
		}
		b.WriteString(strings.Join(lines, "\n"))
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// cutSuffix is how the name of a stored stream ends that was not kept whole.
const cutSuffix = ".cut"

// joined is the text of a stream that was stored with a part left out, with the
// words of [result.Clip] for that part, so that what is left out of it now is added.
func joined(text string) string {
	const head = result.MaxStream * 3 / 4
	if len(text) <= head {
		return text
	}
	var left int
	if _, err := fmt.Sscanf(text[head:], "\n... %d bytes left out ...\n", &left); err != nil {
		return text
	}
	line := fmt.Sprintf("\n... %d bytes left out ...\n", left)
	return text[:head] + fmt.Sprintf(" ... (%d bytes left out) ... ", left) + strings.TrimPrefix(text[head:], line)
}

func readBounded(root *os.Root, name string) ([]byte, error) {
	// Of what is no file, opening could wait for ever.
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, io.LimitReader(f, maxRead))
	return b.Bytes(), err
}

// globQuoted is a path that a glob takes literally.
func globQuoted(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// compareNumbered orders names that begin with a number by it.
func compareNumbered(a, b string) int {
	digits := func(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
	if n := digits(a) - digits(b); n != 0 {
		return n
	}
	return strings.Compare(a, b)
}
