package mutants

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
)

// servingTwins are runtimes whose servers of section 7 are right and unusual.
func servingTwins() []Twin {
	return []Twin{
		{
			ID: "runtime/serves-http-1-0", Sentence: "Both servers speak HTTP/1.0, and the end of the connection ends a body.",
			Runtime: serving(speaksHTTP10, speaksHTTP10),
		},
		{
			ID: "runtime/serves-in-chunks", Sentence: "Both servers answer in chunks, without a Content-Length.",
			Runtime: serving(servesChunks, servesChunks),
		},
		{
			ID: "runtime/serves-the-first-type-of-a-body", Sentence: "Equal bodies with several content types are served with the first (R48).",
			Runtime: servesFirstTypes,
		},
		{
			ID: "runtime/serves-every-stored-body", Sentence: "Bodies of other sessions are served too (R52).",
			Runtime: servesAll,
		},
		{
			ID: "runtime/serves-memory-as-it-was", Sentence: "Memory is read as it was when the invocation began (R52).",
			Runtime: servesOldMemory,
		},
	}
}

// speaksHTTP10 answers each request on its connection in HTTP/1.0, without a
// length, and closes it.
func speaksHTTP10(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, q)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			hangUp()
		}
		defer conn.Close()
		answer.Header().Del("Content-Length")
		var head bytes.Buffer
		fmt.Fprintf(&head, "HTTP/1.0 %d %s\r\n", answer.Code, http.StatusText(answer.Code))
		_ = answer.Header().Write(&head)
		head.WriteString("\r\n")
		_, _ = io.Copy(conn, io.MultiReader(&head, answer.Body))
	})
}

// servesChunks flushes each answer piece by piece.
func servesChunks(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, q)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = (&chunked{w}).Write(answer.Body.Bytes())
	})
}

// servesFirstTypes remembers with which type each body of a log came first.
func servesFirstTypes() *stage.Reference {
	return &stage.Reference{Within: func(engine *reference.Runtime, t reference.Transport) reference.Transport {
		var mu sync.Mutex
		types := map[string]string{}
		engine.ObjectServer = reanswered(func(q *http.Request, answer *httptest.ResponseRecorder) {
			mu.Lock()
			defer mu.Unlock()
			if first, known := types[strings.TrimPrefix(q.URL.Path, "/")]; known && answer.Code == http.StatusOK && first != "" {
				answer.Header().Set("Content-Type", first)
			}
		})
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			for entry, err := range engine.Log(ctx, invocation.Identity.Session) {
				if err != nil {
					return err
				}
				mu.Lock()
				if _, known := types[entry.Digest]; !known && entry.Replayed() {
					types[entry.Digest] = entry.ContentType
				}
				mu.Unlock()
			}
			return t.Invoke(ctx, invocation)
		})
	}}
}

// servesAll serves what the store has, whoever's it is.
func servesAll() *stage.Reference {
	return &stage.Reference{Within: func(engine *reference.Runtime, t reference.Transport) reference.Transport {
		engine.ObjectServer = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				answer := httptest.NewRecorder()
				h.ServeHTTP(answer, q)
				digest := strings.TrimPrefix(q.URL.EscapedPath(), "/")
				if answer.Code == http.StatusNotFound && protocol.ValidDigest(digest) {
					if body, err := engine.Store.OpenBody(q.Context(), digest); err == nil {
						defer body.Close()
						w.Header().Set("Content-Type", "application/octet-stream")
						_, _ = io.Copy(w, body)
						return
					}
				}
				h.ServeHTTP(w, q)
			})
		}
		return t
	}}
}

// servesOldMemory serves a copy of all memory that each invocation makes.
func servesOldMemory() *stage.Reference {
	type object struct {
		reference.MemoryObject
		body []byte
	}
	return &stage.Reference{Within: func(engine *reference.Runtime, t reference.Transport) reference.Transport {
		var mu sync.Mutex
		memory := map[string]object{}
		engine.MemoryServer = func(usual http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				key := strings.TrimPrefix(q.URL.Path, memoryRoot)
				mu.Lock()
				found, is := memory[key]
				mu.Unlock()
				if !is || strings.Contains(strings.ToLower(q.URL.EscapedPath()), "%2f") || q.Method != http.MethodGet {
					if is || q.Method != http.MethodGet {
						usual.ServeHTTP(w, q)
						return
					}
					http.NotFound(w, q)
					return
				}
				w.Header().Set("Content-Type", found.ContentType)
				if found.ContentEncoding != "" {
					w.Header().Set("Content-Encoding", found.ContentEncoding)
				}
				_, _ = w.Write(found.body)
			})
		}
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			copied := map[string]object{}
			for m, err := range engine.Memory(ctx) {
				if err != nil {
					return err
				}
				body, err := bodyOf(ctx, engine, reference.LogEntry{DumpEntry: m.DumpEntry})
				if err != nil {
					return err
				}
				copied[m.Key()] = object{m, body}
			}
			mu.Lock()
			memory = copied
			mu.Unlock()
			return t.Invoke(ctx, invocation)
		})
	}}
}

// numbersUnpacked gives Inputs with an encoding the size and digest of what is packed,
// and serves the packed bytes behind those.
func numbersUnpacked() *stage.Reference {
	return &stage.Reference{Within: func(engine *reference.Runtime, t reference.Transport) reference.Transport {
		var mu sync.Mutex
		stored := map[string]string{}
		engine.ObjectServer = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				mu.Lock()
				digest, is := stored[strings.TrimPrefix(q.URL.Path, "/")]
				mu.Unlock()
				if is {
					q = q.Clone(q.Context())
					q.URL.Path, q.URL.RawPath = "/"+digest, ""
				}
				h.ServeHTTP(w, q)
			})
		}
		change := feedingPast(func(ctx context.Context, p *past) error {
			for _, l := range p.log {
				if l.input == nil || l.ContentEncoding == "" {
					continue
				}
				packed, err := bodyOf(ctx, p.engine, l.LogEntry)
				if err != nil {
					return err
				}
				var plain bytes.Buffer
				r, err := protocol.Decompress(l.ContentEncoding, bytes.NewReader(packed))
				if err != nil {
					continue // not packed as it says
				}
				if _, err := plain.ReadFrom(r); err != nil {
					continue
				}
				digest := protocol.Digest(plain.Bytes())
				mu.Lock()
				stored[digest] = l.Digest
				mu.Unlock()
				l.input.Size = int64(plain.Len())
				l.input.URL = strings.Replace(l.input.URL, l.Digest, digest, 1)
			}
			return nil
		})
		return change.Within(engine, t)
	}}
}
