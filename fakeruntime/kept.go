package fakeruntime

import (
	"sync"

	"pugmark.dev/conform/transcript"
)

// Kept is the servers of invocations that are over. They go on answering as they
// did, so that a handler which retained a URL beyond its invocation (section 7
// forbids it) is seen to ask for it: had they gone, such a handler could fail
// first and then ask in the right place. The zero value holds none.
//
// A request to one of them is recorded by the invocation that is under way, under
// transcript.EarlierObjects or EarlierMemory.
type Kept struct {
	mu      sync.Mutex
	now     *transcript.Recorder // of the invocation under way, or of the last one
	servers []*servers
}

// Close ends all servers, and waits until nothing of them runs.
func (k *Kept) Close() {
	k.mu.Lock()
	held := k.servers
	k.servers = nil
	k.mu.Unlock()
	for _, s := range held {
		s.close()
	}
}

// begin makes log the record of the invocation that is under way.
func (k *Kept) begin(log *transcript.Recorder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = log
}

// keep takes over the servers of an invocation that is over.
func (k *Kept) keep(s *servers) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.servers = append(k.servers, s)
}

// record returns where a request to s belongs, and the stream's name there.
func (k *Kept) record(s *servers, name string) (*transcript.Recorder, string) {
	if k == nil {
		return s.log, name
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == s.log {
		return s.log, name
	}
	if name == transcript.Memory {
		return k.now, transcript.EarlierMemory
	}
	return k.now, transcript.EarlierObjects
}
