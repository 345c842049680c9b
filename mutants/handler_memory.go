package mutants

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// memories is the requests of a handler to the memory servers that were announced
// to it; those to object servers are right.
type memories struct {
	mu    sync.Mutex
	roots []string
	// read makes the request for a key, decoded, below a root.
	read func(q *http.Request, root, key string) (*http.Response, error)
}

// readingMemory makes a handler whose reads of memory are another request.
func readingMemory(id, requirement, sentence string, read func(q *http.Request, root, key string) (*http.Response, error)) Mutant {
	return Mutant{
		ID: "handler/" + id, Requirement: requirement, Sentence: sentence,
		Handler: func() fakehandler.Agreement {
			m := &memories{read: read}
			return fakehandler.Agreement{Input: m.input, Servers: m}
		},
	}
}

func (m *memories) input(r io.Reader) io.Reader {
	return editInputs(r, func(o object) (object, error) {
		if root := o.text("url"); o.text("event") == protocol.EventMemory && root != "" {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.roots = append(m.roots, root)
		}
		return o, nil
	})
}

func (m *memories) RoundTrip(q *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, root := range m.roots {
		if rest, below := strings.CutPrefix(q.URL.String(), root); below {
			key, err := url.PathUnescape(rest)
			if err != nil {
				return nil, err
			}
			return m.read(q, root, key)
		}
	}
	return transport().RoundTrip(q)
}

// to is a request that goes somewhere else.
func to(q *http.Request, address string) (*http.Response, error) {
	target, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	next := q.Clone(q.Context())
	next.URL, next.Host = target, ""
	return transport().RoundTrip(next)
}

// segments makes a request for a key each segment of which is escaped in a way.
func segments(escape func(string) string) func(*http.Request, string, string) (*http.Response, error) {
	return func(q *http.Request, root, key string) (*http.Response, error) {
		parts := strings.Split(key, "/")
		for i := range parts {
			parts[i] = escape(parts[i])
		}
		return to(q, root+strings.Join(parts, "/"))
	}
}

// handlerMemory read memory in another way than section 8 says.
func handlerMemory() []Mutant {
	return []Mutant{
		{
			ID: "handler/keeps-the-first-root", Requirement: "P8.1/base-url",
			Sentence:   "The first root of a memory server that was ever announced is used in all later invocations.",
			Transports: []string{protocol.TransportRPC, protocol.TransportHTTP},
			Handler: func() fakehandler.Agreement {
				m := &memories{}
				m.read = func(q *http.Request, _, key string) (*http.Response, error) {
					return segments(url.PathEscape)(q, m.roots[0], key)
				}
				return fakehandler.Agreement{Input: m.input, Servers: m}
			},
		},
		readingMemory("reads-below-the-usual-root", "P8.3/read", "Memory is read below /memories/, whatever root was announced.",
			func(q *http.Request, root, key string) (*http.Response, error) {
				base, err := url.Parse(root)
				if err != nil {
					return nil, err
				}
				return segments(url.PathEscape)(q, "http://"+base.Host+"/memories/", key)
			}),
		readingMemory("writes-spaces-as-pluses", "P8.3/read", "A key is escaped like a form, where a space is a plus.",
			segments(url.QueryEscape)),
		readingMemory("leaves-keys-as-they-are", "P8.3/read", "A key is appended to the root without being escaped.",
			func(q *http.Request, root, key string) (*http.Response, error) { return to(q, root+key) }),
		readingMemory("escapes-keys-twice", "P8.3/read", "A key is escaped twice.",
			segments(func(segment string) string { return url.PathEscape(url.PathEscape(segment)) })),
		readingMemory("reads-ascii-keys", "P8.3/read", "A key that is not ASCII is a fault.",
			func(q *http.Request, _, key string) (*http.Response, error) {
				if ascii(key) != key {
					return nil, errors.New("a key that is not ASCII")
				}
				return transport().RoundTrip(q)
			}),
		readingMemory("reads-as-long-as-announced", "P8.3/read", "Of an answer as much is read as its Content-Length says, and nothing of one that has none.",
			func(q *http.Request, _, _ string) (*http.Response, error) {
				r, err := transport().RoundTrip(q)
				if err == nil && r.ContentLength < 0 {
					r.Body.Close()
					r.Body = http.NoBody
				}
				return r, err
			}),
		readingMemory("knows-namespaces-without-slashes", "P8.3/read", "Of a namespace only its first segment is asked for.",
			func(q *http.Request, root, key string) (*http.Response, error) {
				parts := strings.Split(key, "/")
				return segments(url.PathEscape)(q, root, parts[0]+"/"+parts[len(parts)-1])
			}),
		readingMemory("needs-memory-to-have-a-body", "P8.3/read", "A memory object without a byte is a fault.",
			func(q *http.Request, _, _ string) (*http.Response, error) {
				r, err := transport().RoundTrip(q)
				if err == nil && isSuccess(r) && r.ContentLength == 0 {
					r.Body.Close()
					return nil, errors.New("an empty body")
				}
				return r, err
			}),
	}
}
