package html

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// The directions of a timeline, seen from the subject.
const (
	toSubject   = "to"
	fromSubject = "from"
)

// invocation is one invocation as it is shown.
type invocation struct {
	Title  string
	Rows   []row
	Raw    []raw
	Stderr *stderr
	End    string
	Failed bool // the end is none that an invocation succeeds with
}

// row is an event of a timeline.
type row struct {
	At   string
	Dir  string // toSubject, fromSubject or neither
	What string
	Text string
	Note string
	// Bad: findings point here. Around is the text at each byte that they name.
	Bad    bool
	Around [][]segment
	Detail []detail

	us    int64
	order int
}

// Arrow shows the direction.
func (r row) Arrow() string {
	switch r.Dir {
	case toSubject:
		return "→"
	case fromSubject:
		return "←"
	}
	return "·"
}

// Shown reports whether the row is open: a finding is about what stands behind it.
func (r row) Shown() bool { return r.Bad && len(r.Around) == 0 }

// Spoken is the direction in words.
func (r row) Spoken() string {
	switch r.Dir {
	case toSubject:
		return "to the subject"
	case fromSubject:
		return "from the subject"
	}
	return "event"
}

// detail is a text behind a row.
type detail struct{ Title, Text string }

// raw is a stream as bytes.
type raw struct {
	Title string
	Bytes []segment
	Bad   bool
}

// stderr is the diagnostics of an invocation, open when it failed.
type stderr struct {
	Title, Text string
	Open        bool
}

// isRecords reports whether a stream carries records.
func isRecords(stream string) bool {
	switch stream {
	case transcript.Stdin, transcript.Stdout, transcript.Post, transcript.Answer:
		return true
	}
	return false
}

// wire lays out invocations of a case: the transcript as a timeline, what went over
// the streams in hex, and how it ended.
type wire struct {
	limits  limits
	targets []target
}

// invocation shows one invocation, number from 1. Findings number the main ones: main.
func (w wire) invocation(inv *result.Invocation, number, of, main int) invocation {
	t := &inv.Transcript
	out := invocation{Title: w.title(inv, number, of)}
	var mine []target
	for _, p := range w.targets {
		if other := isOther(inv.Role); other && p.role == inv.Role || !other && p.role == "" && (p.number == 0 || p.number == main) {
			mine = append(mine, p)
		}
	}
	out.Rows = w.bounded(w.rows(inv, mine))
	for _, name := range []string{transcript.Stdin, transcript.Post, transcript.Stdout, transcript.Answer} {
		data, left := t.Stream(name)
		if len(data) == 0 && left == 0 {
			continue
		}
		marks := w.marks(t, name, data, mine)
		title := fmt.Sprintf("%s, %s", name, count(len(data), "byte"))
		if n := writes(t, name); n > 1 {
			title += " in " + count(n, "part")
		}
		out.Raw = append(out.Raw, raw{Title: title, Bytes: dump(data, marks, w.limits.raw, t.Missing(name)), Bad: len(marks) > 0})
		if tail := t.Tail(name); len(tail) > 0 {
			end := tail[max(0, len(tail)-w.limits.raw/4&^(perLine-1)):]
			out.Raw = append(out.Raw, raw{Title: fmt.Sprintf("%s, the last %s", name, count(len(end), "byte")), Bytes: dump(end, nil, len(end), 0)})
		}
	}
	out.Stderr = w.stderr(t)
	if e := t.Ended(); e != nil {
		out.End, out.Failed = ended(e), !e.Success()
	} else {
		out.End, out.Failed = "no end was recorded", true
	}
	if out.Stderr != nil {
		out.Stderr.Open = out.Failed
	}
	return out
}

func (w wire) title(inv *result.Invocation, number, of int) string {
	title := "Invocation"
	if of > 1 {
		title = fmt.Sprintf("Invocation %d of %d", number, of)
	}
	if inv.Role != "" && of > 1 {
		title += ", " + line(inv.Role, 80)
	}
	return title
}

func writes(t *transcript.Transcript, stream string) (n int) {
	for _, e := range t.Events {
		if e.Stream == stream && len(e.Data) > 0 && !isGap(&e) {
			n++
		}
	}
	return n
}

// outputStream is where the handler's records are.
func outputStream(t *transcript.Transcript) string {
	if t.Transport == "subprocess" {
		return transcript.Stdout
	}
	return transcript.Answer
}

// marks is the bytes of a stream that findings name, those of the first finding
// first.
func (w wire) marks(t *transcript.Transcript, stream string, data []byte, targets []target) (all []int) {
	pieces, _ := cut(data, maxPieces)
	for _, p := range targets {
		if i := p.find(data, pieces, stream, outputStream(t)); i >= 0 {
			if at := p.at(data, pieces[i]); at >= 0 && !slices.Contains(all, at) {
				all = append(all, at)
			}
		}
	}
	return all
}

// at is the byte of the stream that the target is about, in the piece that it is
// about; -1 when it is about all of it.
func (p target) at(data []byte, c piece) int {
	if p.offset >= 0 || p.path == "" {
		return p.offset
	}
	if m, ok := members(data[c.from:c.to])[memberPath(p.path)]; ok {
		return c.from + m.offset
	}
	return -1
}

// memberPath is the member of a record that a finding speaks of.
func memberPath(path string) string {
	if path == "body" {
		return "data"
	}
	return path
}

// maxPieces is how many records of a stream are looked at.
const maxPieces = 4096

// find is the index of the piece that the target is about, or -1.
func (p target) find(data []byte, pieces []piece, stream, outputs string) int {
	named := p.name != "" && stream == outputs
	if p.stream != stream && !named || p.offset > len(data) {
		return -1
	}
	outputNumber := 0
	for i, c := range pieces {
		if p.offset >= 0 && p.offset < c.to {
			return i
		}
		if p.offset >= 0 || c.number == 0 {
			continue
		}
		if p.record == c.number {
			return i
		}
		if p.name == "" && p.output == 0 {
			continue
		}
		name := members(data[c.from:c.to])["name"].text
		if p.name != "" && name == p.name {
			return i
		}
		if !strings.HasPrefix(name, "conform/") {
			if outputNumber++; p.output == outputNumber {
				return i
			}
		}
	}
	if p.offset >= 0 {
		return len(pieces) - 1
	}
	return -1
}

// isGap reports whether an event stands for bytes of which not all are recorded.
func isGap(e *transcript.Event) bool {
	return e.Kind == transcript.Left && int64(len(e.Data)) != e.Count
}

// rows is the events of an invocation in the order of time. The parts of a stream
// of records are put together and cut into records.
func (w wire) rows(inv *result.Invocation, targets []target) []row {
	t := &inv.Transcript
	var all []row
	seen := map[string]bool{}
	for i := 0; i < len(t.Events); i++ {
		e := &t.Events[i]
		switch {
		case isGap(e):
			all = append(all, w.event(t, e, i))
		case isRecords(e.Stream) && len(e.Data) > 0:
			if !seen[e.Stream] {
				seen[e.Stream] = true
				all = append(all, w.records(inv, e.Stream, targets)...)
			}
		case len(e.Data) > 0:
			data, n := e.Data, 1
			for i+1 < len(t.Events) && t.Events[i+1].Stream == e.Stream && t.Events[i+1].Kind == e.Kind {
				i++
				n++
				data = append(data[:len(data):len(data)], t.Events[i].Data...)
			}
			r := row{us: e.At, order: i, Dir: fromSubject, What: e.Stream, Text: opening(firstLine(data), w.limits.line)}
			if e.Kind == transcript.Sent {
				r.Dir = toSubject
			}
			r.Note = count(len(data), "byte")
			if n > 1 {
				r.Note += " in " + count(n, "part")
			}
			all = append(all, r)
		default:
			all = append(all, w.event(t, e, i))
		}
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Or(cmp.Compare(a.us, b.us), cmp.Compare(a.order, b.order)) })
	for i := range all {
		all[i].At = moment(all[i].us)
		all[i].What = line(all[i].What, 40)
	}
	return all
}

// firstLine is the first line that says anything.
func firstLine(data []byte) string {
	data = bytes.TrimSpace(data)
	first, _, _ := bytes.Cut(data, []byte("\n"))
	return string(first)
}

// part is where an event's bytes begin in their stream.
type part struct {
	from, index int
	event       *transcript.Event
}

// records is a stream of records, a row each.
func (w wire) records(inv *result.Invocation, stream string, targets []target) []row {
	t := &inv.Transcript
	var data []byte
	var parts []part
	for i := range t.Events {
		if e := &t.Events[i]; e.Stream == stream && len(e.Data) > 0 && !isGap(e) {
			parts = append(parts, part{len(data), i, e})
			data = append(data, e.Data...)
		}
	}
	at := func(offset int) int {
		n, found := slices.BinarySearchFunc(parts, offset, func(p part, o int) int { return cmp.Compare(p.from, o) })
		if !found {
			n--
		}
		return n
	}
	pieces, rest := cut(data, maxPieces)
	bad := map[int][]target{}
	for _, p := range targets {
		if n := p.find(data, pieces, stream, outputStream(t)); n >= 0 {
			bad[n] = append(bad[n], p)
		}
	}
	var all []row
	for i, c := range pieces {
		first, last := parts[at(c.from)], parts[at(max(c.to-1, c.from))]
		r := row{us: first.event.At, order: first.index, Dir: fromSubject, What: stream}
		if first.event.Kind == transcript.Sent {
			r.Dir = toSubject
		}
		text := data[c.from:c.to]
		r.Text = opening(string(text), w.limits.line)
		if c.number == 0 {
			r.Note = "no JSON"
		} else {
			r.Note = fmt.Sprintf("record %d", c.number)
			if name := members(text)["name"].text; name != "" {
				r.Note += ", " + opening(name, 60)
			}
			r.Detail = w.decoded(text)
		}
		if n := at(c.to-1) - at(c.from); n > 0 {
			r.Note += fmt.Sprintf(", %s until %s", count(n+1, "part"), moment(last.event.At))
		}
		for _, p := range bad[i] {
			r.Bad = true
			if b := p.at(data, c); b >= 0 && len(r.Around) < 3 {
				r.Around = append(r.Around, around(data, b))
			}
		}
		all = append(all, r)
	}
	if rest < len(data) {
		last := parts[at(rest)]
		all = append(all, row{us: last.event.At, order: last.index, What: stream, Text: count(len(data)-rest, "further byte"), Note: "not taken apart"})
	}
	return all
}

// decoded is what a record holds: its members a line each, and its body as what it
// is.
func (w wire) decoded(record []byte) (all []detail) {
	data := members(record)["data"].text
	content := body(data)
	if len(record) > w.limits.line || len(content) > 0 {
		all = append(all, detail{"", block(laidOut(record), w.limits.record)})
	}
	if len(content) == 0 {
		return all
	}
	d := detail{Title: "its body, " + count(len(content), "byte")}
	switch {
	case jsonLike(content):
		d.Text = block(laidOut(content), w.limits.record)
	case utf8.Valid(content):
		d.Text = block(string(content), w.limits.record)
	default:
		for _, s := range dump(content, nil, w.limits.record/5, 0) {
			d.Text += s.Text
		}
	}
	return append(all, d)
}

func jsonLike(b []byte) bool {
	b = bytes.TrimSpace(b)
	return len(b) > 0 && (b[0] == '{' || b[0] == '[')
}

// bounded keeps the beginning and the end of a timeline, and what findings point
// to.
func (w wire) bounded(rows []row) []row {
	limit := w.limits.rows
	if len(rows) <= limit {
		return rows
	}
	head, tail := limit*2/3, limit-limit*2/3
	kept := slices.Clone(rows[:head])
	left := 0
	leave := func() {
		if left > 0 {
			kept = append(kept, row{What: "left out", Text: count(left, "event")})
			left = 0
		}
	}
	bad := 0
	for _, r := range rows[head : len(rows)-tail] {
		if r.Bad && bad < limit {
			leave()
			kept = append(kept, r)
			bad++
			continue
		}
		left++
	}
	leave()
	return append(kept, rows[len(rows)-tail:]...)
}

func (w wire) stderr(t *transcript.Transcript) *stderr {
	data, left := t.Stream(transcript.Stderr)
	if len(data) == 0 && left == 0 {
		return nil
	}
	s := &stderr{Title: count(len(data)+int(left), "byte")}
	if missing := t.Missing(transcript.Stderr); missing > 0 {
		s.Title += fmt.Sprintf(", of which %d were not recorded", missing)
	}
	if tail := t.Tail(transcript.Stderr); len(tail) > 0 {
		s.Text, _ = takeLast(strings.TrimRight(string(tail), "\n"), w.limits.stderr, true)
		s.Title += "; this is the end, and more is in the evidence"
		return s
	}
	text, n := takeLast(strings.TrimRight(string(data), "\n"), w.limits.stderr, true)
	s.Text = text
	if over := len(strings.TrimRight(string(data), "\n")) - n; over > 0 {
		s.Title += fmt.Sprintf("; the first %s are in the evidence", count(over, "byte"))
	}
	return s
}

// sorted is a map as lines, "name: value".
func sorted(m map[string]string, limit int) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s: %s\n", name, line(m[name], 300))
	}
	return block(b.String(), limit)
}
