//go:build unix

package subject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// ErrKilled is what becomes of an operation whose runtime was killed under it.
var ErrKilled = errors.New("the runtime was killed")

// Killable is a [Runtime] that can be killed as a loss of power kills one.
type Killable interface {
	Runtime
	// Kill ends the runtime and all that it has started, at once and by force. It
	// returns when they are gone, so that whoever looks at the store then sees all
	// that they will ever have written. Operations under way return [ErrKilled],
	// those that follow start the runtime anew.
	Kill() error
}

// Apart is a [Runtime] that can be had a second time, for those who mean to kill it.
type Apart interface {
	Runtime
	// Apart returns the same runtime in processes that nobody else's operations go
	// to. Whoever asks closes it.
	Apart() Killable
}

// Apart implements [Apart].
func (c *commands) Apart() Killable {
	return newKillable(func() mortal { return c.again() })
}

// Apart implements [Apart].
func (d *driver) Apart() Killable {
	return newKillable(func() mortal { return newDriver(d.command, d.limit) })
}

// mortal is a runtime that can be killed once.
type mortal interface {
	Runtime
	kill() error
}

// killable has a new runtime after each kill.
type killable struct {
	open func() mortal

	mu     sync.Mutex
	life   *life
	closed bool
}

// life is the time from one kill to the next.
type life struct {
	mortal
	killed atomic.Bool
}

func newKillable(open func() mortal) *killable {
	return &killable{open: open, life: &life{mortal: open()}}
}

func (k *killable) now() *life {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.life
}

// outcome is an operation's error: one that a kill has brought about says so.
func (l *life) outcome(op string, err error) error {
	if err != nil && l.killed.Load() {
		return fmt.Errorf("%s: %w", op, ErrKilled)
	}
	return err
}

// Kill implements [Killable].
func (k *killable) Kill() error {
	k.mu.Lock()
	old := k.life
	old.killed.Store(true)
	if !k.closed {
		k.life = &life{mortal: k.open()}
	}
	k.mu.Unlock()
	return old.kill()
}

// Start implements [Runtime].
func (k *killable) Start(ctx context.Context, r StartRequest) (string, error) {
	l := k.now()
	session, err := l.Start(ctx, r)
	return session, l.outcome(opStart, err)
}

// Push implements [Runtime].
func (k *killable) Push(ctx context.Context, r PushRequest) error {
	l := k.now()
	return l.outcome(opPush, l.Push(ctx, r))
}

// Run implements [Runtime].
func (k *killable) Run(ctx context.Context, r RunRequest) (RunReply, error) {
	l := k.now()
	reply, err := l.Run(ctx, r)
	return reply, l.outcome(opRun, err)
}

// Log implements [Runtime].
func (k *killable) Log(ctx context.Context, store, session string) (json.RawMessage, error) {
	l := k.now()
	answer, err := l.Log(ctx, store, session)
	return answer, l.outcome(opLog, err)
}

// Inspect implements [Runtime].
func (k *killable) Inspect(ctx context.Context, store, session string) (json.RawMessage, error) {
	l := k.now()
	answer, err := l.Inspect(ctx, store, session)
	return answer, l.outcome(opInspect, err)
}

// Close implements [Runtime].
func (k *killable) Close() error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	return k.now().Close()
}
