package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// readingTwins are runtimes that follow what a reading accepts besides its own
// answer. Each names the reading.
func readingTwins() []Twin {
	return slices.Concat(outputReadings(), versionReadings(), childReadings(), replayReadings(), transportReadings())
}

// refusing makes a runtime that fails an invocation for an Output.
func refusing(bad func(ctx context.Context, by carrier, out protocol.Output) error) *stage.Reference {
	return carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
		take := invocation.Output
		invocation.Output = func(record protocol.Record[protocol.Output]) error {
			if err := bad(ctx, by, record.Value); err != nil {
				return &reference.InvocationError{Reason: reference.ReasonOutput, Err: err}
			}
			return take(record)
		}
		return by.Invoke(ctx, invocation)
	})
}

func outputReadings() []Twin {
	return []Twin{
		{
			ID: "runtime/refuses-nulls", Sentence: "A field that is null fails the invocation (R17).",
			Runtime: wired(readsOutputs{wrap: func(r io.Reader) io.Reader {
				return editOutputs(r, func(o object) (object, error) {
					for _, m := range o {
						if isKnown(m.name) && string(m.value) == "null" {
							return nil, errors.New("a field that is null")
						}
					}
					return o, nil
				})
			}}),
		},
		{
			ID: "runtime/knows-fields-in-any-letter-case", Sentence: "Fields are known in any letter case, and of repeated ones the last counts (R18).",
			Runtime: wired(readsOutputs{wrap: readLeniently}),
		},
		{
			ID: "runtime/fails-on-bad-durations", Sentence: "A pause whose duration is outside of the grammar fails the invocation (R7).",
			Runtime: func() *stage.Reference {
				return refusing(func(_ context.Context, _ carrier, out protocol.Output) error {
					text, has := out.Metadata[protocol.MetadataDuration]
					if !has || !protocol.IsPause(out.ContentType) {
						return nil
					}
					_, err := protocol.ParseDuration(text)
					return err
				})
			},
		},
		{
			ID: "runtime/takes-control-messages-for-entries", Sentence: "A control message that a handler writes is an entry of another type (R8).",
			Runtime: taken(func(out protocol.Output) protocol.Output {
				if protocol.IsControl(out.ContentType) {
					out.ContentType = "application/json"
				}
				return out
			}),
		},
		{
			ID: "runtime/refuses-memory-names-without-an-object", Sentence: "A name with one segment behind memories/ fails the invocation (R10).",
			Runtime: func() *stage.Reference {
				return refusing(func(_ context.Context, _ carrier, out protocol.Output) error {
					key, is := strings.CutPrefix(out.Name, protocol.MemoryPrefix)
					if is && !strings.Contains(key, "/") {
						return errors.New("a memory name without an object")
					}
					return nil
				})
			},
		},
		{
			ID: "runtime/refuses-memory-names-in-another-case", Sentence: "A memory name that differs from one that exists in letter case only fails the invocation (R21).",
			Runtime: func() *stage.Reference {
				var mu sync.Mutex
				written := map[storage.Bucket][]string{}
				return refusing(func(_ context.Context, by carrier, out protocol.Output) error {
					if !strings.HasPrefix(out.Name, protocol.MemoryPrefix) {
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					bucket := by.engine.Store.Bucket
					if slices.ContainsFunc(written[bucket], func(name string) bool { return name != out.Name && strings.EqualFold(name, out.Name) }) {
						return errors.New("a name that the store can't tell from another")
					}
					written[bucket] = append(written[bucket], out.Name)
					return nil
				})
			},
		},
		{
			ID: "runtime/creates-sessions-for-writes", Sentence: "A write to a session that does not exist creates it (R42).",
			Runtime: func() *stage.Reference {
				return refusing(func(ctx context.Context, by carrier, out protocol.Output) error {
					if out.Fork || !protocol.ValidSessionID(out.Session) {
						return nil
					}
					_, err := by.engine.StartSession(ctx, storage.Manifest{Session: out.Session})
					return err
				})
			},
		},
		{
			ID: "runtime/compares-content-types-as-mime", Sentence: "The content type of a pause is known in any letter case, and with parameters (R50).",
			Runtime: taken(func(out protocol.Output) protocol.Output {
				if kind, _, err := mime.ParseMediaType(out.ContentType); err == nil && kind == protocol.TypePause {
					out.ContentType = protocol.TypePause
				}
				return out
			}),
		},
	}
}

func replayReadings() []Twin {
	return []Twin{
		{
			ID: "runtime/numbers-unpacked-bodies", Sentence: "Sizes and digests are those of the unpacked bodies (R3).",
			Runtime: numbersUnpacked,
		},
		{
			ID: "runtime/counts-an-empty-invocation", Sentence: "The event of an invocation that wrote nothing does not come again (R41).",
			Runtime: countsEmptyInvocations,
		},
		{
			ID: "runtime/counts-what-is-not-replayed", Sentence: "Records that are not replayed count towards the entries that are tagged (R43).",
			Runtime: tagging("", "", "", func(p past) int {
				if p.lastStop(false) >= 0 {
					return p.begin()
				}
				n, i := 0, len(p.log)
				for _, l := range p.log {
					if l.Session == p.session && l.Version == p.version {
						n++
					}
				}
				for ; n > 0 && i > 0; i-- {
					if p.log[i-1].input != nil {
						n--
					}
				}
				return i
			}).Runtime,
		},
	}
}

func transportReadings() []Twin {
	return []Twin{
		{
			ID: "runtime/writes-metadata-headers-in-utf-8", Sentence: "The metadata header is UTF-8 as it is, without escapes (R12).", Transports: posted(),
			Runtime: dialed(rewriter(func(q *request) {
				value := q.field(protocol.HeaderMetadata)
				o, err := parse([]byte(value))
				if value == "" || err != nil {
					return
				}
				for i, m := range o {
					o[i].value = quoted(o.text(m.name))
				}
				q.set(protocol.HeaderMetadata, string(o.bytes()))
			})),
		},
		{
			ID: "runtime/falls-back-to-the-default-handler", Sentence: "A session whose handler is not registered is run with the default command (R51).",
			Runtime: func() *stage.Reference {
				return &stage.Reference{Handlers: func(r reference.Registry) reference.Handlers { return fallback{r} }}
			},
		},
		{
			ID: "runtime/starts-an-rpc-process-each-time", Sentence: "An RPC process lives for one invocation (R52).",
			Transports: []string{protocol.TransportRPC},
			Runtime: transported(func(t reference.Transport) reference.Transport {
				rpc, is := t.(*reference.RPC)
				if !is {
					return t
				}
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					defer rpc.Close()
					return rpc.Invoke(ctx, invocation)
				})
			}),
		},
		{
			ID: "runtime/passes-no-tracestate-on", Sentence: "No tracestate is passed on (R53).",
			Runtime: transported(func(t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					invocation.Trace.TraceState = ""
					return t.Invoke(ctx, invocation)
				})
			}),
		},
	}
}

// fallback runs the default handler where there is none of a name.
type fallback struct{ reference.Registry }

func (f fallback) Transport(name string) (reference.Transport, error) {
	if _, found := f.Named[name]; !found && f.Default != nil {
		name = ""
	}
	return f.Registry.Transport(name)
}

// countsEmptyInvocations sends an event once in invocations that succeed.
func countsEmptyInvocations() *stage.Reference {
	var mu sync.Mutex
	seen := map[storage.Version]bool{}
	return carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
		p, announcement, err := pastOf(ctx, by.engine, invocation)
		if err != nil {
			return err
		}
		due := storage.Version{Session: p.session, Version: int64(p.lastStop(false))}
		mu.Lock()
		if seen[due] {
			p.event = ""
		}
		mu.Unlock()
		invocation.Inputs = p.inputs(announcement)
		if err = by.Invoke(ctx, invocation); err == nil {
			mu.Lock()
			defer mu.Unlock()
			seen[due] = true
		}
		return err
	})
}

// readLeniently reads through a [lenient].
func readLeniently(r io.Reader) io.Reader {
	from := &sticky{r: r}
	return &lenient{from: from, decoder: json.NewDecoder(from)}
}

// sticky gives the error that ended a stream again and again.
type sticky struct {
	r   io.Reader
	err error
}

func (s *sticky) Read(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	n, s.err = s.r.Read(p)
	return n, s.err
}

// lenient reads records as package encoding/json does by itself. What is no object
// of UTF-8 it passes on as it came.
type lenient struct {
	from    io.Reader
	decoder *json.Decoder
	pending []byte
	rest    io.Reader
}

func (l *lenient) Read(p []byte) (int, error) {
	for len(l.pending) == 0 {
		if l.rest != nil {
			return l.rest.Read(p)
		}
		var raw json.RawMessage
		err := l.decoder.Decode(&raw)
		if err == io.EOF {
			return 0, err
		}
		if err != nil {
			l.rest = io.MultiReader(l.decoder.Buffered(), l.from) // from the beginning of the record on
			continue
		}
		l.pending = append(l.read(raw), '\n')
	}
	n := copy(p, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}

func (l *lenient) read(raw []byte) []byte {
	o, err := parse(raw)
	if err != nil || !utf8.Valid(raw) {
		return raw
	}
	var last object
	for _, m := range o {
		if lower := strings.ToLower(m.name); isKnown(lower) {
			m.name = lower
		}
		last = last.with(m.name, m.value)
	}
	return last.bytes()
}
