package result

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"pugmark.dev/conform/transcript"
)

// MinSecret is how many bytes a value has to have to be masked: shorter ones occur
// everywhere by chance.
const MinSecret = 6

// Mask takes the values of secret variables out of what is kept of a run, and puts
// their names there. A nil Mask changes nothing. It is safe for concurrent use.
//
// It finds a value as it is, in base64 (of either alphabet, padded or not, in lines or
// not, as a part of something longer that is encoded, and up to three times over), and
// each of these with any of its characters escaped for JSON or percent-encoded, also
// several times over. What was compressed or encrypted it does not find. It takes time
// that is linear in what it looks through.
type Mask struct {
	// folded is for folded data, plain for data as it is.
	folded, plain *index
	// pieces is what a part of a value can be told by.
	pieces pieces

	mu    sync.Mutex
	found map[string]bool
}

// Secret is a variable whose value is not to be seen.
type Secret struct{ Name, Value string }

// minLine is how many bytes a line of a value has to have to be masked by itself.
const minLine = 16

// NewMask returns the mask of the secrets. Values of less than [MinSecret] bytes,
// white space around them aside, are left out; of equal values the name that sorts
// first stands. Of a value of several lines, a key for example, each long line is
// masked by itself too. It is nil when no secret is left.
func NewMask(secrets []Secret) *Mask {
	sorted := slices.Clone(secrets)
	slices.SortFunc(sorted, func(a, b Secret) int { return cmp.Compare(a.Name, b.Name) })
	m := &Mask{found: map[string]bool{}, pieces: pieces{}}
	var patterns []pattern
	seen := map[string]bool{}
	for _, s := range sorted {
		value := strings.TrimSpace(s.Value)
		values := []string{value}
		if strings.Contains(value, "\n") {
			for line := range strings.Lines(value) {
				// What begins and ends a key in PEM is no secret.
				if line = strings.TrimSpace(line); len(line) >= minLine && !strings.HasPrefix(line, "-----") {
					values = append(values, line)
				}
			}
		}
		for _, v := range values {
			if len(v) >= MinSecret && !seen[v] {
				seen[v] = true
				patterns = append(patterns, patternsOf(s.Name, v)...)
				m.pieces.add(v)
			}
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	m.folded, m.plain = newIndex(ordered(foldedPatterns(patterns))), newIndex(ordered(patterns))
	return m
}

// Found returns the names of the variables whose values were masked so far, sorted.
func (m *Mask) Found() []string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.found))
}

// Text is a text without secrets.
func (m *Mask) Text(s string) string {
	if m == nil {
		return s
	}
	return (&masking{mask: m}).text(s)
}

// In returns the names of the variables whose values stand in the texts, sorted.
func (m *Mask) In(texts ...string) []string {
	if m == nil {
		return nil
	}
	w := &masking{mask: m, names: map[string]bool{}}
	w.texts(texts)
	return slices.Sorted(maps.Keys(w.names))
}

// Case is what was judged of a case, in which no text holds a secret. IDs stay: they
// are the suite's own.
func (m *Mask) Case(c Case) Case {
	if m == nil {
		return c
	}
	c.Reason, c.Rerun = m.Text(c.Reason), m.Text(c.Rerun)
	c.Checks = slices.Clone(c.Checks)
	for i := range c.Checks {
		k := &c.Checks[i]
		k.Where, k.Want, k.Got, k.Diff = m.Text(k.Where), m.Text(k.Want), m.Text(k.Got), m.Text(k.Diff)
	}
	return c
}

// Run masks what a run says beside its cases, and puts the names of all that was
// masked into it.
func (m *Mask) Run(r *Run) {
	if m == nil {
		return
	}
	r.Subject.Name, r.Subject.Version = m.Text(r.Subject.Name), m.Text(r.Subject.Version)
	r.Command = slices.Clone(r.Command)
	for i := range r.Command {
		r.Command[i] = m.Text(r.Command[i])
	}
	r.Selection.Patterns = slices.Clone(r.Selection.Patterns)
	for i := range r.Selection.Patterns {
		r.Selection.Patterns[i] = m.Text(r.Selection.Patterns[i])
	}
	if r.Known != nil {
		known := *r.Known
		known.File = m.Text(known.File)
		known.Entries = slices.Clone(known.Entries)
		for i := range known.Entries {
			e := &known.Entries[i]
			e.Reason, e.Issue, e.Problem = m.Text(e.Reason), m.Text(e.Issue), m.Text(e.Problem)
			e.Where, e.At = m.texts(e.Where), m.texts(e.At)
		}
		r.Known = &known
	}
	for i := range r.Cases {
		r.Cases[i] = m.Case(r.Cases[i])
	}
	r.Masked = m.Found()
}

// Evidence is the evidence without secrets, and says which it had. It is the same one
// when it had none. Streams are looked at whole, so that a value that came in
// several reads is found.
func (m *Mask) Evidence(e *Evidence) *Evidence {
	if m == nil {
		return e
	}
	w := &masking{mask: m, names: map[string]bool{}}
	out := *e
	out.Subject, out.Fault, out.TimedOut = w.text(e.Subject), w.text(e.Fault), w.text(e.TimedOut)
	out.Sessions = w.values(e.Sessions)
	out.Steps = slices.Clone(e.Steps)
	for i := range out.Steps {
		s := &out.Steps[i]
		s.Args = w.texts(s.Args)
		s.Output = w.bytes(s.Output)
		if s.Error != nil {
			failure := *s.Error
			failure.Message = w.text(failure.Message)
			s.Error = &failure
		}
	}
	out.Invocations = slices.Clone(e.Invocations)
	for i := range out.Invocations {
		v := &out.Invocations[i]
		v.Objects = w.values(v.Objects)
		v.Transcript.Events = w.events(v.Transcript.Events)
	}
	if len(w.names) == 0 {
		return e
	}
	out.Masked = slices.Sorted(maps.Keys(w.names))
	return &out
}

// masking is one use of a mask, and the names that it found; names is nil where
// nobody asks.
type masking struct {
	mask  *Mask
	names map[string]bool
}

func (w *masking) note(name string) {
	if w.names != nil {
		w.names[name] = true
	}
	w.mask.mu.Lock()
	defer w.mask.mu.Unlock()
	w.mask.found[name] = true
}

func (w *masking) text(s string) string { return string(w.bytes([]byte(s))) }

func (w *masking) texts(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = w.text(list[i])
	}
	return list
}

// values masks the values of a map, and the keys too: what a subject names is its
// own text.
func (w *masking) values(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[w.text(k)] = w.text(v)
	}
	return out
}

// bytes is data without secrets; the same slice when it has none.
func (w *masking) bytes(data []byte) []byte {
	hits := w.mask.find(data)
	if len(hits) == 0 {
		return data
	}
	var out bytes.Buffer
	at := 0
	for _, h := range hits {
		w.note(h.name)
		out.Write(data[at:h.start])
		out.WriteString(markOf(h.name))
		at = h.end
	}
	out.Write(data[at:])
	return out.Bytes()
}

// markOf stands in the place of a value.
func markOf(name string) string { return "[masked " + name + "]" }

// events masks the events of a transcript.
func (w *masking) events(events []transcript.Event) []transcript.Event {
	events = slices.Clone(events)
	type key struct {
		kind   transcript.Kind
		stream string
	}
	streams := map[key][]int{}
	wayOf := map[string]transcript.Kind{}
	for i := range events {
		e := &events[i]
		e.Text = w.text(e.Text)
		e.Variables = w.values(e.Variables)
		if e.HTTP != nil {
			e.HTTP = w.http(e.HTTP)
		}
		if e.Ended != nil {
			ended := *e.Ended
			ended.Detail = w.text(ended.Detail)
			e.Ended = &ended
		}
		if len(e.Data) > 0 {
			k := key{e.Kind, e.Stream}
			if e.Kind == transcript.Left && int64(len(e.Data)) == e.Count {
				k.kind = wayOf[e.Stream] // the end of a stream that meets its head is of one with it
			} else if e.Kind != transcript.Left {
				wayOf[e.Stream] = e.Kind
			}
			streams[k] = append(streams[k], i)
		}
	}
	for _, at := range streams {
		w.stream(events, at)
	}
	for k, at := range streams {
		if k.kind == transcript.Left {
			seam(events, streams[key{wayOf[k.stream], k.stream}], at[0])
		}
	}
	return events
}

// seamSize is how many bytes are taken out on both sides of a part of a stream that was
// not recorded: as long as that, the rest of a value which reaches into it can be.
const seamSize = 64 << 10

// seam takes out what may be a part of a value, beside what was not recorded of a
// stream: head and end are the events on both sides. It comes after they were masked.
func seam(events []transcript.Event, head []int, end int) {
	left := &events[end]
	cut := min(seamSize, len(left.Data))
	left.Data = left.Data[cut:]
	for room := seamSize; room > 0 && len(head) > 0; head = head[:len(head)-1] {
		e := &events[head[len(head)-1]]
		n := min(room, len(e.Data))
		e.Data = e.Data[:len(e.Data)-n]
		left.Count += int64(n)
		room -= n
	}
}

func (w *masking) http(h *transcript.HTTP) *transcript.HTTP {
	out := *h
	out.Target = w.text(h.Target)
	if h.Header != nil {
		out.Header = make(map[string][]string, len(h.Header))
		for name, values := range h.Header {
			out.Header[w.text(name)] = w.texts(values)
		}
	}
	return &out
}

// stream masks the events of one stream, given by their indices. A mark stands in the
// event in which the value began.
func (w *masking) stream(events []transcript.Event, at []int) {
	var whole []byte
	for _, i := range at {
		whole = append(whole, events[i].Data...)
	}
	hits := w.mask.find(whole)
	if len(hits) == 0 {
		return
	}
	for _, h := range hits {
		w.note(h.name)
	}
	from := 0
	for _, i := range at {
		to := from + len(events[i].Data)
		var out []byte
		for pos := from; pos < to; {
			for len(hits) > 0 && hits[0].end <= pos {
				hits = hits[1:]
			}
			if len(hits) == 0 || hits[0].start >= to {
				out = append(out, whole[pos:to]...)
				break
			}
			h := hits[0]
			if h.start >= pos {
				out = append(out, whole[pos:h.start]...)
				out = append(out, markOf(h.name)...)
			}
			pos = min(h.end, to)
		}
		if events[i].Kind == transcript.Left {
			events[i].Count += int64(len(out) - len(events[i].Data))
		}
		events[i].Data = out
		from = to
	}
}
