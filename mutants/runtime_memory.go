package mutants

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeMemory write and read memory otherwise than section 8 says.
func runtimeMemory() []Mutant {
	return slices.Concat(runtimeKeys(), runtimeMemoryWrites(), runtimeMemoryReplacing(), runtimeMemoryRaces())
}

const memoryRoot = "/" + protocol.MemoryPrefix

// lookup answers a request for a memory key as the usual server does.
type lookup func(key string) *httptest.ResponseRecorder

// resolving makes a runtime whose memory server finds other objects. Keys are as they
// stand in the path, escapes and all.
func resolving(id, requirement, sentence string, find func(key string, usual lookup) *httptest.ResponseRecorder) Mutant {
	return Mutant{
		ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
		Runtime: serving(nil, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				key, is := strings.CutPrefix(q.URL.EscapedPath(), memoryRoot)
				if !is {
					h.ServeHTTP(w, q)
					return
				}
				answer := find(key, func(key string) *httptest.ResponseRecorder {
					other := q.Clone(q.Context())
					other.URL = &url.URL{RawPath: memoryRoot + key}
					other.URL.Path, _ = url.PathUnescape(other.URL.RawPath)
					answer := httptest.NewRecorder()
					h.ServeHTTP(answer, other)
					return answer
				})
				for name, values := range answer.Header() {
					w.Header()[name] = values
				}
				w.WriteHeader(answer.Code)
				_, _ = w.Write(answer.Body.Bytes())
			})
		}),
	}
}

func runtimeKeys() []Mutant {
	missing := func(answer *httptest.ResponseRecorder) bool { return answer.Code == http.StatusNotFound }
	// prefixes is the last segment of a key in its namespace, and in all that are
	// prefixes of that, the longest first.
	prefixes := func(key string) (list []string) {
		segments := strings.Split(key, "/")
		for n := len(segments) - 1; n > 0; n-- {
			list = append(list, strings.Join(segments[:n], "/")+"/"+segments[len(segments)-1])
		}
		return list
	}
	first := func(keys []string, usual lookup) (answer *httptest.ResponseRecorder) {
		for _, key := range keys {
			if answer = usual(key); !missing(answer) {
				break
			}
		}
		return answer
	}
	return []Mutant{
		resolving("ignores-what-follows-an-object-name", "P8.2/object-name",
			"A key that goes on behind an object name is that object.", func(key string, usual lookup) *httptest.ResponseRecorder {
				answer := usual(key)
				for at := strings.LastIndexByte(key, '/'); missing(answer) && at > 0; at = strings.LastIndexByte(key, '/') {
					if key = key[:at]; !strings.Contains(key, "/") {
						break
					}
					answer = usual(key)
				}
				return answer
			}),
		resolving("trims-slashes-off-keys", "P8.2/object-name",
			"A slash at the end of a key is passed over.", func(key string, usual lookup) *httptest.ResponseRecorder {
				return usual(strings.TrimRight(key, "/"))
			}),
		{
			ID: "runtime/divides-names-at-their-first-slash", Requirement: "P8.2/object-name",
			Sentence: "The first segment of a written name is the namespace, and the last one the object.",
			Runtime: taken(func(out protocol.Output) protocol.Output {
				if segments := strings.Split(out.Name, "/"); len(segments) > 3 && segments[0]+"/" == protocol.MemoryPrefix {
					out.Name = protocol.MemoryPrefix + segments[1] + "/" + segments[len(segments)-1]
				}
				return out
			}),
		},
		resolving("falls-back-to-shorter-namespaces", "P8.2/longest-prefix",
			"A key whose object is not in the longest namespace is looked for in the shorter ones.", func(key string, usual lookup) *httptest.ResponseRecorder {
				return first(prefixes(key), usual)
			}),
		resolving("takes-the-shortest-namespace", "P8.2/longest-prefix",
			"A key belongs to the shortest namespace that is its prefix.", func(key string, usual lookup) *httptest.ResponseRecorder {
				keys := prefixes(key)
				slices.Reverse(keys)
				return first(keys, usual)
			}),
		namespacesByAge("takes-the-oldest-namespace",
			"Of the namespaces that are prefixes of a key the one counts that was written first.", func([]string) {}),
		namespacesByAge("takes-the-youngest-namespace",
			"Of the namespaces that are prefixes of a key the one counts that was written last.", slices.Reverse[[]string]),
		resolving("knows-namespaces-by-their-first-letters", "P8.2/longest-prefix",
			"A namespace is the prefix of keys that go on without a slash.", func(key string, usual lookup) *httptest.ResponseRecorder {
				namespace, object, _ := strings.Cut(key, "/")
				for n := 1; n < len(namespace); n++ {
					if answer := usual(namespace[:n] + "/" + object); !missing(answer) {
						return answer
					}
				}
				return usual(key)
			}),
	}
}

// namespacesByAge looks for a key in the first namespace, in an order, that is a
// prefix of the key, and nowhere else.
func namespacesByAge(id, sentence string, order func(namespaces []string)) Mutant {
	return Mutant{
		ID: "runtime/" + id, Requirement: "P8.2/longest-prefix", Sentence: sentence,
		Runtime: func() *stage.Reference {
			return remembering(
				func(before []string, invocation [][2]string) []string {
					for _, key := range invocation {
						if !slices.Contains(before, key[0]) {
							before = append(before, key[0])
						}
					}
					return before
				},
				func(namespaces []string, key string) bool {
					namespaces = slices.Clone(namespaces)
					order(namespaces)
					for _, namespace := range namespaces {
						if rest, is := strings.CutPrefix(key, namespace+"/"); is {
							return !strings.Contains(rest, "/")
						}
					}
					return true
				})
		},
	}
}

// remembering makes a runtime that remembers something of the memory writes of a
// store, invocation by invocation, and answers with 404 for the keys that has says no of.
// A write is a namespace and an object name.
func remembering(write func(before []string, invocation [][2]string) []string, has func(kept []string, key string) bool) *stage.Reference {
	var mu sync.Mutex
	memories := map[storage.Bucket][]string{}
	r := carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
		var writes [][2]string
		take := invocation.Output
		invocation.Output = func(record protocol.Record[protocol.Output]) error {
			if namespace, object, ok := protocol.SplitMemoryName(record.Value.Name); ok {
				writes = append(writes, [2]string{namespace, object})
			}
			return take(record)
		}
		err := by.Invoke(ctx, invocation)
		if err == nil && len(writes) > 0 {
			mu.Lock()
			defer mu.Unlock()
			memories[by.engine.Store.Bucket] = write(memories[by.engine.Store.Bucket], writes)
		}
		return err
	})
	r.Runtime = func(engine *reference.Runtime) {
		engine.MemoryServer = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				mu.Lock()
				kept := memories[engine.Store.Bucket]
				mu.Unlock()
				if key, is := strings.CutPrefix(q.URL.Path, memoryRoot); is && !has(kept, key) {
					http.NotFound(w, q)
					return
				}
				h.ServeHTTP(w, q)
			})
		}
	}
	return r
}

func runtimeMemoryWrites() []Mutant {
	isMemory := func(out protocol.Output) bool { return strings.HasPrefix(out.Name, protocol.MemoryPrefix) }
	asEntry := func(out protocol.Output) protocol.Output {
		out.Name = strings.TrimPrefix(out.Name, protocol.MemoryPrefix)
		return out
	}
	return []Mutant{
		hearing("logs-memory-writes", "P8.4/routed",
			"A memory write is an entry of the session's log too.", func() ear {
				return ear{hear: func(out protocol.Output) []protocol.Output {
					if isMemory(out) {
						return []protocol.Output{out, asEntry(out)}
					}
					return kept(out)
				}}
			}),
		hearing("takes-memory-writes-for-entries", "P8.4/routed",
			"A memory write is an entry of the session's log, and no more.", func() ear {
				return ear{hear: func(out protocol.Output) []protocol.Output {
					if isMemory(out) {
						out = asEntry(out)
					}
					return kept(out)
				}}
			}),
		hearing("drops-writes-of-bodies-that-are-there", "P8.4/deduplicated",
			"A memory write whose body was written before is dropped.", func() ear {
				seen := map[string]bool{}
				return ear{hear: func(out protocol.Output) []protocol.Output {
					digest := protocol.Digest(out.Data)
					defer func() { seen[digest] = true }()
					if isMemory(out) && seen[digest] {
						return nil
					}
					return kept(out)
				}}
			}),
		hearing("keeps-one-content-type-for-a-body", "P8.4/deduplicated",
			"A memory object has the content type that its body was first written with.", func() ear {
				types := map[string]string{}
				return ear{hear: func(out protocol.Output) []protocol.Output {
					digest := protocol.Digest(out.Data)
					if first, known := types[digest]; known && isMemory(out) {
						out.ContentType = first
					}
					types[digest] = out.ContentType
					return kept(out)
				}}
			}),
		{
			ID: "runtime/commits-a-version-for-memory-writes", Requirement: "P8.4/no-version",
			Sentence: "An invocation that wrote to memory alone adds a version without entries.",
			Runtime: func() *stage.Reference {
				return afterMemoryAlone(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
					next := invocation.Identity.Snapshot + 1
					return by.engine.Store.Commit(ctx, invocation.Identity.Session, storage.Snapshot{
						Head: storage.Head{Version: next, Type: storage.Normal, Invoked: next},
					})
				})
			},
		},
		{
			ID: "runtime/goes-on-after-memory-writes", Requirement: "P8.4/no-version",
			Sentence: "A run goes on when an invocation has written to memory alone.",
			Runtime: func() *stage.Reference {
				return afterMemoryAlone(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
					return by.Invoke(ctx, invocation)
				})
			},
		},
	}
}

// afterMemoryAlone does something after each invocation that wrote to memory and
// nothing else.
func afterMemoryAlone(then func(context.Context, carrier, reference.Invocation) error) *stage.Reference {
	return carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
		memory, others := 0, 0
		counted := invocation
		counted.Output = func(record protocol.Record[protocol.Output]) error {
			if _, _, ok := protocol.SplitMemoryName(record.Value.Name); ok {
				memory++
			} else if !record.Value.IsZero() {
				others++
			}
			return invocation.Output(record)
		}
		if err := by.Invoke(ctx, counted); err != nil || memory == 0 || others > 0 {
			return err
		}
		return then(ctx, by, invocation)
	})
}

func runtimeMemoryReplacing() []Mutant {
	return []Mutant{
		hearing("keeps-the-first-write-of-an-invocation", "P8.4/replaces",
			"Of the writes of one invocation to a name the first counts.", func() ear {
				seen := map[string]bool{}
				return ear{hear: func(out protocol.Output) []protocol.Output {
					if _, _, ok := protocol.SplitMemoryName(out.Name); ok && seen[out.Name] {
						return nil
					}
					seen[out.Name] = true
					return kept(out)
				}}
			}),
		{
			ID: "runtime/keeps-the-first-write-to-a-name", Requirement: "P8.4/replaces",
			Sentence: "A write to a name that exists changes nothing.",
			Runtime: func() *stage.Reference {
				return heard(func(ctx context.Context, by carrier) ear {
					return ear{hear: func(out protocol.Output) []protocol.Output {
						if key, is := strings.CutPrefix(out.Name, protocol.MemoryPrefix); is {
							if _, err := by.engine.MemoryObject(ctx, key); err == nil {
								return nil
							}
						}
						return kept(out)
					}}
				})
			},
		},
		{
			ID: "runtime/replaces-the-whole-namespace", Requirement: "P8.4/replaces",
			Sentence: "An invocation that writes to a namespace drops the names that it does not write.",
			Runtime: func() *stage.Reference {
				return remembering(
					func(before []string, invocation [][2]string) []string {
						written := func(key string) bool {
							return slices.ContainsFunc(invocation, func(w [2]string) bool { return strings.HasPrefix(key, w[0]+"/") })
						}
						kept := slices.DeleteFunc(slices.Clone(before), written)
						for _, w := range invocation {
							kept = append(kept, w[0]+"/"+w[1])
						}
						return kept
					},
					slices.Contains[[]string])
			},
		},
		{
			ID: "runtime/folds-the-case-of-memory-names", Requirement: "P8.4/replaces",
			Sentence: "Names of memory objects that differ in letter case only are one name.",
			Runtime: taken(func(out protocol.Output) protocol.Output {
				if strings.HasPrefix(out.Name, protocol.MemoryPrefix) {
					out.Name = strings.ToLower(out.Name)
				}
				return out
			}),
		},
	}
}

func runtimeMemoryRaces() []Mutant {
	return []Mutant{{
		ID: "runtime/loses-memory-writes-that-conflict", Requirement: "P8.4/serialised",
		Sentence: "A write to a namespace that meets another one is lost.",
		Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return hasty{b} }),
	}}
}

// hasty tries each version of a namespace once. It takes its time between finding
// out which one is next and writing it.
type hasty struct{ storage.Bucket }

func (h hasty) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		h.Bucket.List(ctx, prefix)(yield)
		if strings.HasPrefix(prefix, protocol.MemoryPrefix) {
			time.Sleep(40 * time.Millisecond)
		}
	}
}

func (h hasty) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	err := h.Bucket.Put(ctx, key, body)
	if err != nil && strings.HasPrefix(key, protocol.MemoryPrefix) {
		return nil
	}
	return err
}
