package mutants

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// habit is a twin whose SDK has a way of its own.
func habit(id, sentence string, way sdk) Twin {
	return Twin{ID: "handler/" + id, Sentence: sentence, Handler: offering(id, "", sentence, way).Handler}
}

// handlerHabits are handlers that are right, and use what the protocol leaves free:
// what it says a handler MAY do, and what the readings accept beside our own.
func handlerHabits() []Twin {
	served := []string{protocol.TransportRPC, protocol.TransportHTTP}
	responding := func(id, sentence string, respond func(http.ResponseWriter) http.ResponseWriter) Twin {
		return Twin{ID: "handler/" + id, Sentence: sentence, Transports: served,
			Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Respond: respond} }}
	}
	lasting := func(id, sentence string, write func(seconds float64) string) Twin {
		return Twin{ID: "handler/" + id, Sentence: sentence, Handler: emitting(id, "", sentence, lasting(write)).Handler}
	}
	return []Twin{
		{
			ID: "handler/is-the-smallest", Sentence: "It is the smallest handler of the SDK's page.", Features: minimalFeatures(),
			Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Code: fakehandler.Minimal} },
		},
		ignoring(habit("ignores-tags", "It gives its entries out without the tags of section 4.3, and has no typed events.",
			sdk{events: noEvents, entries: func(s fakehandler.Session) []fakehandler.Entry {
				entries := s.Entries()
				for i := range entries {
					entries[i].Event = ""
				}
				return entries
			}}), "typed-events"),
		ignoring(habit("ignores-lifecycle-events", "It has no typed events, of a lifecycle or other.", sdk{events: noEvents}), "typed-events"),
		ignoring(habit("shows-lifecycle-events", "Its reading call yields the lifecycle event behind the entries.",
			sdk{entries: func(s fakehandler.Session) []fakehandler.Entry {
				var last protocol.Input
				if events := s.Events(); len(events) > 0 && events[len(events)-1].Event != protocol.EventPush {
					last.Event = events[len(events)-1].Event
				}
				return append(s.Entries(), fakehandler.Entry{Input: last, Body: noBody})
			}}), "sdk-page"),
		ignoring(habit("leaves-values-untyped", "It writes texts, JSON and bytes without a content type, if they are not packed.",
			sdk{write: func(out protocol.Output) []protocol.Output {
				switch out.ContentType {
				case typeText, typeJSON, typeBytes:
					if out.ContentEncoding == "" {
						out.ContentType = ""
					}
				}
				return []protocol.Output{out}
			}}), "sdk-page"),
		lasting("sleeps-in-parts", "A duration is written in hours, minutes and seconds.", func(seconds float64) string {
			whole := int64(seconds)
			rest := strconv.FormatFloat(seconds-float64(whole/60*60), 'f', 9, 64)
			return fmt.Sprintf("%dh%dm%ss", whole/3600, whole/60%60, rest)
		}),
		lasting("sleeps-in-nanoseconds", "A duration is written in nanoseconds.", func(seconds float64) string {
			return strconv.FormatFloat(seconds*1e9, 'f', 0, 64) + "ns"
		}),
		{
			ID: "handler/refuses-nulls", Sentence: "A null in the place of a field of section 4 is a fault.",
			Handler: editingInputs("", "", "", func(o object) (object, error) {
				for _, m := range o {
					if m.value.Kind() == 'n' && isKnown(m.name) {
						return nil, errors.New("a null")
					}
				}
				return o, nil
			}).Handler,
		},
		{
			ID: "handler/fails-on-another-version", Sentence: "An invocation of another version of the protocol fails.",
			Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Input: failsOnAnotherVersion} },
		},
		{
			ID: "handler/fails-with-its-own-status", Sentence: "A failed invocation ends with exit status 70.",
			Transports: []string{protocol.TransportSubprocess},
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Status: func(err error) int {
					if err != nil {
						return 70
					}
					return 0
				}}
			},
		},
		{
			ID: "handler/reads-the-request-first", Sentence: "The whole request is read before a record of it is looked at.", Transports: served,
			Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Input: wholeInput} },
		},
		{
			ID: "handler/escapes-slashes", Sentence: "Slashes in strings are escaped, those of base64 too.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Output: writes(lined(func(_ int, raw []byte) []byte {
					return bytes.ReplaceAll(raw, []byte("/"), []byte(`\/`))
				}))}
			},
		},
		{
			ID: "handler/writes-everything-in-the-end", Sentence: "Its Outputs leave in one write, when it is done.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Output: func(w io.Writer) io.Writer { return &inTheEnd{w: w} }}
			},
		},
		{
			ID: "handler/pauses-behind-all-else", Sentence: "What it is told to pause for is written behind all other Outputs.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Output: func(w io.Writer) io.Writer { return &pausesLast{w: w} }}
			},
		},
		{
			ID: "handler/reads-slowly", Sentence: "It takes 20 ms before each of its first five reads of an input.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Input: func(r io.Reader) io.Reader { return &hesitant{r: r} }}
			},
		},
		{
			ID: "handler/keeps-one-table-for-all", Sentence: "What it is told of its invocations stands in one table, by the number of the invocation.",
			Handler: func() fakehandler.Agreement {
				var mu sync.Mutex
				table := []protocol.Identity{}
				return fakehandler.Agreement{Identity: func(own protocol.Identity) func() protocol.Identity {
					mu.Lock()
					defer mu.Unlock()
					number := len(table)
					table = append(table, own)
					return func() protocol.Identity {
						mu.Lock()
						defer mu.Unlock()
						return table[number]
					}
				}}
			},
		},
		ignoring(habit("shows-no-schema", "It does not give out the schema and the size of an entry.",
			sdk{entries: func(s fakehandler.Session) []fakehandler.Entry {
				entries := s.Entries()
				for i := range entries {
					entries[i].SchemaURL, entries[i].Size = "", 0
				}
				return entries
			}}), "schema-url"),
		{
			ID: "handler/writes-slowly", Sentence: "It takes 20 ms for each of its first Outputs.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Output: writes(lined(func(number int, raw []byte) []byte {
					if number <= 5 {
						time.Sleep(20 * time.Millisecond)
					}
					return raw
				}))}
			},
		},
		{
			ID: "handler/fetches-twice", Sentence: "Each body is fetched once more, after a HEAD.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Servers: asking(func(q *http.Request) {
					for _, method := range []string{http.MethodHead, http.MethodGet} {
						first := q.Clone(q.Context())
						first.Method = method
						if r, err := transport().RoundTrip(first); err == nil {
							_, _ = io.Copy(io.Discard, r.Body)
							r.Body.Close()
						}
					}
				})}
			},
		},
		{
			ID: "handler/keeps-connections", Sentence: "Connections to the servers are kept and used again.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Servers: &http.Transport{DisableCompression: true}}
			},
		},
		responding("answers-without-a-type", "Answers have no Content-Type.", func(w http.ResponseWriter) http.ResponseWriter {
			return &untyped{w}
		}),
		responding("breaks-off-on-failure", "A failed invocation is an answer with status 200 that breaks off.",
			func(w http.ResponseWriter) http.ResponseWriter { return &breaking{w} }),
		responding("fails-with-its-own-code", "A failed invocation is answered with status 422.",
			func(w http.ResponseWriter) http.ResponseWriter { return &unprocessable{w} }),
	}
}

func noEvents(fakehandler.Session) []fakehandler.Event { return nil }

// ignoring makes a twin that does not claim a feature.
func ignoring(t Twin, feature string) Twin {
	t.Features = slices.DeleteFunc(handlerFeatures(), func(f string) bool { return f == feature })
	return t
}

// failsOnAnotherVersion takes the announcement of another version for a fault.
func failsOnAnotherVersion(r io.Reader) io.Reader {
	leading := true
	return editInputs(r, func(o object) (object, error) {
		defer func() { leading = false }()
		metadata, _ := parse(o.value("metadata"))
		if leading && o.text("event") == protocol.EventProtocol && metadata.text("version") != "1" {
			return nil, fmt.Errorf("version %q of the protocol", metadata.text("version"))
		}
		return o, nil
	})
}

// hesitant waits before its first reads.
type hesitant struct {
	r     io.Reader
	reads int
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.reads++; h.reads <= 5 {
		time.Sleep(20 * time.Millisecond)
	}
	return h.r.Read(p)
}

// inTheEnd keeps what is written until it is closed.
type inTheEnd struct {
	w    io.Writer
	held bytes.Buffer
}

func (e *inTheEnd) Write(p []byte) (int, error) { return e.held.Write(p) }

func (e *inTheEnd) Close() error {
	_, err := e.w.Write(e.held.Bytes())
	return err
}

// pausesLast holds pauses back until it is closed.
type pausesLast struct {
	w    io.Writer
	held []byte
}

func (l *pausesLast) Write(p []byte) (int, error) {
	if o, err := parse(p); err == nil && o.text("content-type") == protocol.TypePause {
		l.held = append(l.held, p...)
		return len(p), nil
	}
	return l.w.Write(p)
}

func (l *pausesLast) Close() error {
	_, err := l.w.Write(l.held)
	return err
}

// untyped is an answer that does not say what it is.
type untyped struct{ http.ResponseWriter }

func (u *untyped) Write(p []byte) (int, error) {
	u.Header()["Content-Type"] = nil // or net/http guesses
	return u.ResponseWriter.Write(p)
}

// breaking breaks an answer off that tells of a failure.
type breaking struct{ http.ResponseWriter }

func (b *breaking) WriteHeader(status int) {
	if status < http.StatusInternalServerError {
		b.ResponseWriter.WriteHeader(status)
		return
	}
	b.Header().Set("Content-Type", "application/json")
	b.Header().Set("Content-Length", "1000")
	b.ResponseWriter.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(b.ResponseWriter, strings.Repeat(" ", 10))
	_ = http.NewResponseController(b.ResponseWriter).Flush()
	panic(http.ErrAbortHandler) // net/http's way to break a connection
}

// unprocessable answers a failure with another status.
type unprocessable struct{ http.ResponseWriter }

func (u *unprocessable) WriteHeader(status int) {
	if status == http.StatusInternalServerError {
		status = http.StatusUnprocessableEntity
	}
	u.ResponseWriter.WriteHeader(status)
}
