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
	// under is the operations under way; none is added once ctx has ended, which mu
	// sees to.
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

// Kill implements [subject.Mortal]. A process that is killed writes nothing more: so
// first the store is closed to it, after the write that is under way, if there is one,
// which appears whole; then what it does is called off, and its handlers, which are
// processes of their own, are killed with it.
func (l *life) Kill() error {
	l.fence.close()
	l.mu.Lock()
	l.end()
	l.mu.Unlock()
	l.under.Wait()
	return nil
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
func (r *Reference) Apart() subject.Mortal { return newLife(r) }

// during does an operation as long as the life goes on.
func (l *life) during(ctx context.Context, op string, do func(context.Context) error) error {
	l.mu.Lock()
	over := l.ctx.Err() != nil
	if !over {
		l.under.Add(1)
	}
	l.mu.Unlock()
	killed := fmt.Errorf("%s: %w", op, subject.ErrKilled)
	if over {
		return killed
	}
	defer l.under.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(subject.ErrKilled) })()
	err := do(ctx)
	if err != nil && l.ctx.Err() != nil {
		return killed
	}
	return err
}

// Start implements [subject.Runtime].
func (l *life) Start(ctx context.Context, q subject.StartRequest) (session string, err error) {
	err = l.during(ctx, "start", func(ctx context.Context) (err error) {
		session, err = l.start(ctx, q)
		return err
	})
	return session, err
}

// Push implements [subject.Runtime].
func (l *life) Push(ctx context.Context, q subject.PushRequest) error {
	return l.during(ctx, "push", func(ctx context.Context) error { return l.push(ctx, q) })
}

// Run implements [subject.Runtime].
func (l *life) Run(ctx context.Context, q subject.RunRequest) (reply subject.RunReply, err error) {
	err = l.during(ctx, "run", func(ctx context.Context) (err error) {
		reply, err = l.run(ctx, q)
		return err
	})
	return reply, err
}

// Log implements [subject.Runtime].
func (l *life) Log(ctx context.Context, store, session string) (answer json.RawMessage, err error) {
	err = l.during(ctx, "log", func(ctx context.Context) (err error) {
		answer, err = l.log(ctx, store, session)
		return err
	})
	return answer, err
}

// Inspect implements [subject.Runtime].
func (l *life) Inspect(ctx context.Context, store, session string) (answer json.RawMessage, err error) {
	err = l.during(ctx, "inspect", func(ctx context.Context) (err error) {
		answer, err = l.inspect(ctx, store, session)
		return err
	})
	return answer, err
}

// Close implements [subject.Runtime]: what still runs ends.
func (l *life) Close() error { return l.Kill() }
