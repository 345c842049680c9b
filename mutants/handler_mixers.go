package mutants

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"sync"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// handlerMixers are handlers that keep in one place for all what belongs to one
// invocation. They are right as long as no two are in flight. That is tried in RPC
// mode: over http the cases of this package that run at the same time share the
// handler, which they never do with a subject of a user.
func handlerMixers() []Mutant {
	mixing := func(id, requirement, sentence string, handler func() fakehandler.Agreement) Mutant {
		return Mutant{
			ID: "handler/" + id, Requirement: requirement, Sentence: sentence, Handler: handler,
			Transports: []string{protocol.TransportRPC},
		}
	}
	return []Mutant{
		mixing("tells-who-began-last", "P13/identity-available",
			"Handler code is told the identity of the invocation that began last.",
			func() fakehandler.Agreement {
				var mu sync.Mutex
				var latest protocol.Identity
				return fakehandler.Agreement{Identity: func(own protocol.Identity) func() protocol.Identity {
					mu.Lock()
					defer mu.Unlock()
					latest = own
					return func() protocol.Identity {
						mu.Lock()
						defer mu.Unlock()
						return latest
					}
				}}
			}),
		mixing("reads-into-one-log", "P2/same-format",
			"What invocations in flight read goes into one log, which the first to begin takes whole.",
			func() fakehandler.Agreement {
				log := &oneLog{}
				return fakehandler.Agreement{Input: func(r io.Reader) io.Reader {
					return &pooled{log: log, decoder: protocol.NewInputDecoder(r)}
				}}
			}),
		mixing("keeps-the-latest-root", "P8.3/read",
			"Memory is read below the root that was announced last, to whichever invocation.",
			func() fakehandler.Agreement {
				m := &memories{}
				m.read = func(q *http.Request, _, key string) (*http.Response, error) {
					return segments(url.PathEscape)(q, m.roots[len(m.roots)-1], key)
				}
				return fakehandler.Agreement{Input: m.input, Servers: m}
			}),
		mixing("writes-to-the-latest-answer", "P2/same-format",
			"All Outputs go into the answer to the invocation that began last.",
			func() fakehandler.Agreement {
				answers := &latestAnswer{}
				return fakehandler.Agreement{Output: answers.begin}
			}),
		mixing("empties-one-list-of-outputs", "P2/same-format",
			"Outputs of all invocations go into one list, which each takes whole and empties when it answers.",
			func() fakehandler.Agreement {
				list := &oneList{}
				return fakehandler.Agreement{Output: func(w io.Writer) io.Writer { return &listed{of: list, w: w} }}
			}),
	}
}

// oneLog is the entries that invocations in flight have read, and none has taken.
type oneLog struct {
	mu      sync.Mutex
	entries []byte
}

func (l *oneLog) add(record []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(append(l.entries, record...), '\n')
}

func (l *oneLog) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.entries
	l.entries = nil
	return taken
}

// pooled is the stream of an invocation that adds its entries to the log, and takes
// the log when it may begin.
type pooled struct {
	log     *oneLog
	decoder *protocol.Decoder[protocol.Input]
	pending []byte
	err     error
}

func (s *pooled) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		record, err := s.decoder.Next()
		switch event := record.Value.Event; {
		case err != nil:
			s.pending, s.err = s.log.take(), err
		case event == "" || event == protocol.EventPush:
			s.log.add(record.Raw)
		case event == protocol.EventMemory:
			s.pending = append(bytes.Clone(record.Raw), '\n')
		default:
			s.pending = append(append(s.log.take(), record.Raw...), '\n')
		}
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// latestAnswer is the answer to the invocation that began last.
type latestAnswer struct {
	mu  sync.Mutex
	now *heldAnswer
}

// heldAnswer is an answer that leaves when its invocation is done.
type heldAnswer struct {
	of   *latestAnswer
	w    io.Writer
	held []byte
}

func (l *latestAnswer) begin(w io.Writer) io.Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = &heldAnswer{of: l, w: w}
	return l.now
}

func (a *heldAnswer) Write(p []byte) (int, error) {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.of.now.held = append(a.of.now.held, p...)
	return len(p), nil
}

func (a *heldAnswer) Close() error {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	_, err := a.w.Write(a.held)
	return err
}

// oneList is the Outputs that no answer has taken yet.
type oneList struct {
	mu      sync.Mutex
	outputs []byte
}

// listed is an answer that takes what is in the list when its invocation is done.
type listed struct {
	of *oneList
	w  io.Writer
}

func (l *listed) Write(p []byte) (int, error) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.outputs = append(l.of.outputs, p...)
	return len(p), nil
}

func (l *listed) Close() error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	_, err := l.w.Write(l.of.outputs)
	l.of.outputs = nil
	return err
}
