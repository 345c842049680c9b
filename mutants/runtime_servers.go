package mutants

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeServers serve bodies otherwise than section 7 says.
func runtimeServers() []Mutant {
	return slices.Concat(runtimeReach(), runtimeAnswers(), runtimeUnknowns(), runtimeInlines())
}

// serving makes a runtime whose two servers answer through a wrapper.
func serving(objects, memory func(http.Handler) http.Handler) func() *stage.Reference {
	return func() *stage.Reference {
		return &stage.Reference{Runtime: func(r *reference.Runtime) { r.ObjectServer, r.MemoryServer = objects, memory }}
	}
}

// reanswered wraps a server so that its whole answers can be changed.
func reanswered(change func(q *http.Request, answer *httptest.ResponseRecorder)) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, q)
			change(q, answer)
			for name, values := range answer.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
	}
}

// hangUp breaks the connection off.
func hangUp() { panic(http.ErrAbortHandler) }

func runtimeReach() []Mutant {
	const idle = 400 * time.Millisecond
	return []Mutant{
		{
			ID: "runtime/closes-its-servers-early", Requirement: "P7/reachable",
			Sentence: "The two servers are gone soon after the input has ended.",
			Runtime: func() *stage.Reference {
				return &stage.Reference{Within: func(engine *reference.Runtime, t reference.Transport) reference.Transport {
					var ended atomic.Int64
					gate := func(h http.Handler) http.Handler {
						return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
							if at := ended.Load(); at > 0 && time.Since(time.Unix(0, at)) > idle {
								hangUp()
							}
							h.ServeHTTP(w, q)
						})
					}
					engine.ObjectServer, engine.MemoryServer = gate, gate
					return invoking(func(ctx context.Context, invocation reference.Invocation) error {
						ended.Store(0)
						inputs := invocation.Inputs
						invocation.Inputs = func(yield func(protocol.Input, error) bool) {
							inputs(yield)
							ended.Store(time.Now().UnixNano())
						}
						return t.Invoke(ctx, invocation)
					})
				}}
			},
		},
		{
			ID: "runtime/refuses-a-second-request", Requirement: "P7/reachable",
			Sentence: "While a server answers one request it breaks others off.",
			Runtime:  serving(oneAtATime, oneAtATime),
		},
		{
			ID: "runtime/serves-what-was-read", Requirement: "P7/reachable",
			Sentence: "A body is served when all the input has been taken, and not before.",
			Runtime: func() *stage.Reference {
				return &stage.Reference{Within: func(engine *reference.Runtime, t reference.Transport) reference.Transport {
					var whole atomic.Bool
					engine.ObjectServer = func(h http.Handler) http.Handler {
						return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
							if !whole.Load() {
								http.Error(w, "too early", http.StatusServiceUnavailable)
								return
							}
							h.ServeHTTP(w, q)
						})
					}
					return invoking(func(ctx context.Context, invocation reference.Invocation) error {
						whole.Store(false)
						time.AfterFunc(idle/2, func() { whole.Store(true) })
						return t.Invoke(ctx, invocation)
					})
				}}
			},
		},
	}
}

// oneAtATime serves one request at a time, each for a while.
func oneAtATime(h http.Handler) http.Handler {
	var busy atomic.Bool
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !busy.CompareAndSwap(false, true) {
			hangUp()
		}
		defer busy.Store(false)
		time.Sleep(20 * time.Millisecond)
		h.ServeHTTP(w, q)
	})
}

func runtimeAnswers() []Mutant {
	found := func(id, sentence string, change func(answer *httptest.ResponseRecorder)) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: "P7/success-response", Sentence: sentence,
			Runtime: serving(reanswered(func(_ *http.Request, answer *httptest.ResponseRecorder) {
				if answer.Code == http.StatusOK {
					change(answer)
				}
			}), nil),
		}
	}
	return []Mutant{
		found("answers-with-203", "A body is served with status 203.", func(answer *httptest.ResponseRecorder) {
			answer.Code = http.StatusNonAuthoritativeInfo
		}),
		found("serves-no-content-type", "A body is served without a Content-Type.", func(answer *httptest.ResponseRecorder) {
			answer.Header()["Content-Type"] = nil // else net/http guesses one
		}),
		found("serves-bare-content-types", "The parameters of a content type are not served.", func(answer *httptest.ResponseRecorder) {
			bare, _, _ := strings.Cut(answer.Header().Get("Content-Type"), ";")
			answer.Header().Set("Content-Type", bare)
		}),
		found("guesses-content-types", "The Content-Type of a body is guessed from its bytes.", func(answer *httptest.ResponseRecorder) {
			answer.Header().Set("Content-Type", http.DetectContentType(answer.Body.Bytes()))
		}),
		found("names-no-encoding", "A packed body is served without its Content-Encoding.", func(answer *httptest.ResponseRecorder) {
			answer.Header().Del("Content-Encoding")
		}),
		found("unpacks-bodies", "A packed body is served unpacked.", func(answer *httptest.ResponseRecorder) {
			var plain bytes.Buffer
			encoding := answer.Header().Get("Content-Encoding")
			if r, err := protocol.Decompress(encoding, bytes.NewReader(answer.Body.Bytes())); encoding != "" && err == nil {
				_, _ = plain.ReadFrom(r)
				answer.Body = &plain
				answer.Header().Del("Content-Encoding")
				answer.Header().Set("Content-Length", strconv.Itoa(plain.Len()))
			}
		}),
		found("guesses-encodings", "A body that looks packed is served with a Content-Encoding.", func(answer *httptest.ResponseRecorder) {
			if bytes.HasPrefix(answer.Body.Bytes(), []byte("\x1f\x8b")) {
				answer.Header().Set("Content-Encoding", protocol.CodingGzip)
			}
		}),
		found("serves-long-bodies-cut", "Of a body of more than 4000 bytes the beginning is served.", func(answer *httptest.ResponseRecorder) {
			answer.Body.Truncate(min(answer.Body.Len(), 4000))
			answer.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
		}),
	}
}

func runtimeUnknowns() []Mutant {
	missing := func(id, sentence string, objects, memory func(q *http.Request, answer *httptest.ResponseRecorder)) Mutant {
		wrap := func(change func(*http.Request, *httptest.ResponseRecorder)) func(http.Handler) http.Handler {
			return reanswered(func(q *http.Request, answer *httptest.ResponseRecorder) {
				if change != nil && answer.Code == http.StatusNotFound {
					change(q, answer)
				}
			})
		}
		return Mutant{
			ID: "runtime/" + id, Requirement: "P7/unknown-404", Sentence: sentence,
			Runtime: serving(wrap(objects), wrap(memory)),
		}
	}
	empty := func(_ *http.Request, answer *httptest.ResponseRecorder) {
		answer.Code = http.StatusOK
		answer.Body.Reset()
		answer.Header().Del("Content-Type")
	}
	status := func(code int) func(*http.Request, *httptest.ResponseRecorder) {
		return func(_ *http.Request, answer *httptest.ResponseRecorder) { answer.Code = code }
	}
	return []Mutant{
		missing("serves-unknown-objects-empty", "An unknown object is served as an empty body.", empty, nil),
		missing("serves-unknown-memory-empty", "An unknown memory object is served as an empty body.", nil, empty),
		missing("fails-on-unknown-objects", "An unknown object is answered with 500.", status(http.StatusInternalServerError), nil),
		missing("has-no-content-for-unknown-memory", "An unknown memory object is answered with 204.", nil, func(_ *http.Request, answer *httptest.ResponseRecorder) {
			answer.Code = http.StatusNoContent
			answer.Body.Reset()
		}),
		missing("calls-unknown-objects-gone", "An unknown object is answered with 410.", status(http.StatusGone), nil),
		missing("answers-odd-paths-with-an-index", "A path that is no digest is answered with a page.", func(q *http.Request, answer *httptest.ResponseRecorder) {
			if !protocol.ValidDigest(strings.TrimPrefix(q.URL.Path, "/")) {
				answer.Code = http.StatusOK
			}
		}, nil),
		{
			ID: "runtime/reads-digests-from-the-head-of-a-path", Requirement: "P7/unknown-404",
			Sentence: "What stands in a path behind a digest is not looked at.",
			Runtime: func() *stage.Reference {
				return &stage.Reference{Within: func(engine *reference.Runtime, t reference.Transport) reference.Transport {
					engine.ObjectServer = func(h http.Handler) http.Handler {
						return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
							if head, _, cut := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), "/"); cut && protocol.ValidDigest(head) {
								w.WriteHeader(http.StatusOK)
								return
							}
							h.ServeHTTP(w, q)
						})
					}
					return t
				}}
			},
		},
	}
}

func runtimeInlines() []Mutant {
	// inlining sets the data of Inputs; change is given the stored body.
	inlining := func(id, requirement, sentence string, change func(l logged, body []byte) []byte) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: func() *stage.Reference {
				return feedingPast(func(ctx context.Context, p *past) error {
					for _, l := range p.log {
						if l.input == nil {
							continue
						}
						body, err := bodyOf(ctx, p.engine, l.LogEntry)
						if err != nil {
							return err
						}
						l.input.Data = change(l, body)
					}
					return nil
				})
			},
		}
	}
	upTo := func(limit int) func(logged, []byte) []byte {
		return func(_ logged, body []byte) []byte {
			if len(body) > limit {
				return nil
			}
			return body
		}
	}
	small := func(change func(l logged, body []byte) []byte) func(logged, []byte) []byte {
		return func(l logged, body []byte) []byte {
			if len(body) > storage.InlineLimit {
				return nil
			}
			return change(l, body)
		}
	}
	return []Mutant{
		inlining("inlines-everything", "P7.1/inline-limit",
			"Every body is inlined.", func(_ logged, body []byte) []byte { return body }),
		inlining("inlines-a-byte-too-much", "P7.1/inline-limit",
			"A body of 1025 bytes is inlined.", upTo(storage.InlineLimit+1)),
		inlining("inlines-the-head-of-long-bodies", "P7.1/inline-limit",
			"Of a body that is too long to be inlined the beginning is.", func(_ logged, body []byte) []byte {
				return body[:min(len(body), storage.InlineLimit)]
			}),
		inlining("inlines-unpacked-bodies", "P7.1/identical",
			"The data of a packed body is unpacked, and what is behind its url is not.", small(func(l logged, body []byte) []byte {
				var plain bytes.Buffer
				if r, err := protocol.Decompress(l.ContentEncoding, bytes.NewReader(body)); err == nil {
					_, err = plain.ReadFrom(r)
					if err != nil {
						return body
					}
				}
				return plain.Bytes()
			})),
		inlining("cuts-inlined-bodies", "P7.1/identical",
			"Of an inlined body of more than 1000 bytes the data has the beginning.", small(func(_ logged, body []byte) []byte {
				return body[:min(len(body), 1000)]
			})),
		inlining("ends-inlined-text-with-a-line-feed", "P7.1/identical",
			"The data of a text ends in an LF that the body has not.", small(func(l logged, body []byte) []byte {
				if !strings.HasPrefix(l.ContentType, "text/") || l.ContentEncoding != "" || len(body) == storage.InlineLimit {
					return body
				}
				return append(body, '\n')
			})),
	}
}
