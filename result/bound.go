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
	// MaxStream is how many bytes of one stream of an invocation are kept, from
	// its head on. What comes after is counted in a left event, so that the
	// evidence says of itself that it is not whole.
	MaxStream = 4 << 20
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

// boundedEvents keeps the head of every stream. Most transcripts are within the
// bounds and are returned as they are.
func boundedEvents(events []transcript.Event) []transcript.Event {
	if isBounded(events) {
		return events
	}
	var kept []transcript.Event
	size := map[string]int64{}
	left := map[string]int{} // by stream: where its left event stands in kept
	leave := func(at int64, stream string, count int64) {
		if i, ok := left[stream]; ok {
			kept[i].Count += count
			return
		}
		left[stream] = len(kept)
		kept = append(kept, transcript.Event{At: at, Kind: transcript.Left, Stream: stream, Count: count})
	}
	dropped, last := 0, int64(0)
	for _, e := range events {
		last = e.At
		e.Text = Clip(e.Text, MaxText)
		full := len(kept) >= MaxEvents
		switch {
		case e.Kind == transcript.Left:
			leave(e.At, e.Stream, e.Count)
		case len(e.Data) > 0:
			room := max(MaxStream-size[e.Stream], 0)
			if _, cut := left[e.Stream]; cut || full {
				room = 0 // no hole: nothing of a stream is kept after a part that is not
			}
			over := max(int64(len(e.Data))-room, 0)
			e.Data = e.Data[:int64(len(e.Data))-over]
			size[e.Stream] += int64(len(e.Data))
			if len(e.Data) > 0 {
				kept = append(kept, e)
			}
			if over > 0 {
				leave(e.At, e.Stream, over)
			}
		case full && !isLandmark(&e):
			dropped++
		default:
			kept = append(kept, e)
		}
	}
	if dropped > 0 {
		kept = append(kept, transcript.Event{
			At: last, Kind: transcript.Note, Text: fmt.Sprintf("%d further events were left out", dropped),
		})
	}
	return kept
}

func isBounded(events []transcript.Event) bool {
	size := map[string]int64{}
	for i := range events {
		e := &events[i]
		if len(e.Text) > MaxText {
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
