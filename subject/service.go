//go:build unix

package subject

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pugmark.dev/conform/process"
)

const (
	// readyTime is how long a service may take until it accepts connections.
	readyTime = 10 * time.Second
	// portTries is how often a service is started when somebody else was given
	// its port in between.
	portTries = 5
	// The times between two attempts to connect: nothing tells when a program
	// begins to listen.
	connectFirst = 5 * time.Millisecond
	connectLast  = 100 * time.Millisecond
)

// ServiceOptions is how a service is started. The zero value works.
type ServiceOptions struct {
	// Ready is how long it may take until the service accepts connections; 10 s
	// when 0.
	Ready time.Duration
	// Set is what the process belongs to, so that it ends when all has to.
	Set *process.Set
}

// Service is a handler that is reached by URL.
type Service struct {
	// URL is where it answers.
	URL string

	process *process.Process // nil when the user runs it
	args    []string
	output  *process.Capture
}

// StartService starts an HTTP handler on a free port and waits until it accepts
// connections. A command without arguments is a service that the user runs: it
// has to accept connections already. The context is that of the start alone; the
// service runs until Stop.
//
// A service that ends before it accepts connections is an error at once, with
// its exit status and the last lines that it printed.
func StartService(ctx context.Context, c ResolvedCommand, o ServiceOptions) (*Service, error) {
	if o.Ready <= 0 {
		o.Ready = readyTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Ready, fmt.Errorf("it does not accept connections within %v", o.Ready))
	defer cancel()
	if len(c.Args) == 0 {
		if err := dial(ctx, c.URL); err != nil {
			return nil, fmt.Errorf("the service at %s: %w; is it running?", c.URL, err)
		}
		return &Service{URL: c.URL}, nil
	}
	chosen := len(scan(c.URL)) > 0
	for try := 1; ; try++ {
		s, port, err := prepare(c, chosen)
		if err != nil {
			return nil, err
		}
		// Whoever answers already would be taken for the service. One who comes
		// between this look and the service's own bind is noticed when the
		// service ends for want of its port.
		if dial(ctx, s.URL) == nil {
			if chosen && try < portTries {
				continue
			}
			return nil, fmt.Errorf("start the service %s: somebody else answers at %s already; end that, or give the service a {port}", shown(s.args), s.URL)
		}
		err = s.start(ctx, c, o.Set)
		if err == nil {
			return s, nil
		}
		if !chosen || try == portTries || !errors.Is(err, errEnded) || free(port) {
			return nil, err
		}
	}
}

// errEnded is a service that ended before it was ready.
var errEnded = errors.New("the service has ended before it accepted connections")

// prepare gives the command its port, if it is to be chosen.
func prepare(c ResolvedCommand, chosen bool) (*Service, int, error) {
	s := &Service{URL: c.URL, args: c.Args, output: &process.Capture{}}
	if !chosen {
		return s, 0, nil
	}
	held, err := process.Reserve()
	if err != nil {
		return nil, 0, fmt.Errorf("choose a port: %w", err)
	}
	port := int(held.Addr.Port())
	if err := held.Close(); err != nil {
		return nil, 0, fmt.Errorf("choose a port: %w", err)
	}
	values := map[string]string{"port": strconv.Itoa(port)}
	s.URL, s.args = expand(c.URL, values), expandAll(c.Args, values)
	return s, port, nil
}

// start starts the program and waits until it accepts connections or ends.
func (s *Service) start(ctx context.Context, c ResolvedCommand, set *process.Set) error {
	p, err := set.Start(process.Command{Args: s.args, Dir: c.Dir, Env: c.Env, Stdout: s.output, Stderr: s.output})
	if err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	s.process = p
	ended := func() error {
		p.End(0) // also for the last of its output
		return fmt.Errorf("start the service %s: %w: %v%s", shown(s.args), errEnded, p.Wait(), lastOf(s.output))
	}
	for pause := connectFirst; ; pause = min(2*pause, connectLast) {
		reached := dial(ctx, s.URL) == nil
		select {
		case <-p.Done(): // so it was somebody else who answered, if anybody did
			return ended()
		default:
		}
		if reached {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-p.Done():
			timer.Stop()
			return ended()
		case <-ctx.Done():
			timer.Stop()
			p.End(endGrace)
			return fmt.Errorf("start the service %s at %s: %w%s", shown(s.args), s.URL, context.Cause(ctx), lastOf(s.output))
		case <-timer.C:
		}
	}
}

// Done is closed when the program has ended; nil for a service that the user runs.
func (s *Service) Done() <-chan struct{} {
	if s.process == nil {
		return nil
	}
	return s.process.Done()
}

// Stop ends the program and all that it has started, with SIGTERM and after
// grace by force. It may be called again. The error says what could not be
// ended. A service that the user runs is left alone.
func (s *Service) Stop(grace time.Duration) error {
	if s.process == nil {
		return nil
	}
	if left := s.process.End(grace).Left; left > 0 {
		return fmt.Errorf("stop the service %s: %d processes are left", shown(s.args), left)
	}
	return nil
}

// dial connects to the address of a URL and hangs up. The error names every
// address that was tried (F20).
func dial(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme // net knows the ports of http and https
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		return err
	}
	var failures []string
	for _, host := range hosts {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
		if err == nil {
			return conn.Close()
		}
		failures = append(failures, err.Error())
	}
	return errors.New(strings.Join(failures, "; "))
}

// free reports whether a port of 127.0.0.1 is nobody's.
func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
