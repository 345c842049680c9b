package buckettest

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"pugmark.dev/conform/storage"
)

// ErrInjected is what a [Faulty] bucket fails with.
var ErrInjected = errors.New("injected fault")

// Fault is what happens at the chosen write.
type Fault string

// The faults.
const (
	// FailBefore answers with an error and stores nothing; the bucket lives on.
	FailBefore Fault = "fail-before"
	// LoseAnswer stores the object and answers with an error; the bucket lives on.
	LoseAnswer Fault = "lose-answer"
	// CrashBefore stores nothing, and every later call fails: the process died
	// right before the write.
	CrashBefore Fault = "crash-before"
	// CrashAfter stores the object, and this and every later call fails: the
	// process died right after the write.
	CrashAfter Fault = "crash-after"
)

// Faults are all of them.
func Faults() []Fault { return []Fault{FailBefore, LoseAnswer, CrashBefore, CrashAfter} }

// Faulty is a bucket that fails at its At-th write, counted from 1. With At 0 it
// never fails and only counts.
type Faulty struct {
	storage.Bucket
	At    int
	Fault Fault

	mu      sync.Mutex
	keys    []string
	crashed bool
}

// Writes returns the keys of all writes that were tried, in order.
func (f *Faulty) Writes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.keys...)
}

// Get implements [storage.Bucket].
func (f *Faulty) Get(ctx context.Context, key string) (*storage.Object, error) {
	if f.isCrashed() {
		return nil, ErrInjected
	}
	return f.Bucket.Get(ctx, key)
}

// Stat implements [storage.Bucket].
func (f *Faulty) Stat(ctx context.Context, key string) (int64, error) {
	if f.isCrashed() {
		return 0, ErrInjected
	}
	return f.Bucket.Stat(ctx, key)
}

// List implements [storage.Bucket].
func (f *Faulty) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	if f.isCrashed() {
		return func(yield func(string, error) bool) { yield("", ErrInjected) }
	}
	return f.Bucket.List(ctx, prefix)
}

// Put implements [storage.Bucket].
func (f *Faulty) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	fault, err := f.next(key)
	if err != nil {
		return err
	}
	switch fault {
	case FailBefore, CrashBefore:
		return ErrInjected
	case LoseAnswer, CrashAfter:
		return errors.Join(ErrInjected, f.Bucket.Put(ctx, key, body))
	default:
		return f.Bucket.Put(ctx, key, body)
	}
}

func (f *Faulty) next(key string) (Fault, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return "", ErrInjected
	}
	f.keys = append(f.keys, key)
	if len(f.keys) != f.At {
		return "", nil
	}
	f.crashed = f.Fault == CrashBefore || f.Fault == CrashAfter
	return f.Fault, nil
}

func (f *Faulty) isCrashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}
