package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
	"pugmark.dev/conform/storage/membucket"
	"pugmark.dev/conform/subject"
)

// Reference is the reference runtime as a subject in this process. The zero value
// is the reference itself, on stores in memory; the fields are its seams.
type Reference struct {
	// Bucket opens the bucket of a store; nil keeps each store in memory.
	Bucket func(store string) (storage.Bucket, error)
	// Process wraps what one process sees of a store's bucket: it lasts until the
	// process is killed, and the bucket below outlives it. Nil is the bucket itself.
	Process func(storage.Bucket) storage.Bucket
	// Runtime adjusts the runtime of a store.
	Runtime func(*reference.Runtime)
	// Begin adjusts a run of a session before anything of it is done: its runtime,
	// which no other run has, and what it was asked for.
	Begin func(engine *reference.Runtime, session string, options *reference.RunOptions)
	// Transport wraps what carries an invocation.
	Transport func(reference.Transport) reference.Transport
	// Within wraps it too, and is told by which runtime it will be used.
	Within func(*reference.Runtime, reference.Transport) reference.Transport
	// Handlers wraps what chooses the handler of a run.
	Handlers func(reference.Registry) reference.Handlers

	mu     sync.Mutex
	stores map[string]storage.Bucket
	// usual is the life that nobody ends.
	usual *life
}

// InFolders keeps each store in its folder, as the reference's command line does.
func InFolders(store string) (storage.Bucket, error) { return dirbucket.Open(store) }

// Features is what the reference claims in this process.
func (*Reference) Features() []string {
	return []string{"rpc", "http", "inspect", "log", "once", "until-idle", "agent", "metadata", "chosen-session", "tracestate", "named-handlers", "uri"}
}

// forever is the life in which r's own operations are done.
func (r *Reference) forever() *life {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.usual == nil {
		r.usual = newLife(r)
	}
	return r.usual
}

// Start implements [subject.Runtime].
func (r *Reference) Start(ctx context.Context, q subject.StartRequest) (string, error) {
	return r.forever().Start(ctx, q)
}

// Push implements [subject.Runtime].
func (r *Reference) Push(ctx context.Context, q subject.PushRequest) error {
	return r.forever().Push(ctx, q)
}

// Run implements [subject.Runtime].
func (r *Reference) Run(ctx context.Context, q subject.RunRequest) (subject.RunReply, error) {
	return r.forever().Run(ctx, q)
}

// Log implements [subject.Runtime].
func (r *Reference) Log(ctx context.Context, store, session string) (json.RawMessage, error) {
	return r.forever().Log(ctx, store, session)
}

// Inspect implements [subject.Runtime].
func (r *Reference) Inspect(ctx context.Context, store, session string) (json.RawMessage, error) {
	return r.forever().Inspect(ctx, store, session)
}

// Close implements [subject.Runtime]: nothing is kept running.
func (*Reference) Close() error { return nil }

func (l *life) start(ctx context.Context, q subject.StartRequest) (string, error) {
	engine, err := l.engine(q.Store)
	if err != nil {
		return "", refused("start", err)
	}
	m, err := engine.StartSession(ctx, storage.Manifest{Session: q.Session, Agent: q.Agent, Handler: q.Handler, Metadata: q.Metadata})
	return m.Session, refused("start", err)
}

func (l *life) push(ctx context.Context, q subject.PushRequest) error {
	engine, err := l.engine(q.Store)
	if err != nil {
		return refused("push", err)
	}
	_, err = engine.Push(ctx, q.Session, reference.Object{
		Name: q.Name, ContentType: q.ContentType, ContentEncoding: q.ContentEncoding, SchemaURL: q.SchemaURL,
		Metadata: q.Metadata, Body: bytes.NewReader(q.Body),
	})
	return refused("push", err)
}

func (l *life) run(ctx context.Context, q subject.RunRequest) (subject.RunReply, error) {
	engine, err := l.engine(q.Store)
	if err != nil {
		return subject.RunReply{}, refused("run", err)
	}
	var close closers
	defer func() { close.all() }() // those that are there by then
	environ := environWith(q.Environment)
	handlers := reference.Registry{Default: l.transport(engine, q.Default, environ, &close), Named: map[string]reference.Transport{}}
	for name, spec := range q.Named {
		handlers.Named[name] = l.transport(engine, spec, environ, &close)
	}
	var chooses reference.Handlers = handlers
	if l.of.Handlers != nil {
		chooses = l.of.Handlers(handlers)
	}
	options := reference.RunOptions{Handlers: chooses, Trace: protocol.TraceContext{TraceParent: q.TraceParent, TraceState: q.TraceState}}
	if l.of.Begin != nil {
		l.of.Begin(engine, q.Session, &options)
	}
	run := engine.Run
	if q.Once {
		run = engine.RunOnce
	}
	done, err := run(ctx, q.Session, options)
	return subject.RunReply{Version: &done.Version, State: string(done.State)}, refused("run", err)
}

func (l *life) log(ctx context.Context, store, session string) (json.RawMessage, error) {
	engine, err := l.engine(store)
	if err != nil {
		return nil, refused("log", err)
	}
	type entry struct {
		reference.LogEntry
		Body []byte `json:"body,omitempty"`
	}
	entries := []entry{}
	for logged, err := range engine.Log(ctx, session) {
		if err != nil {
			return nil, refused("log", err)
		}
		body, err := readBody(ctx, engine, logged.DumpEntry)
		if err != nil {
			return nil, refused("log", err)
		}
		entries = append(entries, entry{logged, body})
	}
	return json.Marshal(map[string]any{"entries": entries})
}

func readBody(ctx context.Context, engine *reference.Runtime, entry reference.DumpEntry) ([]byte, error) {
	body, err := engine.Body(ctx, entry)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

func (l *life) inspect(ctx context.Context, store, session string) (json.RawMessage, error) {
	engine, err := l.engine(store)
	if err != nil {
		return nil, refused("inspect", err)
	}
	dump, err := engine.Inspect(ctx, session)
	if err != nil {
		return nil, refused("inspect", err)
	}
	return json.Marshal(dump)
}

// bucket is the bucket of a store, which outlives every process; those in memory last
// as long as r.
func (r *Reference) bucket(store string) (storage.Bucket, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bucket := r.stores[store]; bucket != nil {
		return bucket, nil
	}
	var bucket storage.Bucket = &membucket.Bucket{}
	if r.Bucket != nil {
		var err error
		if bucket, err = r.Bucket(store); err != nil {
			return nil, err
		}
	}
	if r.stores == nil {
		r.stores = map[string]storage.Bucket{}
	}
	r.stores[store] = bucket
	return bucket, nil
}

// engine is the runtime on a store.
func (l *life) engine(store string) (*reference.Runtime, error) {
	bucket, err := l.view(store)
	if err != nil {
		return nil, err
	}
	engine := &reference.Runtime{
		Store: &storage.Store{Bucket: bucket},
		// What lies beside the store is the case's own.
		Sources: reference.Folders{filepath.Dir(store)},
	}
	if l.of.Runtime != nil {
		l.of.Runtime(engine)
	}
	return engine, nil
}

// environWith is what the reference takes for its own environment, nil when it is
// this process's.
func environWith(variables map[string]string) []string {
	if len(variables) == 0 {
		return nil
	}
	environ := subject.Environment(os.Environ())
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		environ = append(environ, name+"="+variables[name])
	}
	return environ
}

// transport is how a handler is reached; nil when there is none.
func (l *life) transport(engine *reference.Runtime, spec subject.HandlerSpec, environ []string, close *closers) reference.Transport {
	var transport reference.Transport
	switch {
	case len(spec.Command) > 0:
		transport = reference.Subprocess{Command: spec.Command, Environ: environ}
	case len(spec.RPC) > 0:
		rpc := &reference.RPC{Command: spec.RPC, Environ: environ}
		*close = append(*close, rpc)
		transport = rpc
	case spec.URL != "":
		transport = reference.HTTP{URL: spec.URL}
	default:
		return nil
	}
	if l.of.Transport != nil {
		transport = l.of.Transport(transport)
	}
	if l.of.Within != nil {
		transport = l.of.Within(engine, transport)
	}
	return transport
}

// closers is the RPC processes of a run, which end with it (reading R52).
type closers []io.Closer

func (c closers) all() {
	for _, closer := range c {
		closer.Close()
	}
}

// refused is an error of the reference as the agreement with a runtime tells them
// apart.
func refused(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *subject.Error
	if errors.As(err, &known) {
		return err
	}
	kind := subject.Internal
	var failed *reference.InvocationError
	var request *reference.RequestError
	switch {
	case errors.As(err, &failed):
		kind = subject.FailedInvocation
	case errors.As(err, &request):
		kind = subject.BadRequest
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", op, err)
	}
	return &subject.Error{Op: op, Kind: kind, Message: err.Error()}
}
