package stage

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/process"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/subject"
)

// stopGrace is how long a process may take to end after SIGTERM.
const stopGrace = 2 * time.Second

// Pool keeps the handler processes that serve many cases: each takes one request
// at a time, so there are as many as cases run at the same time. The zero value
// works; Close ends them all.
type Pool struct {
	// Programs is the set that processes are started in.
	Programs *process.Set
	// Ready is how long a service may take until it accepts connections; zero is
	// what [subject.StartService] gives it.
	Ready time.Duration

	mu      sync.Mutex
	shelves map[string]*shelf
	closed  bool
	ending  sync.WaitGroup
}

// shelf is the servers of one handler on one transport.
type shelf struct {
	idle []*server // guarded by the pool's mu
	// turn is held by who uses a handler of which there can be only one, since its
	// address is fixed.
	turn sync.Mutex
	// first is held while no start has been tried yet. When that fails the others
	// would too, each after its time: then broken says why.
	first  sync.Mutex
	tried  bool
	broken error
}

// server is one process, or one service in this process, that takes invocations.
type server struct {
	target fakeruntime.Target
	usable func() bool
	stop   func()
}

// lease is a server that one case has for itself.
type lease struct {
	target  fakeruntime.Target
	release func()
}

// startError is a handler that could not be started: a fact about the subject, not
// about the harness.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// lease returns a server for the subject's handler on rpc or http. A case that
// needs variables of its own gets a process of its own.
func (p *Pool) lease(ctx context.Context, h *HandlerSubject, transport string, variables map[string]string) (lease, error) {
	here := p.shelf(h.Name + "\x00" + transport)
	if transport != protocol.TransportHTTP || h.Served != nil || strings.Contains(h.HTTP.URL, "{port}") {
		return p.lend(ctx, here, h, transport, variables)
	}
	here.turn.Lock()
	if len(h.HTTP.Args) == 0 { // someone else runs it
		return lease{target: fakeruntime.Target{URL: h.HTTP.URL}, release: here.turn.Unlock}, nil
	}
	if len(variables) > 0 {
		for s := p.take(here); s != nil; s = p.take(here) {
			s.stop() // it has the address
		}
	}
	l, err := p.lend(ctx, here, h, transport, variables)
	if err != nil {
		here.turn.Unlock()
		return lease{}, err
	}
	release := l.release
	l.release = func() {
		release()
		here.turn.Unlock()
	}
	return l, nil
}

func (p *Pool) shelf(key string) *shelf {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shelves == nil {
		p.shelves = map[string]*shelf{}
	}
	if p.shelves[key] == nil {
		p.shelves[key] = &shelf{}
	}
	return p.shelves[key]
}

// lend hands out an idle server, or a new one. A process that an invocation has
// ended, or that died, is not used again: the next case starts another.
func (p *Pool) lend(ctx context.Context, here *shelf, h *HandlerSubject, transport string, variables map[string]string) (lease, error) {
	own := len(variables) > 0
	if !own {
		if s := p.take(here); s != nil {
			return lease{s.target, func() { p.giveBack(here, s) }}, nil
		}
	}
	here.first.Lock()
	if here.tried {
		here.first.Unlock()
	} else {
		defer here.first.Unlock()
	}
	if here.broken != nil {
		return lease{}, here.broken
	}
	s, err := p.start(ctx, h, transport, variables)
	var refused *startError
	if !here.tried && (err == nil || errors.As(err, &refused)) {
		here.tried, here.broken = true, err
	}
	switch {
	case err != nil:
		return lease{}, err
	case own:
		return lease{s.target, s.stop}, nil
	}
	return lease{s.target, func() { p.giveBack(here, s) }}, nil
}

// take returns an idle server of the shelf, or nil.
func (p *Pool) take(here *shelf) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(here.idle) > 0 {
		last := len(here.idle) - 1
		s := here.idle[last]
		here.idle = here.idle[:last]
		if s.usable() {
			return s
		}
		p.ending.Go(s.stop)
	}
	return nil
}

func (p *Pool) giveBack(here *shelf, s *server) {
	p.mu.Lock()
	keep := !p.closed && s.usable()
	if keep {
		here.idle = append(here.idle, s)
	}
	p.mu.Unlock()
	if !keep {
		s.stop()
	}
}

func (p *Pool) start(ctx context.Context, h *HandlerSubject, transport string, variables map[string]string) (*server, error) {
	if transport == protocol.TransportRPC {
		rpc, err := fakeruntime.StartRPC(ctx, fakeruntime.Target{
			Command: h.RPC.Args, Dir: h.RPC.Dir, Env: h.RPC.Env, Variables: variables, Programs: p.Programs,
		})
		switch {
		case err == nil:
		case errors.Is(err, process.ErrNotFound), errors.Is(err, process.ErrNotExecutable), errors.Is(err, process.ErrNoFolder):
			return nil, &startError{err}
		default:
			return nil, err
		}
		return &server{target: rpc.Target(), usable: rpc.Usable, stop: func() { rpc.Stop(stopGrace) }}, nil
	}
	if h.Served != nil {
		return serveHere(h.Served)
	}
	command := *h.HTTP
	command.Env = slices.Clone(command.Env)
	for name, value := range variables {
		command.Env = append(command.Env, name+"="+value)
	}
	service, err := subject.StartService(ctx, command, subject.ServiceOptions{Set: p.Programs, Ready: p.Ready})
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.Is(err, process.ErrEnded):
		return nil, err
	default:
		return nil, &startError{err}
	}
	return &server{
		target: fakeruntime.Target{URL: service.URL},
		usable: func() bool {
			select {
			case <-service.Done():
				return false
			default:
				return true
			}
		},
		stop: func() { service.Stop(stopGrace) },
	}, nil
}

// serveHere serves a handler in this process.
func serveHere(handler http.Handler) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	service := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		service.Serve(listener)
	}()
	return &server{
		target: fakeruntime.Target{URL: "http://" + listener.Addr().String() + "/"},
		usable: func() bool { return true },
		stop: func() {
			service.Close()
			<-done
		},
	}, nil
}

// Close ends every process of the pool. Servers that are still lent out end when
// they are released.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, here := range p.shelves {
		for _, s := range here.idle {
			p.ending.Go(s.stop)
		}
		here.idle = nil
	}
	p.mu.Unlock()
	p.ending.Wait()
}
