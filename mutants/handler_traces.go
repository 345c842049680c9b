package mutants

import (
	"encoding/hex"
	"net/http"
	"strings"
	"sync"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// The headers of the trace context (section 14).
const (
	headerParent = "traceparent"
	headerState  = "tracestate"
)

// tracing makes a handler whose fetches carry another trace context.
func tracing(id, requirement, sentence string, change func(*http.Request)) Mutant {
	return Mutant{
		ID: "handler/" + id, Requirement: requirement, Sentence: sentence,
		Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Servers: asking(change)} },
	}
}

// asking is a RoundTripper that changes what is asked.
type asking func(*http.Request)

func (a asking) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	a(q)
	return transport().RoundTrip(q)
}

func untraced(q *http.Request) {
	q.Header.Del(headerParent)
	q.Header.Del(headerState)
}

// handlerTraces lose the trace context of section 14.
func handlerTraces() []Mutant {
	return []Mutant{
		tracing("begins-a-trace-of-its-own", "P14/consume", "Fetches carry the context of a trace that the handler began.",
			func(q *http.Request) {
				untraced(q)
				q.Header.Set(headerParent, "00-"+hex.EncodeToString(randomBytes(16))+"-"+hex.EncodeToString(randomBytes(8))+"-01")
			}),
		tracing("drops-traces-with-a-state", "P14/consume", "A context that has a state beside it is not consumed.",
			func(q *http.Request) {
				if q.Header.Get(headerState) != "" {
					untraced(q)
				}
			}),
		{
			ID: "handler/keeps-the-first-trace", Requirement: "P14/consume",
			Sentence:   "The first context that ever came stands in place of those of later invocations.",
			Transports: []string{protocol.TransportRPC, protocol.TransportHTTP},
			Handler: func() fakehandler.Agreement {
				var once sync.Once
				first := ""
				return fakehandler.Agreement{Servers: asking(func(q *http.Request) {
					once.Do(func() { first = q.Header.Get(headerParent) })
					q.Header.Set(headerParent, first)
				})}
			},
		},
		tracing("fetches-without-a-trace", "P14/fetch-context", "Fetches carry no trace context.", untraced),
		tracing("drops-what-is-not-sampled", "P14/fetch-context", "A context that is not sampled is not carried onward.",
			func(q *http.Request) {
				if strings.HasSuffix(q.Header.Get(headerParent), "-00") {
					untraced(q)
				}
			}),
		tracing("reads-memory-without-a-trace", "P14/fetch-context", "Reads of memory carry no trace context.",
			func(q *http.Request) {
				if !strings.HasPrefix(q.URL.Path, "/sha256:") {
					untraced(q)
				}
			}),
	}
}
