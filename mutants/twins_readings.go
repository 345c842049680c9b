package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/membucket"
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

func versionReadings() []Twin {
	return []Twin{
		{
			ID: "runtime/commits-behind-what-came-meanwhile", Sentence: "Outputs that meet a conflict are committed as the version after, without another invocation (R11).",
			Runtime: func() *stage.Reference {
				return &stage.Reference{Bucket: func(string) (storage.Bucket, error) {
					return rewriting{&membucket.Bucket{}, rebased}, nil
				}}
			},
		},
		{
			ID: "runtime/pushes-provisionally", Sentence: "A push makes a provisional snapshot (R13).",
			Runtime: func() *stage.Reference {
				return entering(func(_ context.Context, c *commit) error {
					if c.Type == storage.Queueing {
						c.Type = storage.Provisional
					}
					return nil
				})
			},
		},
		{
			ID: "runtime/delivers-each-write-by-itself", Sentence: "Several writes of one invocation to one session are a snapshot each (R14).",
			Runtime: func() *stage.Reference {
				return committing(func(_ context.Context, c commit) ([]storage.Snapshot, error) {
					if c.Source == nil {
						return []storage.Snapshot{c.Snapshot}, nil
					}
					return oneEntryEach(c.Snapshot), nil
				})
			},
		},
		{
			ID: "runtime/keeps-milliseconds", Sentence: "Of a start-at the milliseconds are kept (R34).",
			Runtime: messaging(func(c *reference.Control) { c.StartAt = c.StartAt.Truncate(time.Millisecond) }),
		},
		{
			ID: "runtime/types-the-first-snapshot-of-a-child", Sentence: "The first snapshot of a child is provisional (R45).",
			Runtime: func() *stage.Reference {
				return entering(func(ctx context.Context, c *commit) error {
					m, err := c.store.Manifest(ctx, c.session)
					if err == nil && m.Parent != nil && c.Version == 1 {
						c.Type = storage.Provisional
					}
					return err
				})
			},
		},
		{
			ID: "runtime/delivers-before-it-commits", Sentence: "Writes to other sessions are delivered first, with the version that was invoked as their source, and are no version of the writer's (R23, R46).",
			Runtime: deliversFirst,
		},
		{
			ID: "runtime/runs-on-after-forks-and-memory", Sentence: "An invocation with forks and memory writes leaves the session running (R47).",
			Runtime: func() *stage.Reference {
				return entering(func(_ context.Context, c *commit) error {
					last := len(c.Entries) - 1
					if !c.isInvocations() || len(c.Memory) == 0 || c.Controlled != c.Version || last == 0 {
						return nil
					}
					message, err := control(c.Entries[last])
					forks := !slices.ContainsFunc(c.Entries[:last], func(e storage.Entry) bool { return !e.Fork })
					if err == nil && forks && message.Reason == "" && message.StartAt.IsZero() {
						c.Entries, c.Controlled = c.Entries[:last], 0
					}
					return nil
				})
			},
		},
	}
}

// rebased moves a commit of an invocation to the version after those that came
// meanwhile. One that others are told the version of stays: forks and writes to other
// sessions name it.
func rebased(ctx context.Context, c commit) ([]storage.Snapshot, error) {
	names := slices.ContainsFunc(c.Entries, func(e storage.Entry) bool { return e.TargetSession != "" })
	if !c.isInvocations() || names || len(c.Memory) > 0 {
		return []storage.Snapshot{c.Snapshot}, nil
	}
	for {
		current, err := c.store.Version(ctx, c.session)
		if err != nil {
			return nil, err
		}
		if current < c.Version {
			return []storage.Snapshot{c.Snapshot}, nil
		}
		head, err := c.store.Head(ctx, c.session, current)
		if err != nil {
			return nil, err
		}
		moved := renumbered(c.Snapshot, current+1, head.Base+head.Count)
		moved.Settled = max(moved.Settled, head.Settled)
		err = put(ctx, c.store.Bucket, c.session, moved)
		if !errors.Is(err, storage.ErrExist) {
			return nil, err
		}
	}
}

// deliversFirst delivers what an invocation wrote to other sessions when it has
// succeeded, in the name of the version that it was made on. What is committed then
// meets no conflict, so that no invocation is made again on another version.
func deliversFirst() *stage.Reference {
	var mu sync.Mutex
	writers := map[string]bool{} // sessions that wrote to others in their last invocation, and did not pause
	r := carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
		own := storage.Version{Session: invocation.Identity.Session, Version: invocation.Identity.Snapshot}
		paused := false
		writes := map[string][]storage.Entry{}
		var order []string
		take := invocation.Output
		invocation.Output = func(record protocol.Record[protocol.Output]) error {
			out := record.Value
			route := out.Route(own.Session)
			paused = paused || route.Kind == protocol.RoutePause
			if route.Kind != protocol.RouteSession || out.URI != "" {
				return take(record)
			}
			if _, err := by.engine.Store.Manifest(ctx, route.Session); err != nil {
				return &reference.InvocationError{Reason: reference.ReasonOutput, Err: err}
			}
			body, err := by.engine.Store.PutBody(ctx, strings.NewReader(string(out.Data)))
			if err != nil {
				return err
			}
			if writes[route.Session] == nil {
				order = append(order, route.Session)
			}
			writes[route.Session] = append(writes[route.Session], storage.Entry{
				Digest: body.Digest, Size: body.Size, Data: body.Data, Name: out.Name, Metadata: out.Metadata,
				ContentType: out.ContentType, ContentEncoding: out.ContentEncoding, SchemaURL: out.SchemaURL,
			})
			return nil
		}
		if err := by.Invoke(ctx, invocation); err != nil {
			return err
		}
		for _, target := range order {
			if _, err := by.engine.Store.Deliver(ctx, target, own, 0, writes[target]); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		writers[own.Session] = len(order) > 0 && !paused
		return nil
	})
	r.Bucket = func(string) (storage.Bucket, error) {
		return rewriting{&membucket.Bucket{}, func(ctx context.Context, c commit) ([]storage.Snapshot, error) {
			mu.Lock()
			wrote := writers[c.session]
			mu.Unlock()
			if wrote && c.isInvocations() && c.Controlled == c.Version { // P12/no-implicit-pause
				c.Entries, c.Controlled = c.Entries[:len(c.Entries)-1], 0
			}
			return rebased(ctx, c)
		}}, nil
	}
	return r
}

func childReadings() []Twin {
	return []Twin{
		{
			ID: "runtime/ends-the-log-of-a-child-at-the-fork", Sentence: "A child sees its parent's log up to the fork's record, and not what follows in that snapshot (R40).",
			Runtime: func() *stage.Reference {
				return feedingPast(func(ctx context.Context, p *past) error {
					m, err := p.engine.Store.Manifest(ctx, p.session)
					if err != nil || m.Parent == nil {
						return err
					}
					at := p.first(0, func(l logged) bool { return l.Fork && l.TargetSession == p.session })
					for i := at; i < len(p.log); i++ {
						if l := p.log[i]; l.Session == m.Parent.Session && l.Version == m.Parent.Version {
							p.log[i].input = nil
						}
					}
					return nil
				})
			},
		},
		{
			ID: "runtime/points-children-at-the-latest-version", Sentence: "A child's parent pointer has the version that the parent had when the child was made (R40).",
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return altered{Bucket: b, manifest: func(at shelf, m *storage.Manifest) error {
					if m.Parent == nil {
						return nil
					}
					version, err := at.Version(context.Background(), m.Parent.Session)
					m.Parent = &storage.Version{Session: m.Parent.Session, Version: version}
					return err
				}}
			}),
		},
		{
			ID: "runtime/knows-forks-of-the-latest-snapshot", Sentence: "Forks of the latest snapshot are made and kept from the replay, and older ones are neither (R39).",
			Runtime: func() *stage.Reference {
				r := feedingPast(withHidden(func(p past, l logged) bool {
					return l.Fork && l.Session == p.session && l.Version < p.version
				}))
				r.Bucket = childless(func(parent storage.Snapshot, fork storage.Version) bool { return fork.Version < parent.Version })
				return r
			},
		},
		{
			ID: "runtime/leaves-the-forks-of-a-paused-parent", Sentence: "A run of a paused session returns at once, and makes no children (R38).",
			Without: []string{"R38"},
			Runtime: func() *stage.Reference {
				return &stage.Reference{Bucket: childless(pausedParents)}
			},
		},
	}
}

// pausedParents has the forks of a parent wait that is paused: its last entry says
// so, and has no time to start again.
func pausedParents(parent storage.Snapshot, _ storage.Version) bool {
	if parent.Controlled != parent.Version {
		return false
	}
	message, err := control(parent.Entries[len(parent.Entries)-1])
	return err == nil && message.StartAt.IsZero()
}

// childless opens buckets that take children whose making is to wait for stored. It
// is made again by each later run.
func childless(waits func(parent storage.Snapshot, fork storage.Version) bool) func(string) (storage.Bucket, error) {
	return func(string) (storage.Bucket, error) { return waiting{&membucket.Bucket{}, waits}, nil }
}

type waiting struct {
	storage.Bucket
	waits func(parent storage.Snapshot, fork storage.Version) bool
}

func (w waiting) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, file, ok := sessionOf(key)
	if !ok {
		return w.Bucket.Put(ctx, key, body)
	}
	if _, err := w.Stat(ctx, strings.TrimSuffix(key, file)+manifestName); file != manifestName {
		if errors.Is(err, storage.ErrNotExist) {
			return nil // of a child that is not there yet
		}
		return w.Bucket.Put(ctx, key, body)
	}
	m, err := read[manifestFile](body)
	if err != nil {
		return err
	}
	if m.Parent != nil {
		store := &storage.Store{Bucket: w.Bucket}
		version, err := store.Version(ctx, m.Parent.Session)
		if err != nil {
			return err
		}
		var parent storage.Snapshot
		if parent.Head, err = store.Head(ctx, m.Parent.Session, version); err != nil {
			return fmt.Errorf("the parent of %s: %w", session, err)
		}
		for entry, err := range store.Entries(ctx, m.Parent.Session, version) {
			if err != nil {
				return fmt.Errorf("the parent of %s: %w", session, err)
			}
			parent.Entries = append(parent.Entries, entry)
		}
		if w.waits(parent, *m.Parent) {
			return nil
		}
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return w.Bucket.Put(ctx, key, body)
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
