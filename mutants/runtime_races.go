package mutants

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// The buckets of this file are for runtimes that find what they are about to make, or
// race for it.

// replacing replaces the manifests that it is asked to where they exist.
type replacing struct {
	*rewritable
	replaces func(manifestFile) bool
}

func (r replacing) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	err := r.rewritable.Put(ctx, key, body)
	_, file, ok := sessionOf(key)
	if !errors.Is(err, storage.ErrExist) || !ok || file != manifestName {
		return err
	}
	again, f, readErr := reread[manifestFile](body)
	if readErr != nil || !r.replaces(f) {
		return err
	}
	return r.replace(key, again)
}

// reread is a file from its beginning, and its value.
func reread[T any](body io.ReadSeeker) (*bytes.Reader, T, error) {
	var none T
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return nil, none, err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, none, err
	}
	value, err := read[T](bytes.NewReader(text))
	return bytes.NewReader(text), value, err
}

// touchy takes it for a failure that one of certain files exists.
type touchy struct {
	storage.Bucket
	isTouchy func(file string, text io.Reader) bool
	mu       sync.Mutex
	lost     map[string]int
}

func (t *touchy) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	err := t.Bucket.Put(ctx, key, body)
	_, file, ok := sessionOf(key)
	if !errors.Is(err, storage.ErrExist) || !ok {
		return err
	}
	if _, seekErr := body.Seek(0, io.SeekStart); seekErr != nil || !t.isTouchy(file, body) {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost[key]++
	return errors.New("someone else has written " + key)
}

// Get fails for whoever has just met a file that exists: it does not look what the
// file says.
func (t *touchy) Get(ctx context.Context, key string) (*storage.Object, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost[key] > 0 {
		t.lost[key]--
		return nil, errors.New("someone else has written " + key)
	}
	return t.Bucket.Get(ctx, key)
}

// meeting has two runs that begin one child at a time meet, so that the race which a
// case is about takes place: the first waits a little for the second.
type meeting struct {
	storage.Bucket
	mu sync.Mutex
	at map[string]chan struct{}
}

const meetingTime = 200 * time.Millisecond

func (m *meeting) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if _, file, ok := sessionOf(key); ok && versionOf(file) == 1 {
		first := isFirstOfChild(file, body)
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if first {
			m.meet(key)
		}
	}
	return m.Bucket.Put(ctx, key, body)
}

func (m *meeting) meet(key string) {
	m.mu.Lock()
	other, waits := m.at[key]
	if !waits {
		other = make(chan struct{}, 1)
		m.at[key] = other
	}
	m.mu.Unlock()
	if waits {
		select {
		case other <- struct{}{}:
		default:
		}
		return
	}
	select {
	case <-other:
	case <-time.After(meetingTime):
	}
}

// finding makes a runtime that begins children otherwise whose manifests were there
// before its process made their fork: begin changes their first snapshot, or says that
// there is none.
func finding(begin func(*storage.Snapshot) bool) func() *stage.Reference {
	return func() *stage.Reference {
		return &stage.Reference{Process: func(b storage.Bucket) storage.Bucket {
			return &foundling{Bucket: b, begin: begin, state: map[string]childState{}}
		}}
	}
}

// childState is what a process knows of a child's making.
type childState int

const (
	childMade childState = iota + 1
	childFound
)

// foundling is the bucket of [finding].
type foundling struct {
	storage.Bucket
	begin func(*storage.Snapshot) bool
	mu    sync.Mutex
	state map[string]childState
}

func (f *foundling) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, file, ok := sessionOf(key)
	if !ok {
		return f.Bucket.Put(ctx, key, body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	again := func() *bytes.Reader { return bytes.NewReader(text) }
	f.mu.Lock()
	defer f.mu.Unlock()
	if isFirstOfChild(file, again()) && f.state[session] == childFound {
		begins := true
		body, err := rewritten(again(), func(s *storage.Snapshot) error { begins = f.begin(s); return nil })
		if err != nil || !begins {
			return err
		}
		return f.Bucket.Put(ctx, key, body)
	}
	err = f.Bucket.Put(ctx, key, again())
	if m, readErr := read[manifestFile](again()); file == manifestName && readErr == nil && m.Parent != nil && f.state[session] == 0 {
		f.state[session] = childMade
		if errors.Is(err, storage.ErrExist) {
			f.state[session] = childFound
		}
	}
	return err
}
