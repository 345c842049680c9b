package mutants

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
)

// runtimePosts post other requests than section 2.2 has.
func runtimePosts() []Mutant {
	list := append(runtimeQueries(), runtimeMetadataHeaders()...)
	return append(append(list, runtimeLengths()...),
		posting("puts-in-place-of-posting", "P2.2/single-post",
			"The request is a PUT.", func(q *request) {
				q.line = http.MethodPut + strings.TrimPrefix(q.line, http.MethodPost)
			}),
		Mutant{
			ID: "runtime/posts-again-after-a-refusal", Requirement: "P2.2/single-post", Transports: posted(),
			Sentence: "An invocation that is answered with a status of 500 or more is posted again, and the second answer counts.",
			Runtime: transported(func(t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					err := t.Invoke(ctx, invocation)
					var failure *reference.InvocationError
					if errors.As(err, &failure) && failure.Status >= http.StatusInternalServerError {
						return t.Invoke(ctx, invocation)
					}
					return err
				})
			}),
		},
		Mutant{
			ID: "runtime/uses-connections-that-were-closed", Requirement: "P2.2/single-post", Transports: posted(),
			Sentence: "A connection is used again although the answer before said that it closes.",
			Runtime:  func() *stage.Reference { return dialed((&connections{}).dial)() },
		},
		posting("calls-its-input-lines-of-json", "P2.2/content-type-json",
			"The Content-Type of the request is application/x-ndjson.",
			func(q *request) { q.set("Content-Type", "application/x-ndjson") }),
		posting("gives-no-content-type", "P2.2/content-type-json",
			"The request has no Content-Type.",
			func(q *request) { q.drop("Content-Type") }),
		Mutant{
			ID: "runtime/takes-a-cut-answer-for-whole", Requirement: "P2.2/status-200", Transports: posted(),
			Sentence: "What came of an answer that broke off is committed.",
			Runtime: ended(func(err error) error {
				var cut *protocol.ReadError
				if errors.As(err, &cut) {
					return nil
				}
				return err
			}),
		},
		Mutant{
			ID: "runtime/drops-metadata-that-is-too-large", Requirement: "P16/failure",
			Sentence: "Metadata that does not fit where it belongs is left out, and the handler is invoked without.",
			Runtime: transported(func(t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					_, err := invocation.Identity.Environ()
					if err != nil || invocation.Identity.SetHeader(http.Header{}) != nil {
						invocation.Identity.Metadata = nil
					}
					return t.Invoke(ctx, invocation)
				})
			}),
		},
		Mutant{
			ID: "runtime/ends-a-process-with-its-first-answer", Requirement: "P13/rpc-url",
			Sentence:   "An RPC process serves one invocation, and those that follow find nobody.",
			Transports: []string{protocol.TransportRPC},
			Runtime: transported(func(t reference.Transport) reference.Transport {
				served := false
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					if served {
						return &reference.InvocationError{Reason: reference.ReasonConnection, Err: errors.New("the process has ended")}
					}
					served = true
					return t.Invoke(ctx, invocation)
				})
			}),
		},
	)
}

func runtimeQueries() []Mutant {
	// parameter changes one parameter of the query; an empty text leaves it out.
	parameter := func(name string, change func(value string) string) func(*request) {
		return func(q *request) {
			q.query(func(pairs []string) (kept []string) {
				for _, pair := range pairs {
					if value, is := strings.CutPrefix(pair, name+"="); is {
						pair = change(value)
					}
					if pair != "" {
						kept = append(kept, pair)
					}
				}
				return kept
			})
		}
	}
	return []Mutant{
		posting("names-no-agent", "P2.2/query-parameters",
			"The query has no agent.", parameter("agent", func(string) string { return "" })),
		posting("leaves-the-agent-unescaped", "P2.2/query-parameters",
			"The characters & and + of an agent stand in the query as they are.",
			parameter("agent", func(value string) string {
				return "agent=" + strings.NewReplacer("%26", "&", "%2B", "+").Replace(value)
			})),
		posting("writes-session-ids-as-uuids", "P2.2/query-parameters",
			"The session of the query has dashes.", parameter("session", func(id string) string {
				return "session=" + id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
			})),
		posting("calls-the-snapshot-a-version", "P2.2/query-parameters",
			"The parameter snapshot is called version.", parameter("snapshot", func(value string) string { return "version=" + value })),
		{
			ID: "runtime/asks-for-the-version-to-come", Requirement: "P2.2/query-parameters", Transports: posted(),
			Sentence: "The snapshot of the query is the version that the outputs will become.",
			Runtime: transported(func(t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					invocation.Identity.Snapshot++
					return t.Invoke(ctx, invocation)
				})
			}),
		},
		posting("names-no-snapshot-of-a-new-session", "P2.2/query-parameters",
			"A snapshot of 0 is left out of the query.", parameter("snapshot", func(value string) string {
				if value == "0" {
					return ""
				}
				return "snapshot=" + value
			})),
	}
}

func runtimeMetadataHeaders() []Mutant {
	header := func(change func(value string) string) func(*request) {
		return func(q *request) {
			if value := q.field(protocol.HeaderMetadata); value != "" {
				q.set(protocol.HeaderMetadata, change(value))
			}
		}
	}
	always := func(value string) func(*request) {
		return func(q *request) {
			if q.field(protocol.HeaderMetadata) == "" {
				q.set(protocol.HeaderMetadata, value)
			}
		}
	}
	members := func(change func(o object) object) func(*request) {
		return header(func(value string) string {
			if o, err := parse([]byte(value)); err == nil {
				value = string(change(o).bytes())
			}
			return value
		})
	}
	return []Mutant{
		posting("gives-no-metadata", "P2.2/metadata-header",
			"The metadata of the session is in no header.", func(q *request) { q.drop(protocol.HeaderMetadata) }),
		posting("writes-metadata-as-pairs", "P2.2/metadata-header",
			"The metadata header has pairs of a name and a value in the place of a JSON object.", header(func(value string) string {
				o, err := parse([]byte(value))
				if err != nil {
					return value
				}
				var pairs []string
				for _, m := range o {
					pairs = append(pairs, m.name+"="+o.text(m.name))
				}
				return strings.Map(func(r rune) rune {
					if r < ' ' {
						return ' '
					}
					return r
				}, strings.Join(pairs, "; "))
			})),
		posting("leaves-empty-metadata-out", "P2.2/metadata-header",
			"Metadata with an empty value is left out of the header.", members(func(o object) (kept object) {
				for _, m := range o {
					if !isZero(m.value) {
						kept = append(kept, m)
					}
				}
				return kept
			})),
		posting("writes-metadata-in-ascii", "P2.2/metadata-header",
			"Characters of metadata that are not ASCII are question marks in the header.", members(func(o object) (plain object) {
				ask := func(text string) string {
					return strings.Map(func(r rune) rune {
						if r >= utf8.RuneSelf {
							return '?'
						}
						return r
					}, text)
				}
				for _, m := range o {
					plain = append(plain, member{ask(m.name), quoted(ask(o.text(m.name)))})
				}
				return plain
			})),
		posting("writes-metadata-in-an-array", "P2.2/metadata-header",
			"The values of the metadata header are arrays of one string.", members(func(o object) object {
				for i := range o {
					o[i].value = jsontext.Value("[" + string(o[i].value) + "]")
				}
				return o
			})),
		posting("gives-an-empty-object-for-no-metadata", "P2.2/metadata-header-omitted",
			"The metadata header of a session without metadata is an empty object.", always("{}")),
		posting("gives-null-for-no-metadata", "P2.2/metadata-header-omitted",
			"The metadata header of a session without metadata is null.", always("null")),
	}
}

func runtimeLengths() []Mutant {
	const large = 1 << 20
	return []Mutant{
		posting("counts-characters-for-bytes", "P2.2/content-length",
			"The Content-Length is the number of characters of the input.", func(q *request) {
				q.set("Content-Length", strconv.Itoa(utf8.RuneCount(q.body)))
			}),
		posting("streams-long-input", "P2.2/content-length",
			"An input of more than a mebibyte goes in chunks, without a Content-Length.", func(q *request) {
				if len(q.body) > large {
					q.inChunks()
				}
			}),
		posting("streams-its-input", "P2.2/no-chunked",
			"The input goes in chunks.", (*request).inChunks),
		posting("streams-input-of-entries", "P2.2/no-chunked",
			"The input of a session with entries goes in chunks.", func(q *request) {
				if strings.Count(string(q.body), "\n") > 2 {
					q.inChunks()
				}
			}),
	}
}

// connections keeps connections for the next request, whatever the answer said.
type connections struct {
	mu   sync.Mutex
	free map[string]net.Conn
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	conn := c.free[address]
	delete(c.free, address)
	c.mu.Unlock()
	if conn == nil {
		var err error
		if conn, err = usualDial(ctx, network, address); err != nil {
			return nil, err
		}
	}
	kept := &keptConn{Conn: conn, pool: c, address: address}
	return &changedConn{Conn: kept, change: func(q *request) { q.drop("Connection") }}, nil
}

// keptConn is one use of a connection.
type keptConn struct {
	net.Conn
	pool    *connections
	address string
}

func (k *keptConn) Close() error {
	k.pool.mu.Lock()
	defer k.pool.mu.Unlock()
	if k.pool.free == nil {
		k.pool.free = map[string]net.Conn{}
	}
	k.pool.free[k.address] = k.Conn
	return nil
}
