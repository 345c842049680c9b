package fakeruntime

import (
	"maps"
	"net/http"
	"time"
)

// Served is one answer that a server of an invocation has ready, for those who want
// to give it without this package.
type Served struct {
	Status int
	Header http.Header
	// Body is the whole body, of which the first Send bytes go out.
	Body []byte
	Send int
	// Cut: the connection is closed after them. Chunked: they go out in chunks.
	Cut, Chunked bool
	// Delay is waited before the answer.
	Delay time.Duration
}

// ServedObjects returns what the object server answers, by path.
func (s Stream) ServedObjects() map[string]Served { return served(s.objects) }

// ServedMemory returns what the memory server answers, by key.
func (s Stream) ServedMemory() map[string]Served { return served(s.memory) }

// Waits returns how long the writes that are late are waited for, by their index.
func (s Stream) Waits() map[int]time.Duration { return maps.Clone(s.late) }

func served(replies map[string]reply) map[string]Served {
	all := make(map[string]Served, len(replies))
	for name, r := range replies {
		all[name] = Served{Status: r.status, Header: r.header.Clone(), Body: r.body, Send: r.send, Cut: r.cut, Chunked: r.chunked, Delay: r.delay}
	}
	return all
}
