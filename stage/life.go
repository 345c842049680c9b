package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/subject"
)

// life is what a process is to the reference runtime in this process: from its start
// to its end it holds what a process would hold in memory, and its end is that of
// everything that it does.
type life struct {
	of    *Reference
	ctx   context.Context // ends with it
	end   context.CancelFunc
	fence fence
	// under is the operations under way.
	under sync.WaitGroup

	mu    sync.Mutex
	views map[string]storage.Bucket
}

func newLife(of *Reference) *life {
	l := &life{of: of, views: map[string]storage.Bucket{}}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// view is the bucket of a store as this life sees it.
func (l *life) view(store string) (storage.Bucket, error) {
	bucket, err := l.of.bucket(store)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if view := l.views[store]; view != nil {
		return view, nil
	}
	var view storage.Bucket = fenced{bucket, &l.fence}
	if l.of.Process != nil {
		view = l.of.Process(view)
	}
	l.views[store] = view
	return view, nil
}

// kill ends the life. A process that is killed writes nothing more: so first the
// store is closed to it, after the write that is under way, if there is one, which
// appears whole; then what it does is called off, with its handlers.
func (l *life) kill() {
	l.fence.close()
	l.end()
	l.under.Wait()
}

// fence lets writes through until it is closed.
type fence struct {
	mu     sync.RWMutex
	closed bool
}

func (f *fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// fenced is a bucket behind a fence.
type fenced struct {
	storage.Bucket
	fence *fence
}

func (b fenced) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	b.fence.mu.RLock()
	defer b.fence.mu.RUnlock()
	if b.fence.closed {
		return subject.ErrKilled
	}
	return b.Bucket.Put(ctx, key, body)
}

// Apart implements [subject.Apart]: what is killed shares the stores with r, and
// nothing else.
func (r *Reference) Apart() subject.Killable { return &mortal{of: r, life: newLife(r)} }

// mortal is the reference runtime with an end. Its handlers are processes of their
// own, which are killed with it; the runtime is not, and makes up for it by not
// writing any more.
type mortal struct {
	of *Reference

	mu   sync.Mutex
	life *life
}

// Kill implements [subject.Killable].
func (m *mortal) Kill() error {
	m.mu.Lock()
	old := m.life
	m.life = newLife(m.of)
	m.mu.Unlock()
	old.kill()
	return nil
}

// during does an operation in the present life.
func (m *mortal) during(ctx context.Context, op string, do func(context.Context, *life) error) error {
	m.mu.Lock()
	l := m.life
	l.under.Add(1)
	m.mu.Unlock()
	defer l.under.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(subject.ErrKilled) })()
	err := do(ctx, l)
	if err != nil && l.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", op, subject.ErrKilled)
	}
	return err
}

// Start implements [subject.Runtime].
func (m *mortal) Start(ctx context.Context, q subject.StartRequest) (session string, err error) {
	err = m.during(ctx, "start", func(ctx context.Context, l *life) (err error) {
		session, err = l.start(ctx, q)
		return err
	})
	return session, err
}

// Push implements [subject.Runtime].
func (m *mortal) Push(ctx context.Context, q subject.PushRequest) error {
	return m.during(ctx, "push", func(ctx context.Context, l *life) error { return l.push(ctx, q) })
}

// Run implements [subject.Runtime].
func (m *mortal) Run(ctx context.Context, q subject.RunRequest) (reply subject.RunReply, err error) {
	err = m.during(ctx, "run", func(ctx context.Context, l *life) (err error) {
		reply, err = l.run(ctx, q)
		return err
	})
	return reply, err
}

// Log implements [subject.Runtime].
func (m *mortal) Log(ctx context.Context, store, session string) (answer json.RawMessage, err error) {
	err = m.during(ctx, "log", func(ctx context.Context, l *life) (err error) {
		answer, err = l.log(ctx, store, session)
		return err
	})
	return answer, err
}

// Inspect implements [subject.Runtime].
func (m *mortal) Inspect(ctx context.Context, store, session string) (answer json.RawMessage, err error) {
	err = m.during(ctx, "inspect", func(ctx context.Context, l *life) (err error) {
		answer, err = l.inspect(ctx, store, session)
		return err
	})
	return answer, err
}

// Close implements [subject.Runtime]: what still runs ends.
func (m *mortal) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life.kill()
	return nil
}
