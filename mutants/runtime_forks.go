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
			Sentence: "A pending fork is kept in the memory of the runtime and not in the parent's log.",
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
