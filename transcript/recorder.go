package transcript

import (
	"sync"
	"time"
)

// What a [Recorder] keeps of one stream when its Limit and its Tail are zero.
const (
	DefaultLimit = 16 << 20 // bytes of its head
	DefaultTail  = 2 << 20  // and of its end
)

// Recorder collects events; it is safe for concurrent use. The zero value records
// with the default limits, from its first event on.
type Recorder struct {
	// Limit is how many bytes of one stream are kept from its head on; what comes after
	// is counted in a Left event. Zero means DefaultLimit.
	Limit int64
	// Tail is how many of the bytes that are counted there are kept, the last ones. Zero
	// means DefaultTail.
	Tail int64
	// Sink, when set, is called with each event as it is recorded, in order. What a
	// Left event grows by comes as a further one, so that the sum is the same; the
	// last bytes come in one of no count, before the event that the stream is closed.
	Sink func(Event)

	mu        sync.Mutex
	started   time.Time
	events    []Event
	kept      map[string]int64
	left      map[string]*rest
	exchanges int
}

// rest is what of a stream comes after its limit.
type rest struct {
	index int // of the stream's Left event in events
	// last holds at least the bytes that are kept of the end, and at most twice as
	// many.
	last Bytes
	sunk bool // the sink has them
}

// Add records e, setting its time. Data is copied.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.started.IsZero() {
		r.started = now
		r.kept = map[string]int64{}
		r.left = map[string]*rest{}
	}
	e.At = now.Sub(r.started).Microseconds()
	if e.Kind == Closed {
		r.sinkTail(e.At, e.Stream)
	}
	n := int64(len(e.Data))
	if n == 0 {
		r.append(e)
		return
	}
	keep := min(n, max(orDefault(r.Limit, DefaultLimit)-r.kept[e.Stream], 0))
	r.kept[e.Stream] += keep
	over := e.Data[keep:]
	e.Data = append(Bytes(nil), e.Data[:keep]...)
	if keep > 0 || e.HTTP != nil || e.Text != "" || e.Ended != nil {
		r.append(e)
	}
	if len(over) > 0 {
		r.leave(e.At, e.Stream, over)
	}
}

// leave counts bytes past the limit and keeps the last of them.
func (r *Recorder) leave(at int64, stream string, data Bytes) {
	grown := Event{At: at, Kind: Left, Stream: stream, Count: int64(len(data))}
	l := r.left[stream]
	if l == nil {
		l = &rest{index: len(r.events)}
		r.left[stream] = l
		r.append(grown)
	} else {
		r.events[l.index].Count += grown.Count
		if r.Sink != nil {
			r.Sink(grown)
		}
	}
	tail := int(orDefault(r.Tail, DefaultTail))
	l.sunk = false
	l.last = append(l.last, data[max(0, len(data)-tail):]...)
	if len(l.last) > 2*tail {
		l.last = l.last[:copy(l.last, l.last[len(l.last)-tail:])]
	}
}

// end is a copy of the last bytes that are kept.
func (r *Recorder) end(l *rest) Bytes {
	tail := int(orDefault(r.Tail, DefaultTail))
	return append(Bytes(nil), l.last[max(0, len(l.last)-tail):]...)
}

// sinkTail gives the last bytes of a stream to the sink.
func (r *Recorder) sinkTail(at int64, stream string) {
	if l := r.left[stream]; r.Sink != nil && l != nil && !l.sunk {
		l.sunk = true
		r.Sink(Event{At: at, Kind: Left, Stream: stream, Data: r.end(l)})
	}
}

func orDefault(limit, zero int64) int64 {
	if limit == 0 {
		return zero
	}
	return limit
}

func (r *Recorder) append(e Event) {
	r.events = append(r.events, e)
	if r.Sink != nil {
		r.Sink(e)
	}
}

// Exchange returns the next number for an HTTP request and its response.
func (r *Recorder) Exchange() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges++
	return r.exchanges
}

// Transcript returns what was recorded so far.
func (r *Recorder) Transcript(by, transport string) Transcript {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := Transcript{By: by, Transport: transport, Started: r.started, Events: append([]Event(nil), r.events...)}
	for _, l := range r.left {
		t.Events[l.index].Data = r.end(l)
	}
	return t
}
