package mutants

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeForks make the children of forks at other times and in other ways than
// section 11.1 has.
func runtimeForks() []Mutant {
	return []Mutant{
		{
			ID: "runtime/makes-children-after-the-handler", Requirement: "P11.1/before-inputs",
			Sentence: "Pending forks are made when the parent's next invocation has ended.",
			Runtime:  makesChildrenLate,
		},
		{
			ID: "runtime/makes-one-child-a-version", Requirement: "P11.1/before-inputs",
			Sentence: "Of the forks that a version records the first is made.",
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return &choosy{Bucket: b, first: map[storage.Version]string{}, refused: map[string]bool{}}
			}),
		},
		{
			ID: "runtime/keeps-forks-beside-the-log", Requirement: "S5/pending-fork",
			Sentence: "A pending fork is shelf in the memory of the runtime and not in the parent's log.",
			Runtime:  keepsForksAside,
		},
		{
			ID: "runtime/begins-children-again", Requirement: "P11.1/existing-child",
			Sentence: "A pending fork is written to its child each time the parent is run.",
			Runtime: begun(func(run running, _ *reference.RunOptions) {
				ctx := context.Background()
				version, err := run.Store.Version(ctx, run.session)
				if err != nil || version == 0 {
					return
				}
				for entry, err := range run.Store.Entries(ctx, run.session, version) {
					if err != nil || !entry.Fork {
						continue
					}
					child := entry.TargetSession
					if made, err := run.Store.Version(ctx, child); err == nil && made > 0 {
						entry.Fork, entry.TargetSession = false, ""
						_, _ = run.Store.Append(ctx, child, storage.Normal, []storage.Entry{entry})
					}
				}
			}),
		},
		{
			ID: "runtime/replaces-children", Requirement: "P11.1/existing-child",
			Sentence: "The manifest of a child that exists is written anew.",
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return replacing{&rewritable{Bucket: b}, func(f manifestFile) bool { return f.Parent != nil }}
			}),
		},
		{
			ID: "runtime/fails-on-children-that-exist", Requirement: "P11.1/existing-child",
			Sentence: "That a child exists fails the invocation that would make it.",
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return &touchy{Bucket: b, lost: map[string]int{}, isTouchy: func(file string, text io.Reader) bool {
					f, err := read[manifestFile](text)
					return file == manifestName && err == nil && f.Parent != nil
				}}
			}),
		},
		{
			ID: "runtime/fails-when-another-run-begins-a-child", Requirement: "P11.1/conflict-is-success",
			Sentence: "That another run was the first to begin a child fails the invocation.",
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return &touchy{Bucket: &meeting{Bucket: b, at: map[string]chan struct{}{}}, lost: map[string]int{}, isTouchy: isFirstOfChild}
			}),
		},
		{
			ID: "runtime/takes-a-manifest-for-a-child", Requirement: "P11.1/crash-recovery",
			Sentence: "A child whose manifest exists is taken for one that is whole.",
			Runtime:  finding(func(*storage.Snapshot) bool { return false }),
		},
		{
			ID: "runtime/begins-found-children-twice", Requirement: "S5/crash-points",
			Sentence: "A child that has a manifest and no snapshot gets its first entry twice.",
			Runtime: finding(func(s *storage.Snapshot) bool {
				s.Entries = append(s.Entries, s.Entries...)
				renumber(s)
				return true
			}),
		},
	}
}

// isFirstOfChild reports whether a session's file is the snapshot that a fork begins
// its child with.
func isFirstOfChild(file string, text io.Reader) bool {
	if versionOf(file) != 1 {
		return false
	}
	s, err := read[storage.Snapshot](text)
	return err == nil && beginsChild(s)
}

// makesChildrenLate keeps the files of new children back until a handler of their
// parent has ended.
func makesChildrenLate() *stage.Reference {
	var mu sync.Mutex
	var buckets []*late
	r := transported(func(t reference.Transport) reference.Transport {
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				for _, bucket := range buckets {
					bucket.flush(ctx, invocation.Identity.Session)
				}
			}()
			return t.Invoke(ctx, invocation)
		})
	})()
	r.Bucket = keeping(func(b storage.Bucket) storage.Bucket {
		bucket := &late{Bucket: b, parents: map[string]string{}}
		mu.Lock()
		defer mu.Unlock()
		buckets = append(buckets, bucket)
		return bucket
	})().Bucket
	return r
}

// late holds back what is stored of children that do not exist yet.
type late struct {
	storage.Bucket
	mu      sync.Mutex
	parents map[string]string
	held    []heldFile
}

type heldFile struct{ parent, key, text string }

func (l *late) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, file, ok := sessionOf(key)
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, err := read[manifestFile](bytes.NewReader(text)); ok && file == manifestName && err == nil && f.Parent != nil {
		if _, err := l.Bucket.Stat(ctx, key); errors.Is(err, storage.ErrNotExist) {
			l.parents[session] = f.Parent.Session
		}
	}
	if parent := l.parents[session]; ok && parent != "" {
		l.held = append(l.held, heldFile{parent, key, string(text)})
		return nil
	}
	return l.Bucket.Put(ctx, key, bytes.NewReader(text))
}

// flush stores what is held back of the children of a parent.
func (l *late) flush(ctx context.Context, parent string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.held {
		if f.parent == parent {
			_ = l.Bucket.Put(ctx, f.key, strings.NewReader(f.text)) // what exists stays
		}
	}
	l.held = slices.DeleteFunc(l.held, func(f heldFile) bool { return f.parent == parent })
	maps.DeleteFunc(l.parents, func(_, p string) bool { return p == parent })
}

// choosy stores nothing of a version's children but the first.
type choosy struct {
	storage.Bucket
	mu      sync.Mutex
	first   map[storage.Version]string
	refused map[string]bool
}

func (c *choosy) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, file, ok := sessionOf(key)
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, err := read[manifestFile](bytes.NewReader(text)); ok && file == manifestName && err == nil && f.Parent != nil {
		if c.first[*f.Parent] == "" {
			c.first[*f.Parent] = session
		}
		c.refused[session] = c.first[*f.Parent] != session
	}
	if ok && c.refused[session] {
		return nil
	}
	return c.Bucket.Put(ctx, key, bytes.NewReader(text))
}

// keepsForksAside takes the records of forks out of what is committed, and makes the
// children when the parent is run next.
func keepsForksAside() *stage.Reference {
	type pending struct {
		at   storage.Version
		fork storage.Entry
	}
	var mu sync.Mutex
	forks := map[string][]pending{}
	r := altering(func(at shelf, s *storage.Snapshot) error {
		if !isOfInvocation(*s) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		for _, entry := range s.Entries {
			if entry.Fork {
				forks[at.session] = append(forks[at.session], pending{storage.Version{Session: at.session, Version: s.Version}, entry})
			}
		}
		s.Entries = slices.DeleteFunc(s.Entries, func(e storage.Entry) bool { return e.Fork })
		renumber(s)
		return nil
	})()
	r.Begin = func(engine *reference.Runtime, session string, _ *reference.RunOptions) {
		mu.Lock()
		defer mu.Unlock()
		ctx := context.Background()
		parent, err := engine.Store.Manifest(ctx, session)
		if err != nil {
			return
		}
		for _, p := range forks[session] {
			child := storage.Manifest{
				Session: p.fork.TargetSession, Agent: parent.Agent, Handler: parent.Handler, Metadata: p.fork.Metadata, Parent: &p.at,
			}
			p.fork.Fork, p.fork.TargetSession = false, ""
			if _, created, err := engine.Store.CreateSession(ctx, child); err == nil && created {
				_, _ = engine.Store.Append(ctx, child.Session, storage.Normal, []storage.Entry{p.fork})
			}
		}
		delete(forks, session)
	}
	return r
}

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
