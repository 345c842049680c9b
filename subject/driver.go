//go:build unix

package subject

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/process"
)

const (
	// quitTime is how long a driver may take to end after `quit` and the end of
	// its stdin.
	quitTime = 2 * time.Second
	// exitTime is how long a driver whose streams have ended is given to end too,
	// so that its exit status can be told.
	exitTime = time.Second
)

// Driver drives a runtime by the driver of its file. dir is the folder of the
// file and cache its {cache}. At most processes drivers run at the same time; 0
// means twice GOMAXPROCS, which is how many cases run at the same time unless the
// user says otherwise.
//
// An operation goes to a process that has nothing to do; one is started when
// there is none, and only when there are as many as there may be do operations
// share a process. So a case is not judged by what another one does to its
// driver, and a driver that does one thing at a time serves too. Any process may
// be asked about any store.
//
// An operation's failure is an *Error: of the kind that the driver answers, or of
// kind Crash when it ended, or broke the agreement and was ended for it. Then the
// next operation starts a new process. What goes wrong while nobody waits, as an
// answer given twice or an exit between two requests, fails the next operation
// with kind Crash, or Close. When ctx ends, the process is ended with all that it
// has started, or, if other operations share it, as soon as these have their
// answers; the error wraps the cause. A run with an environment of its own has a
// process of its own.
func Driver(f *File, dir, cache string, processes int) (Runtime, error) {
	switch {
	case f.Kind != KindRuntime:
		return nil, fmt.Errorf("subject %s: it is a %s, not a runtime", f.Name, f.Kind)
	case f.Driver == nil:
		return nil, fmt.Errorf("subject %s: it has no `driver`", f.Name)
	}
	c := ResolvedCommand{
		Args: expandAll(f.Driver, map[string]string{"cache": cache, "dir": dir}), Dir: dir, Env: Environment(os.Environ()),
	}
	return newDriver(c, processes), nil
}

func newDriver(c ResolvedCommand, processes int) *driver {
	if processes <= 0 {
		processes = 2 * runtime.GOMAXPROCS(0)
	}
	return &driver{command: c, limit: processes, set: &process.Set{}, apart: map[*driver]bool{}}
}

// driver is a Runtime.
type driver struct {
	command ResolvedCommand
	limit   int
	set     *process.Set
	ids     atomic.Int64

	// mu guards what follows, and the fields of each driverProcess that say so.
	mu     sync.Mutex
	usable []*driverProcess
	// faults is what went wrong while nobody waited, until somebody is told.
	faults []*fault
	// apart is those that serve one run each.
	apart  map[*driver]bool
	closed bool
}

// Start implements Runtime.
func (d *driver) Start(ctx context.Context, r StartRequest) (string, error) {
	var ok startOK
	err := d.do(ctx, &startCall{
		callHead: d.head(opStart, r.Store), Session: r.Session, Agent: r.Agent, Handler: r.Handler,
		Metadata: r.Metadata, Namespaces: r.Namespaces,
	}, func(text jsontext.Value) error {
		if err := json.Unmarshal(text, &ok); err != nil {
			return err
		}
		if !isSession(ok.Session) {
			return fmt.Errorf("`session` is to be 32 lower-case hex digits and not all zero; it is %s", quoted([]byte(ok.Session)))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return ok.Session, nil
}

// Push implements Runtime.
func (d *driver) Push(ctx context.Context, r PushRequest) error {
	return d.do(ctx, &pushCall{
		callHead: d.head(opPush, r.Store), Session: r.Session, Body: r.Body, Name: r.Name, ContentType: r.ContentType,
		ContentEncoding: r.ContentEncoding, SchemaURL: r.SchemaURL, Metadata: r.Metadata,
	}, func(text jsontext.Value) error {
		var ok pushOK
		if err := json.Unmarshal(text, &ok); err != nil {
			return err
		}
		return checkVersion(ok.Version)
	})
}

// Run implements Runtime.
func (d *driver) Run(ctx context.Context, r RunRequest) (RunReply, error) {
	if len(r.Environment) > 0 {
		return d.runApart(ctx, r)
	}
	var ok runOK
	err := d.do(ctx, &runCall{
		callHead: d.head(opRun, r.Store), Session: r.Session, Once: r.Once, HandlerSpec: r.Default, Handlers: r.Named,
		TraceParent: r.TraceParent, TraceState: r.TraceState,
	}, func(text jsontext.Value) error {
		if err := json.Unmarshal(text, &ok); err != nil {
			return err
		}
		switch ok.State {
		case "", "ran", "idle", "paused":
		default:
			return fmt.Errorf("`state` is one of ran, idle and paused; it is %s", quoted([]byte(ok.State)))
		}
		return checkVersion(ok.Version)
	})
	if err != nil {
		return RunReply{}, err
	}
	return RunReply{Version: ok.Version, State: ok.State}, nil
}

// runApart is a run in an environment of its own: it gets a driver of its own.
func (d *driver) runApart(ctx context.Context, r RunRequest) (RunReply, error) {
	c := d.command
	c.Env = slices.Clone(c.Env)
	for _, name := range slices.Sorted(maps.Keys(r.Environment)) {
		c.Env = append(c.Env, name+"="+r.Environment[name])
	}
	r.Environment = nil
	apart := newDriver(c, 1)
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return RunReply{}, fmt.Errorf("%s: %w", opRun, process.ErrEnded)
	}
	d.apart[apart] = true
	d.mu.Unlock()
	reply, err := apart.Run(ctx, r)
	closing := apart.Close()
	d.mu.Lock()
	delete(d.apart, apart)
	d.mu.Unlock()
	switch {
	case err != nil:
		return RunReply{}, err
	case closing != nil:
		return RunReply{}, &Error{opRun, Crash, closing.Error()}
	}
	return reply, nil
}

func checkVersion(version *int64) error {
	if version != nil && *version < 0 {
		return fmt.Errorf("`version` is %d", *version)
	}
	return nil
}

// Log implements Runtime. What is in an entry is the judge's to say.
func (d *driver) Log(ctx context.Context, store, session string) (stdjson.RawMessage, error) {
	var found stdjson.RawMessage
	err := d.do(ctx, &logCall{d.head(opLog, store), session}, func(text jsontext.Value) error {
		var ok struct {
			Entries []jsontext.Value `json:"entries"`
		}
		if err := json.Unmarshal(text, &ok); err != nil {
			return err
		}
		if ok.Entries == nil {
			return errors.New("`entries` is to be a list of objects; it is missing")
		}
		for i, entry := range ok.Entries {
			if entry.Kind() != '{' {
				return fmt.Errorf("entry %d is to be an object; it is %s", i+1, quoted(entry))
			}
		}
		found = stdjson.RawMessage(text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Inspect implements Runtime. What is in the dump is the judge's to say.
func (d *driver) Inspect(ctx context.Context, store, session string) (stdjson.RawMessage, error) {
	var found stdjson.RawMessage
	err := d.do(ctx, &inspectCall{d.head(opInspect, store), session}, func(text jsontext.Value) error {
		found = stdjson.RawMessage(text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Close implements Runtime: every driver is asked to quit, its stdin is closed,
// and what then still lives is ended with SIGTERM and by force. The error says
// what went wrong and nobody was told, also that a driver did not quit.
func (d *driver) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	usable, apart := d.usable, slices.Collect(maps.Keys(d.apart))
	d.usable = nil
	d.mu.Unlock()

	var quitting sync.WaitGroup
	for _, other := range apart {
		quitting.Go(func() { other.Close() }) // who runs on it is told
	}
	for _, p := range usable {
		quitting.Go(p.quit)
	}
	quitting.Wait()
	left := d.set.EndAll(endGrace).Left

	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, fault := range d.faults {
		errs = append(errs, errors.New("close the runtime: "+fault.told()))
	}
	if left > 0 {
		errs = append(errs, fmt.Errorf("close the runtime: %d processes are left", left))
	}
	return errors.Join(errs...)
}

// kill ends every process by SIGKILL, and nothing starts after it.
func (d *driver) kill() error {
	d.mu.Lock()
	d.closed = true // who waits is told that it was ended
	apart := slices.Collect(maps.Keys(d.apart))
	d.usable = nil
	d.mu.Unlock()
	errs := make([]error, len(apart)+1)
	var killing sync.WaitGroup
	for i, other := range apart {
		killing.Go(func() { errs[i] = other.kill() })
	}
	if left := d.set.EndAll(0).Left; left > 0 {
		errs[len(apart)] = fmt.Errorf("kill the runtime: %d processes are left", left)
	}
	killing.Wait()
	return errors.Join(errs...)
}

func (d *driver) head(op, store string) callHead {
	return callHead{ID: d.ids.Add(1), Op: op, Store: store}
}

// call is a request that can be written.
type call interface{ name() (id int64, op string) }

// waiter is an operation that waits for its answer.
type waiter struct {
	op   string
	take func(jsontext.Value) error
	done chan error // of one element
}

// do asks, and waits for the answer or the end of ctx.
func (d *driver) do(ctx context.Context, c call, take func(jsontext.Value) error) error {
	id, op := c.name()
	stopped := func() error { return fmt.Errorf("%s: %w", op, context.Cause(ctx)) }
	line, err := encodedCall(c)
	if err != nil {
		return &Error{op, Unsupported, "the request is no JSON: " + err.Error()}
	}
	if ctx.Err() != nil {
		return stopped()
	}
	w := &waiter{op: op, take: take, done: make(chan error, 1)}
	p, before, err := d.enter(id, w)
	if before != nil {
		return &Error{op, Crash, "before this request: " + before.told()}
	}
	if err != nil {
		return err
	}
	torn := p.send(ctx, line)
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		select {
		case err := <-w.done: // it came in time
			return err
		default:
		}
		p.abandon(id, torn)
		return stopped()
	}
}

func encodedCall(c call) ([]byte, error) {
	line, err := json.Marshal(c, json.Deterministic(true))
	return append(line, '\n'), err
}

// enter gives a request to a process, unless something went wrong before that
// nobody was told.
func (d *driver) enter(id int64, w *waiter) (p *driverProcess, before *fault, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil, fmt.Errorf("%s: %w", w.op, process.ErrEnded)
	}
	if len(d.faults) > 0 {
		before, d.faults = d.faults[0], d.faults[1:]
		return nil, before, nil
	}
	var chosen *driverProcess
	for _, p := range d.usable {
		if chosen == nil || len(p.waiting) < len(chosen.waiting) {
			chosen = p
		}
	}
	if chosen == nil || len(chosen.waiting) > 0 && len(d.usable) < d.limit {
		p, err := startDriver(d)
		if err != nil {
			return nil, nil, startFailed(w.op, "the driver", err)
		}
		d.usable = append(d.usable, p)
		chosen = p
	}
	chosen.waiting[id] = w
	chosen.seen[id] = w.op
	return chosen, nil, nil
}

// startFailure is a program that could not be started: an Error for whoever asks
// what became of the operation, and the cause.
type startFailure struct {
	failure *Error
	cause   error
}

func (e *startFailure) Error() string { return e.failure.Error() }

func (e *startFailure) Unwrap() []error { return []error{e.failure, e.cause} }

// startFailed is the error of an operation whose program could not be started, or
// not be waited for. That the program is not there, or is none, is the runtime's
// doing, and its crash; anything else says nothing of it.
func startFailed(op, what string, err error) error {
	for _, kind := range []error{process.ErrNoProgram, process.ErrNotFound, process.ErrNotExecutable, process.ErrNoFolder} {
		if errors.Is(err, kind) {
			return &startFailure{&Error{op, Crash, what + " does not start: " + err.Error()}, err}
		}
	}
	return fmt.Errorf("%s: %w", op, err)
}
