package html

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// segment is a run of text, marked or not.
type segment struct {
	Text string
	Mark bool
}

// perLine is how many bytes a line of a dump has.
const perLine = 16

// dump shows bytes in hex and as text. The bytes at marks are marked in both
// columns. Of more than limit bytes, the head and what stands around the first mark
// are shown, and what is left out is counted; so is left, which was not recorded.
func dump(data []byte, marks []int, limit int, left int64) []segment {
	d := &dumper{marks: marks}
	mark := 0
	if len(marks) > 0 {
		mark = marks[0]
	}
	switch {
	case len(data) <= limit:
		d.lines(data, 0, len(data))
	case mark >= len(data) || mark < limit*3/4:
		end := limit &^ (perLine - 1)
		d.lines(data, 0, end)
		d.skip(len(data) - end)
	default:
		head := (limit / 4) &^ (perLine - 1)
		from := max(mark-limit/4, head) &^ (perLine - 1)
		to := min((mark+limit/4)&^(perLine-1)+perLine, len(data))
		d.lines(data, 0, head)
		d.skip(from - head)
		d.lines(data, from, to)
		d.skip(len(data) - to)
	}
	if left > 0 {
		fmt.Fprintf(&d.text, "… %d further bytes were not recorded\n", left)
	}
	d.flush(false)
	return d.all
}

type dumper struct {
	marks []int
	all   []segment
	text  strings.Builder
}

func (d *dumper) flush(mark bool) {
	if d.text.Len() > 0 {
		d.all = append(d.all, segment{d.text.String(), mark})
		d.text.Reset()
	}
}

func (d *dumper) marked(text string) {
	d.flush(false)
	d.text.WriteString(text)
	d.flush(true)
}

func (d *dumper) skip(n int) {
	if n > 0 {
		fmt.Fprintf(&d.text, "… %s left out\n", count(n, "byte"))
	}
}

func (d *dumper) lines(data []byte, from, to int) {
	for ; from < to; from += perLine {
		part := data[from:min(from+perLine, to)]
		fmt.Fprintf(&d.text, "%08x ", from)
		for i, c := range part {
			d.text.WriteByte(' ')
			if slices.Contains(d.marks, from+i) {
				d.marked(fmt.Sprintf("%02x", c))
			} else {
				fmt.Fprintf(&d.text, "%02x", c)
			}
		}
		d.text.WriteString(strings.Repeat("   ", perLine-len(part)) + "  ")
		for i, c := range part {
			if slices.Contains(d.marks, from+i) {
				d.marked(printable(c))
			} else {
				d.text.WriteString(printable(c))
			}
		}
		d.text.WriteByte('\n')
	}
}

// printable is a byte in the text column of a dump.
func printable(c byte) string {
	if c < 0x20 || c > 0x7e {
		return "."
	}
	return string(rune(c))
}

// around is the text near a byte of a stream, with the character at it marked.
func around(data []byte, mark int) []segment {
	const reach = 48
	if mark < 0 || mark > len(data) {
		return nil
	}
	if mark == len(data) {
		return []segment{{Text: line(string(data[max(mark-reach, 0):]), 4*reach)}, {Text: "the end", Mark: true}}
	}
	_, size := utf8.DecodeRune(data[mark:])
	all := []segment{
		{Text: line(string(data[max(mark-reach, 0):mark]), 4*reach)},
		{Text: line(string(data[mark:mark+size]), 16), Mark: true},
		{Text: line(string(data[mark+size:min(mark+size+reach, len(data))]), 4*reach)},
	}
	return all
}
