package stage

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
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

	mu     sync.Mutex
	idle   map[string][]*server
	fixed  map[string]*sync.Mutex
	closed bool
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

// lease returns a server for the subject's handler on rpc or http. A case that
// needs variables of its own gets a process of its own.
func (p *Pool) lease(ctx context.Context, h *HandlerSubject, transport string, variables map[string]string) (lease, error) {
	if transport == protocol.TransportHTTP && h.Served == nil && len(h.HTTP.Args) == 0 {
		return p.fixedURL(h.HTTP.URL, variables)
	}
	key := h.Name + "\x00" + transport
	own := len(variables) > 0
	if !own {
		if s := p.take(key); s != nil {
			return p.lend(key, s), nil
		}
	}
	s, err := p.start(ctx, h, transport, variables)
	if err != nil {
		return lease{}, err
	}
	if own {
		return lease{target: s.target, release: s.stop}, nil
	}
	return p.lend(key, s), nil
}

// fixedURL is a service that someone else runs: one request at a time.
func (p *Pool) fixedURL(url string, variables map[string]string) (lease, error) {
	if len(variables) > 0 {
		return lease{}, fmt.Errorf("%s is started by someone else, so it can't be given variables", url)
	}
	p.mu.Lock()
	if p.fixed == nil {
		p.fixed = map[string]*sync.Mutex{}
	}
	if p.fixed[url] == nil {
		p.fixed[url] = &sync.Mutex{}
	}
	turn := p.fixed[url]
	p.mu.Unlock()
	turn.Lock()
	return lease{target: fakeruntime.Target{URL: url}, release: turn.Unlock}, nil
}

func (p *Pool) take(key string) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle[key]) > 0 {
		last := len(p.idle[key]) - 1
		s := p.idle[key][last]
		p.idle[key] = p.idle[key][:last]
		if s.usable() {
			return s
		}
		go s.stop()
	}
	return nil
}

// lend hands s out. A process that an invocation has ended, or that died, is not
// used again: the next case starts another.
func (p *Pool) lend(key string, s *server) lease {
	return lease{target: s.target, release: func() {
		p.mu.Lock()
		keep := !p.closed && s.usable()
		if keep {
			if p.idle == nil {
				p.idle = map[string][]*server{}
			}
			p.idle[key] = append(p.idle[key], s)
		}
		p.mu.Unlock()
		if !keep {
			s.stop()
		}
	}}
}

func (p *Pool) start(ctx context.Context, h *HandlerSubject, transport string, variables map[string]string) (*server, error) {
	if transport == protocol.TransportRPC {
		rpc, err := fakeruntime.StartRPC(ctx, fakeruntime.Target{
			Command: h.RPC.Args, Dir: h.RPC.Dir, Env: h.RPC.Env, Variables: variables, Programs: p.Programs,
		})
		if err != nil {
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
	service, err := subject.StartService(ctx, command, subject.ServiceOptions{Set: p.Programs})
	if err != nil {
		return nil, err
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
	all := p.idle
	p.idle = nil
	p.mu.Unlock()
	var ending sync.WaitGroup
	for _, servers := range all {
		for _, s := range servers {
			ending.Go(s.stop)
		}
	}
	ending.Wait()
}
