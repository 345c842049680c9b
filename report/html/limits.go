package html

// MaxSize is how many bytes a page is to have at most. A page that would be larger
// embeds less evidence, the same share of every case, until it fits; what it leaves
// out is counted where it would stand.
const MaxSize = 1_950_000

// limits is what is embedded of each thing at most.
type limits struct {
	text    int // bytes of one text of a finding
	rows    int // events of one timeline
	line    int // bytes of one event's line
	record  int // bytes of one record, laid out, and of its body, decoded
	raw     int // bytes of one stream, in hex and as text
	stderr  int // bytes of stderr, from its end
	steps   int // acts of a story, and bytes of the output of each times 8
	streams int // invocations of one case
	// brief: a result is a line.
	brief bool
}

// most is what a failing case carries when there is room.
func most() limits {
	return limits{text: 4096, rows: 120, line: 160, record: 4096, raw: 2048, stderr: 6144, steps: 120, streams: 16}
}

// levels is what is tried in turn until the page fits: less and less evidence, then
// the findings alone, then what was found in a line.
func levels() []limits {
	all := []limits{most()}
	for range 5 {
		l := all[len(all)-1]
		all = append(all, limits{
			text: l.text * 2 / 3, rows: l.rows * 2 / 3, line: max(l.line*4/5, 80), record: l.record * 3 / 5, raw: l.raw / 2,
			stderr: l.stderr * 2 / 3, steps: l.steps * 2 / 3, streams: max(l.streams*2/3, 2),
		})
	}
	return append(all, limits{text: 512}, limits{text: 160}, limits{text: 96, brief: true})
}

// lesser is what a case carries that accuses no one: a warning, or what could not
// be tested.
func (l limits) lesser() limits {
	l.raw, l.record, l.rows, l.stderr = l.raw/4, l.record/2, l.rows/2, l.stderr/2
	return l
}

// embeds reports whether anything of the evidence is embedded.
func (l limits) embeds() bool { return l.rows > 0 }
