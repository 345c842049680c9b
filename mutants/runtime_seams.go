package mutants

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/membucket"
)

// The functions and types of this file make a runtime out of the reference by what
// it keeps its sessions in, and by what a run is given.

// keeping makes a runtime whose stores' buckets are wrapped.
func keeping(wrap func(storage.Bucket) storage.Bucket) func() *stage.Reference {
	return func() *stage.Reference {
		return &stage.Reference{Bucket: func(string) (storage.Bucket, error) { return wrap(&membucket.Bucket{}), nil }}
	}
}

// altering makes a runtime that keeps other snapshots than it should.
func altering(snapshot func(at shelf, s *storage.Snapshot) error) func() *stage.Reference {
	return keeping(func(b storage.Bucket) storage.Bucket { return altered{Bucket: b, snapshot: snapshot} })
}

// altered is a bucket in which manifests and snapshots are not stored as they come.
// Each of its functions changes what it is given; nil changes nothing.
type altered struct {
	storage.Bucket
	manifest func(at shelf, m *storage.Manifest) error
	snapshot func(at shelf, s *storage.Snapshot) error
}

// shelf is the store that something is about to be put into, and the session whose it
// is.
type shelf struct {
	*storage.Store
	session string
}

// manifestFile is a manifest as a store writes it.
type manifestFile struct {
	storage.Manifest
	Commit string `json:"commit"`
}

func (a altered) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, file, ok := sessionOf(key)
	at := shelf{&storage.Store{Bucket: a.Bucket}, session}
	var err error
	switch {
	case ok && file == manifestName && a.manifest != nil:
		body, err = rewritten(body, func(f *manifestFile) error { return a.manifest(at, &f.Manifest) })
	case ok && versionOf(file) > 0 && a.snapshot != nil:
		body, err = rewritten(body, func(s *storage.Snapshot) error { return a.snapshot(at, s) })
	}
	if err != nil {
		return err
	}
	return a.Bucket.Put(ctx, key, body)
}

const manifestName = "manifest.json"

// rewritten is a file with its value changed.
func rewritten[T any](body io.Reader, change func(*T) error) (*bytes.Reader, error) {
	value, err := read[T](body)
	if err != nil {
		return nil, err
	}
	if err := change(&value); err != nil {
		return nil, err
	}
	return written(value)
}

// read is the value of a file.
func read[T any](body io.Reader) (value T, err error) {
	if err := json.UnmarshalRead(body, &value); err != nil {
		return value, fmt.Errorf("reading what is to be stored: %w", err)
	}
	return value, nil
}

// written is a value as a file.
func written(value any) (*bytes.Reader, error) {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("writing what is to be stored: %w", err)
	}
	return bytes.NewReader(text), nil
}

// beginsChild reports whether a snapshot is the one that a fork begins its child with.
func beginsChild(s storage.Snapshot) bool {
	return s.Version == 1 && s.Type == storage.Normal && s.Invoked == 0
}

// isOfInvocation reports whether an invocation commits the snapshot.
func isOfInvocation(s storage.Snapshot) bool { return s.Invoked == s.Version }

// rewritable is a bucket whose objects can be replaced.
type rewritable struct {
	storage.Bucket
	mu       sync.Mutex
	replaced map[string][]byte
}

func (b *rewritable) replace(key string, body io.Reader) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.replaced == nil {
		b.replaced = map[string][]byte{}
	}
	b.replaced[key] = text
	return nil
}

// Get implements [storage.Bucket].
func (b *rewritable) Get(ctx context.Context, key string) (*storage.Object, error) {
	b.mu.Lock()
	text, ok := b.replaced[key]
	b.mu.Unlock()
	if !ok {
		return b.Bucket.Get(ctx, key)
	}
	return &storage.Object{ReadCloser: io.NopCloser(bytes.NewReader(text)), Size: int64(len(text))}, nil
}

// Stat implements [storage.Bucket].
func (b *rewritable) Stat(ctx context.Context, key string) (int64, error) {
	object, err := b.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	return object.Size, object.Close()
}

// running is the runtime of one run and the session that it runs.
type running struct {
	*reference.Runtime
	session string
}

// begun makes a runtime that does something else when a run begins.
func begun(begin func(run running, options *reference.RunOptions)) func() *stage.Reference {
	return func() *stage.Reference {
		return &stage.Reference{Begin: func(engine *reference.Runtime, session string, options *reference.RunOptions) {
			begin(running{engine, session}, options)
		}}
	}
}

// around makes a runtime whose transports are wrapped, by a function that knows what
// is run.
func around(wrap func(run running, t reference.Transport) reference.Transport) func() *stage.Reference {
	return begun(func(run running, options *reference.RunOptions) {
		among := options.Handlers
		options.Handlers = choosing(func(name string) (reference.Transport, error) {
			t, err := among.Transport(name)
			if err != nil {
				return nil, err
			}
			return wrap(run, t), nil
		})
	})
}

// choosing is a choice of handlers that is one function.
type choosing func(name string) (reference.Transport, error)

func (c choosing) Transport(name string) (reference.Transport, error) { return c(name) }

// outgoing makes a runtime that takes an invocation's Outputs otherwise. For each
// invocation it asks for a function that is given each Output with its route and the
// function that takes it. What begins does is done before a run.
func outgoing(take func(ctx context.Context, run running, invocation reference.Invocation) taker, begins ...func(running)) func() *stage.Reference {
	return around(func(run running, t reference.Transport) reference.Transport {
		for _, begin := range begins {
			begin(run)
		}
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			took := take(ctx, run, invocation)
			next := invocation.Output
			carried := invocation
			carried.Output = func(record protocol.Record[protocol.Output]) error {
				return took.output(record, record.Value.Route(invocation.Identity.Session), next)
			}
			err := t.Invoke(ctx, carried)
			if took.ended == nil {
				return err
			}
			return took.ended(err)
		})
	})
}

// taker takes the Outputs of one invocation.
type taker struct {
	output func(record protocol.Record[protocol.Output], route protocol.Route, next func(protocol.Record[protocol.Output]) error) error
	// ended is told how the invocation ended, and says how it is taken to have ended;
	// nil is as it did.
	ended func(error) error
}

// entryOf stores the body of an Output and returns its descriptor.
func entryOf(ctx context.Context, store *storage.Store, out protocol.Output) (storage.Entry, error) {
	body, err := store.PutBody(ctx, bytes.NewReader(out.Data))
	return storage.Entry{
		Digest: body.Digest, Size: body.Size, Data: body.Data, ContentType: out.ContentType, ContentEncoding: out.ContentEncoding,
		SchemaURL: out.SchemaURL, Name: out.Name, Metadata: out.Metadata,
	}, err
}
