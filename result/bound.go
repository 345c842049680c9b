package result

import (
	stdjson "encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/transcript"
)

// What stored evidence holds at most.
const (
	// MaxStream is how many bytes of one stream of an invocation are kept. Of a longer
	// one these are its head and, in the left event that counts what came after that,
	// its end: the evidence says of itself that it is not whole.
	MaxStream = 4 << 20
	// MaxTail is how many of them are of the end.
	MaxTail = MaxStream / 4
	// MaxEvents is how many events of one invocation are kept, those aside that
	// say how a process or a stream began and ended.
	MaxEvents = 1 << 17
	// MaxOutput is how many bytes of one step's output are kept. An output that is
	// longer is replaced by a JSON string that says so: cut JSON is none.
	MaxOutput = 16 << 20
	// MaxText is how many bytes of a text of an event or of an error are kept,
	// from its head and its tail.
	MaxText = 64 << 10
)

// bounded is the evidence as it is stored. What it was made of is not changed.
func bounded(e *Evidence) *Evidence {
	b := *e
	b.Fault = Clip(e.Fault, MaxText)
	b.Steps = slices.Clone(e.Steps)
	for i := range b.Steps {
		b.Steps[i] = boundedStep(b.Steps[i])
	}
	b.Invocations = slices.Clone(e.Invocations)
	for i := range b.Invocations {
		t := &b.Invocations[i].Transcript
		t.Events = boundedEvents(t.Events)
	}
	return &b
}

func boundedStep(s Step) Step {
	if s.Error != nil && len(s.Error.Message) > MaxText {
		e := *s.Error
		e.Message = Clip(e.Message, MaxText)
		s.Error = &e
	}
	switch output := jsontext.Value(s.Output); {
	case len(output) == 0:
	case len(output) > MaxOutput:
		s.Output = quoted(fmt.Sprintf("left out: %d bytes", len(output)))
	case !output.IsValid(jsontext.AllowDuplicateNames(true)):
		s.Output = quoted(Visible(string(output)))
	}
	return s
}

// quoted is a text as a JSON string.
func quoted(s string) stdjson.RawMessage {
	text, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return stdjson.RawMessage(`""`) // never: s is UTF-8
	}
	return stdjson.RawMessage(text)
}

// boundedEvents keeps head and end of every stream. Most transcripts are within the
// bounds and are returned as they are.
func boundedEvents(events []transcript.Event) []transcript.Event {
	if isBounded(events) {
		return events
	}
	b := bounding{sizes: sizesOf(events), streams: map[string]*boundedStream{}}
	dropped, last := 0, int64(0)
	for _, e := range events {
		last = e.At
		e.Text = Clip(e.Text, MaxText)
		full := len(b.kept) >= MaxEvents
		switch {
		case e.Kind == transcript.Left:
			b.leave(&e, e.Count, e.Data)
		case len(e.Data) > 0:
			data := b.head(e.Stream, e.Data, full)
			over := e.Data[len(data):]
			e.Data = data
			if len(data) > 0 || !full && (e.HTTP != nil || e.Text != "") || isLandmark(&e) {
				b.kept = append(b.kept, e)
			}
			if len(over) > 0 {
				b.leave(&e, int64(len(over)), over)
			}
		case full && !isLandmark(&e):
			dropped++
		default:
			b.kept = append(b.kept, e)
		}
	}
	b.ends()
	if dropped > 0 {
		b.kept = append(b.kept, transcript.Event{
			At: last, Kind: transcript.Note, Text: fmt.Sprintf("%d further events were left out", dropped),
		})
	}
	return b.kept
}

// bounding is a transcript that is being brought within the bounds.
type bounding struct {
	sizes   map[string]int64
	kept    []transcript.Event
	streams map[string]*boundedStream
}

// boundedStream is what is kept of a stream.
type boundedStream struct {
	head int64
	// left is where its left event stands, once there is one, and end the last bytes
	// that are known of what that stands for.
	left *int
	end  []byte
}

func (b *bounding) stream(name string) *boundedStream {
	if b.streams[name] == nil {
		b.streams[name] = &boundedStream{}
	}
	return b.streams[name]
}

// head is what of the data is kept of the stream's head.
func (b *bounding) head(name string, data []byte, full bool) []byte {
	s := b.stream(name)
	if s.left != nil || full {
		return nil // no hole: nothing of a head is kept after a part that is not
	}
	room := int64(MaxStream)
	if b.sizes[name] > MaxStream {
		room -= MaxTail
	}
	n := min(int64(len(data)), max(room-s.head, 0))
	s.head += n
	return data[:n]
}

// leave counts bytes that are not kept with the head, of which data are the last.
func (b *bounding) leave(e *transcript.Event, count int64, data []byte) {
	s := b.stream(e.Stream)
	if s.left == nil {
		at := len(b.kept)
		s.left = &at
		b.kept = append(b.kept, transcript.Event{At: e.At, Kind: transcript.Left, Stream: e.Stream})
	}
	b.kept[*s.left].Count += count
	switch {
	case int64(len(data)) == count:
		s.end = append(s.end, data...)
	case len(data) > 0 || count > 0: // what stands between is not known
		s.end = slices.Clone(data)
	}
	if len(s.end) > 2*MaxTail {
		s.end = s.end[:copy(s.end, s.end[len(s.end)-MaxTail:])]
	}
}

// ends puts the ends of the streams where they are read.
func (b *bounding) ends() {
	for _, s := range b.streams {
		if s.left != nil && len(s.end) > 0 {
			b.kept[*s.left].Data = s.end[max(0, len(s.end)-MaxTail):]
		}
	}
}

// sizesOf is how long each stream was.
func sizesOf(events []transcript.Event) map[string]int64 {
	sizes := map[string]int64{}
	for i := range events {
		if e := &events[i]; e.Kind == transcript.Left {
			sizes[e.Stream] += e.Count
		} else if len(e.Data) > 0 {
			sizes[e.Stream] += int64(len(e.Data))
		}
	}
	return sizes
}

func isBounded(events []transcript.Event) bool {
	size := map[string]int64{}
	for i := range events {
		e := &events[i]
		if len(e.Text) > MaxText || e.Kind == transcript.Left && len(e.Data) > MaxTail {
			return false
		}
		if len(e.Data) > 0 {
			size[e.Stream] += int64(len(e.Data))
			if size[e.Stream] > MaxStream {
				return false
			}
		}
	}
	return len(events) <= MaxEvents
}

// isLandmark reports whether e says how a process or a stream began or ended.
func isLandmark(e *transcript.Event) bool {
	switch e.Kind {
	case transcript.Spawn, transcript.Closed, transcript.Exited, transcript.Killed:
		return true
	}
	return e.Ended != nil
}

// Bounded returns the case with each text bounded to [MaxText] bytes, head and
// tail, whoever wrote it, and with lists that are not nil.
func (c Case) Bounded() Case {
	// Visible first, as it is written: else a text of bytes that are no UTF-8 would
	// be longer when it is read back, and be clipped anew.
	clip := func(s string) string { return Clip(Visible(s), MaxText) }
	c.Why, c.Reason = clip(c.Why), clip(c.Reason)
	c.Evidence, c.Rerun = clip(c.Evidence), clip(c.Rerun)
	checks := make([]Check, len(c.Checks))
	for i, k := range c.Checks {
		k.Where, k.Want, k.Got, k.Diff = clip(k.Where), clip(k.Want), clip(k.Got), clip(k.Diff)
		if k.Readings == nil {
			k.Readings = []string{}
		}
		checks[i] = k
	}
	c.Checks = checks
	return c
}
