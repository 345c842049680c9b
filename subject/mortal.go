//go:build unix

package subject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"pugmark.dev/conform/process"
)

// ErrKilled is what becomes of an operation whose runtime was killed under it.
var ErrKilled = errors.New("the runtime was killed")

// Mortal is a [Runtime] that can be killed as a loss of power kills one, once.
type Mortal interface {
	Runtime
	// Kill ends the runtime and all that it has started, at once and by force. It
	// returns when they are gone, so that whoever looks at the store then sees all
	// that they will ever have written. Operations under way, and those that follow,
	// return [ErrKilled].
	Kill() error
}

// Apart is a [Runtime] that can be had again, for those who mean to kill it.
type Apart interface {
	Runtime
	// Apart returns the same runtime, started anew, in processes that nobody else's
	// operations go to. Whoever asks closes it.
	Apart() Mortal
}

// Apart implements [Apart].
func (c *commands) Apart() Mortal {
	return &mortal{killer: &commands{templates: c.templates, dir: c.dir, cache: c.cache, env: c.env, set: &process.Set{}}}
}

// Apart implements [Apart].
func (d *driver) Apart() Mortal { return &mortal{killer: newDriver(d.command, d.limit)} }

// killer is a runtime of processes.
type killer interface {
	Runtime
	kill() error
}

// mortal tells what a kill has brought about from what went wrong by itself.
type mortal struct {
	killer
	killed atomic.Bool
}

// Kill implements [Mortal].
func (m *mortal) Kill() error {
	m.killed.Store(true)
	return m.kill()
}

func (m *mortal) outcome(op string, err error) error {
	if err != nil && m.killed.Load() {
		return fmt.Errorf("%s: %w", op, ErrKilled)
	}
	return err
}

// Start implements [Runtime].
func (m *mortal) Start(ctx context.Context, r StartRequest) (string, error) {
	session, err := m.killer.Start(ctx, r)
	return session, m.outcome(opStart, err)
}

// Push implements [Runtime].
func (m *mortal) Push(ctx context.Context, r PushRequest) error {
	return m.outcome(opPush, m.killer.Push(ctx, r))
}

// Run implements [Runtime].
func (m *mortal) Run(ctx context.Context, r RunRequest) (RunReply, error) {
	reply, err := m.killer.Run(ctx, r)
	return reply, m.outcome(opRun, err)
}

// Log implements [Runtime].
func (m *mortal) Log(ctx context.Context, store, session string) (json.RawMessage, error) {
	answer, err := m.killer.Log(ctx, store, session)
	return answer, m.outcome(opLog, err)
}

// Inspect implements [Runtime].
func (m *mortal) Inspect(ctx context.Context, store, session string) (json.RawMessage, error) {
	answer, err := m.killer.Inspect(ctx, store, session)
	return answer, m.outcome(opInspect, err)
}
