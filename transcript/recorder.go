package transcript

import (
	"sync"
	"time"
)

// DefaultLimit is how many bytes of one stream a [Recorder] keeps when its Limit
// is zero.
const DefaultLimit = 16 << 20

// Recorder collects events; it is safe for concurrent use. The zero value records
// with the default limit, from its first event on.
type Recorder struct {
	// Limit is how many bytes of one stream are kept; what comes after is counted
	// in a Left event. Zero means DefaultLimit.
	Limit int64
	// Sink, when set, is called with each event as it is recorded, in order. What a
	// Left event grows by comes as a further one, so that the sum is the same.
	Sink func(Event)

	mu        sync.Mutex
	started   time.Time
	events    []Event
	kept      map[string]int64
	left      map[string]int // index of the stream's Left event in events
	exchanges int
}

// Add records e, setting its time. Data is copied.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.started.IsZero() {
		r.started = now
		r.kept = map[string]int64{}
		r.left = map[string]int{}
	}
	e.At = now.Sub(r.started).Microseconds()
	if n := int64(len(e.Data)); n > 0 {
		limit := r.Limit
		if limit == 0 {
			limit = DefaultLimit
		}
		room := max(limit-r.kept[e.Stream], 0)
		keep := min(n, room)
		r.kept[e.Stream] += keep
		if over := n - keep; over > 0 {
			if keep > 0 {
				head := e
				head.Data = append(Bytes(nil), e.Data[:keep]...)
				r.append(head)
			}
			if i, ok := r.left[e.Stream]; ok {
				r.events[i].Count += over
				if r.Sink != nil {
					r.Sink(Event{At: e.At, Kind: Left, Stream: e.Stream, Count: over})
				}
				return
			}
			r.left[e.Stream] = len(r.events)
			r.append(Event{At: e.At, Kind: Left, Stream: e.Stream, Count: over})
			return
		}
		e.Data = append(Bytes(nil), e.Data...)
	}
	r.append(e)
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
	return Transcript{By: by, Transport: transport, Started: r.started, Events: append([]Event(nil), r.events...)}
}
