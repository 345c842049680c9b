package mutants

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
)

// unusualLayouts is the legal ways to write a stream that are not the recommended
// one, for both sides.
func unusualLayouts(fields []member) []struct {
	id, sentence string
	layout       layout
} {
	type unusual = struct {
		id, sentence string
		layout       layout
	}
	return []unusual{
		{"writes-over-several-lines", "Records are laid out over several lines.", lined(indented)},
		{"writes-tabs", "There are tabs around every token and between records.",
			layout{before: "\t", between: "\t", after: "\t", record: surrounded("\t")}},
		{"writes-carriage-returns", "There are CRs around every token and between records.",
			layout{before: "\r", between: "\r", after: "\r", record: surrounded("\r")}},
		{"writes-crlf", "Lines end with CR LF, and some are blank.",
			layout{before: "\r\n", between: "\r\n\r\n", after: "\r\n"}},
		{"glues-records", "Nothing stands between records.", layout{}},
		{"writes-fields-backwards", "Fields stand in the opposite order.", lined(editing(reversed))},
		{"writes-escapes", "Everything that is not ASCII is escaped, and a letter of each field name.", lined(escaped)},
		{"writes-unpadded-base64", "Base64 has no padding.", lined(editing(unpadded))},
		{"writes-byte-by-byte", "Each byte is a write of its own.", layout{between: "\n", after: "\n", chunk: 1}},
		{"writes-empty-fields-out", "Every field of the schema is written, empty ones too.", lined(editing(zeros(fields)))},
		{"writes-further-fields", "Records carry a field that version 1 does not have.", lined(editing(further))},
		{"writes-no-ops", "A record without fields stands before each record but the first.",
			lined(func(number int, raw []byte) []byte {
				if number == 1 { // P4.2/memory-first
					return raw
				}
				return append([]byte("{}\n"), raw...)
			})},
	}
}

func handlerTwins() (twins []Twin) {
	for _, u := range unusualLayouts(outputFields()) {
		twins = append(twins, Twin{
			ID: "handler/" + u.id, Sentence: u.sentence,
			Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Output: writes(u.layout)} },
		})
	}
	return append(twins,
		Twin{
			ID: "handler/answers-in-chunks", Sentence: "Answers come in chunks, without a Content-Length.",
			Transports: []string{protocol.TransportRPC, protocol.TransportHTTP},
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Respond: func(w http.ResponseWriter) http.ResponseWriter { return &chunked{w} }}
			},
		},
		Twin{
			ID: "handler/is-noisy", Sentence: "It writes 200 KB of diagnostics, without a line's end, before it reads.",
			Transports: []string{protocol.TransportSubprocess, protocol.TransportRPC},
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Input: func(r io.Reader) io.Reader {
					_, _ = os.Stderr.WriteString(strings.Repeat("still here; ", 17_000))
					return r
				}}
			},
		},
		Twin{
			ID: "handler/starts-slowly", Sentence: "It takes 150 ms before it reads.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Input: func(r io.Reader) io.Reader {
					time.Sleep(150 * time.Millisecond)
					return r
				}}
			},
		},
		Twin{
			ID: "handler/keeps-bodies-by-digest", Sentence: "A body that it has read once is not fetched again, in later invocations too.",
			Transports: []string{protocol.TransportRPC, protocol.TransportHTTP},
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Servers: &keptBodies{bodies: map[string]keptBody{}}}
			},
		},
	)
}

// chunked flushes an answer piece by piece.
type chunked struct{ http.ResponseWriter }

func (c *chunked) Write(data []byte) (int, error) {
	c.Header().Del("Content-Length")
	control := http.NewResponseController(c.ResponseWriter)
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 100)
		if _, err := c.ResponseWriter.Write(rest[:n]); err != nil {
			return len(data) - len(rest), err
		}
		if err := control.Flush(); err != nil {
			return len(data) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(data), nil
}

// keptBodies keeps whole answers by the digest that is their path. No URL is kept
// (P7/no-retention): what the digest names never changes.
type keptBodies struct {
	mu     sync.Mutex
	bodies map[string]keptBody
}

type keptBody struct {
	header http.Header
	body   []byte
}

func (k *keptBodies) RoundTrip(q *http.Request) (*http.Response, error) {
	k.mu.Lock()
	kept, known := k.bodies[q.URL.Path]
	k.mu.Unlock()
	if known {
		return &http.Response{
			StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: q,
			Header: kept.header.Clone(), Body: io.NopCloser(bytes.NewReader(kept.body)),
		}, nil
	}
	r, err := transport().RoundTrip(q)
	if err != nil || r.StatusCode != http.StatusOK || !strings.HasPrefix(q.URL.Path, "/sha256:") {
		return r, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if protocol.Digest(body) == strings.TrimPrefix(q.URL.Path, "/") {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.bodies[q.URL.Path] = keptBody{r.Header.Clone(), body}
	}
	return r, nil
}

func runtimeTwins() (twins []Twin) {
	for _, u := range unusualLayouts(inputFields()) {
		twins = append(twins, Twin{ID: "runtime/" + u.id, Sentence: u.sentence, Runtime: wired(writesInputs{layout: u.layout})})
	}
	return append(twins,
		Twin{
			ID: "runtime/never-inlines", Sentence: "No Input carries its body.",
			Runtime: each(func(in protocol.Input) protocol.Input {
				in.Data = nil
				return in
			}),
		},
		Twin{
			ID: "runtime/inlines-without-urls", Sentence: "Inputs that carry their body have no url.",
			Runtime: each(func(in protocol.Input) protocol.Input {
				if len(in.Data) > 0 {
					in.URL = ""
				}
				return in
			}),
		},
		Twin{
			ID: "runtime/serves-memory-elsewhere", Sentence: "The memory server's root has the path /m/x/.",
			Runtime: servesMemoryAt("/m/x/"),
		},
		Twin{
			ID: "runtime/stores-in-folders", Sentence: "Sessions are kept in a folder.",
			Runtime: func() *stage.Reference { return &stage.Reference{Bucket: stage.InFolders} },
		},
		Twin{
			ID: "runtime/sets-further-variables", Sentence: "Handlers find variables that version 1 does not name.",
			Transports: []string{protocol.TransportSubprocess, protocol.TransportRPC},
			Runtime: transported(func(t reference.Transport) reference.Transport {
				variables := []string{"env", "PUGMARK_FUTURE=1", "PUGMARK_SNAPSHOT=x"}
				switch t := t.(type) {
				case reference.Subprocess:
					t.Command = append(variables, t.Command...)
					return t
				case *reference.RPC:
					t.Command = append(variables, t.Command...)
				}
				return t
			}),
		},
		Twin{
			ID: "runtime/skips-a-byte-order-mark", Sentence: "A byte-order mark before a handler's first record is passed over.",
			Runtime: wired(readsOutputs{wrap: func(r io.Reader) io.Reader { return &unmarked{r: r} }}),
		},
		Twin{
			ID: "runtime/is-slow", Sentence: "A handler is started 100 ms late.",
			Runtime: transported(func(t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					time.Sleep(100 * time.Millisecond)
					return t.Invoke(ctx, invocation)
				})
			}),
		},
	)
}

// servesMemoryAt makes a runtime whose memory server answers below another path.
func servesMemoryAt(path string) func() *stage.Reference {
	const usual = "/memories/"
	elsewhere := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			rest, below := strings.CutPrefix(q.URL.Path, path)
			if !below {
				http.NotFound(w, q)
				return
			}
			q = q.Clone(q.Context())
			q.URL.RawPath = usual + strings.TrimPrefix(q.URL.EscapedPath(), path)
			q.URL.Path = usual + rest
			h.ServeHTTP(w, q)
		})
	}
	return func() *stage.Reference {
		r := each(func(in protocol.Input) protocol.Input {
			if in.Event == protocol.EventMemory {
				in.URL = strings.TrimSuffix(in.URL, usual) + path
			}
			return in
		})()
		r.Runtime = func(engine *reference.Runtime) { engine.MemoryServer = elsewhere }
		return r
	}
}

// unmarked is a stream without the byte-order mark at its head.
type unmarked struct {
	r     io.Reader
	begun bool
}

func (u *unmarked) Read(p []byte) (int, error) {
	if !u.begun {
		u.begun = true
		head := make([]byte, len(byteOrderMark))
		n, err := io.ReadFull(u.r, head)
		switch {
		case err == nil, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		default:
			return 0, err
		}
		if string(head[:n]) != byteOrderMark {
			u.r = io.MultiReader(bytes.NewReader(head[:n]), u.r)
		}
	}
	return u.r.Read(p)
}
