package fakeruntime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/transcript"
)

// By is the name that the transcripts of this package carry.
const By = "fakeruntime"

// The values of an [Invocation]'s fields that are zero.
const (
	DefaultLimit       = 10 * time.Second
	DefaultOutputLimit = 64 << 20 // bytes of one stream
	DefaultGrace       = 500 * time.Millisecond
)

// Invocation is one invocation of a handler under test. Case, Identity, Trace and
// Script say what the handler is given; Target says who it is.
type Invocation struct {
	// Case is the case's ID, for errors. Told is what instructions call the case: a
	// handler that follows them sees it. It is the ID when empty.
	Case     string
	Told     string
	Identity protocol.Identity
	Trace    Trace
	Script   Script
	Target   Target
	// Limit is the time that the handler has, from its start on, or from when it is
	// connected to; then it is ended as a hang.
	Limit time.Duration
	// OutputLimit is how many bytes the handler may write to stdout or its answer,
	// and as many again to stderr, before it is ended as a flood. The transcript
	// keeps fewer of them.
	OutputLimit int64
	// Grace is how long a process that outlives the handler may go on holding its
	// streams (R22), and how long the end of an RPC process is waited for when its
	// connection broke.
	Grace time.Duration
	// Hold, when set, is called when the input stream has gone out but for its last
	// write, which follows as soon as it returns; or, if an answer of the script is held,
	// before that answer instead, each time that it is asked for. stop is closed when the
	// rest is not wanted any more. Limit goes on meanwhile.
	Hold func(stop <-chan struct{})
	// Kept, when set, takes over the invocation's two servers, which go on
	// answering until it is closed. Invocations that share one follow one another.
	Kept *Kept
}

// Target is the handler under test: a program to start for this invocation
// (Command), a handler that exposes a URL (URL), or a process in RPC mode
// ([Server.Target]).
type Target struct {
	// Command is the program and its arguments; Dir is its working folder.
	Command []string
	Dir     string
	// Env is the environment that the program starts from, as NAME=value. Every
	// PUGMARK_* and trace variable is taken out of it.
	Env []string
	// Variables are set over everything else, those of the identity included.
	Variables map[string]string
	// Programs is the set that the program is started in, so that the harness can
	// end it; nil is none.
	Programs *process.Set

	// URL is where a handler on the HTTP transport takes its POSTs; the path and
	// the query that it has are kept. Only http is spoken.
	URL string

	server *Server
}

// ErrServerEnded is an invocation of a [Server] that was stopped, or that was
// ended because an earlier invocation hung, flooded or died. It is no fact about
// this invocation: start another server.
var ErrServerEnded = errors.New("the process in RPC mode was ended before this invocation")

// Play plays the invocation and returns everything that happened, and the name of
// the record behind each path of the object server (see [Stream].Names). Whatever
// the handler does is in the transcript, which then ends with how it ended. An
// error is a fault of the script or of the harness, or the cause of ctx: then the
// handler was ended at once, and the transcript holds what had happened.
//
// When Play returns, nothing of it is left: no goroutine, no listener, and no
// process but those of a [Server]. What Kept took over is ended by its Close.
//
// A script's hold is for the subprocess transport: on the others the request ends
// with its last record, since its length is announced.
func (inv Invocation) Play(ctx context.Context) (transcript.Transcript, map[string]string, error) {
	p := &player{Invocation: inv, log: &transcript.Recorder{}}
	if p.Limit <= 0 {
		p.Limit = DefaultLimit
	}
	if p.OutputLimit <= 0 {
		p.OutputLimit = DefaultOutputLimit
	}
	if p.Grace <= 0 {
		p.Grace = DefaultGrace
	}
	names, err := p.play(ctx)
	if err != nil {
		err = fmt.Errorf("play %s over %s: %w", inv.Case, inv.Target.transport(), err)
	}
	return p.log.Transcript(By, inv.Target.transport()), names, err
}

// player is an invocation under way.
type player struct {
	Invocation
	log    *transcript.Recorder
	stream Stream
}

func (p *player) play(ctx context.Context) (map[string]string, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	servers, err := listen(p.Script.MemoryRoot, p.log, p.Kept)
	if err != nil {
		return nil, err
	}
	if p.Kept != nil {
		p.Kept.begin(p.log)
		defer p.Kept.keep(servers)
	} else {
		defer servers.close()
	}
	if p.stream, err = Compose(p.told(), p.Script, servers.roots()); err != nil {
		return nil, err
	}
	if p.Script.HoldsAnswer() {
		servers.hold, p.Hold = p.Hold, nil
	}
	servers.serve(p.stream)
	switch p.Target.transport() {
	case protocol.TransportRPC:
		err = p.rpc(ctx)
	case protocol.TransportHTTP:
		err = p.http(ctx)
	default:
		err = p.subprocess(ctx)
	}
	return p.stream.Names, err
}

// told is what instructions call the case.
func (inv Invocation) told() string {
	if inv.Told == "" {
		return inv.Case
	}
	return inv.Told
}

func (t Target) transport() string {
	switch {
	case t.server != nil:
		return protocol.TransportRPC
	case t.URL != "":
		return protocol.TransportHTTP
	}
	return protocol.TransportSubprocess
}

// errStopped is the end of a feed that was not wanted any more.
var errStopped = errors.New("stopped")

// feed delivers the input stream, one write after the other, and records each. It
// returns the error of the write that failed, or errStopped. Closing stop ends
// it between two writes; a write that blocks is ended by the caller's deadline.
func (p *player) feed(w io.Writer, name string, stop <-chan struct{}) error {
	for i, b := range p.stream.Writes {
		pause := time.Duration(p.Script.Pause)
		if i == 0 {
			pause = 0
		}
		pause = max(pause, p.stream.late[i])
		if !wait(pause, stop) {
			return errStopped
		}
		if i == len(p.stream.Writes)-1 && p.Hold != nil {
			p.log.Add(transcript.Event{Kind: transcript.Note, Stream: name, Text: transcript.HeldNote})
			p.Hold(stop)
			if !wait(0, stop) {
				return errStopped
			}
			p.log.Add(transcript.Event{Kind: transcript.Note, Stream: name, Text: transcript.ReleasedNote})
		}
		if p.stream.late[i] > 0 {
			// Sent is recorded after the write, when the peer may have answered.
			p.log.Add(transcript.Event{Kind: transcript.Note, Stream: name, Text: transcript.LateNote})
		}
		n, err := w.Write(b)
		if n > 0 {
			p.log.Add(transcript.Event{Kind: transcript.Sent, Stream: name, Data: b[:n]})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wait waits, and reports false as soon as stop is closed.
func wait(d time.Duration, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	default:
	}
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}

// The words of a Closed event.
const (
	byUs   = "by us"
	byPeer = "by the peer"
)

// closed records the end of a stream. The text is byUs or byPeer and, where the
// end is not the plain one, a colon and the reason.
func (p *player) closed(name, by, why string) {
	if why != "" {
		by += ": " + why
	}
	p.log.Add(transcript.Event{Kind: transcript.Closed, Stream: name, Text: by})
}

// broken records the end of an input stream that was not fed to its end.
func (p *player) broken(name string, err error) {
	switch {
	case errors.Is(err, errStopped), errors.Is(err, os.ErrDeadlineExceeded):
		p.closed(name, byUs, "not all of it was wanted")
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		p.closed(name, byPeer, reason(err))
	default:
		p.closed(name, byUs, reason(err))
	}
}

// reason is the innermost text of an I/O error, without the addresses and paths
// that the transcript has elsewhere.
func reason(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}

func (p *player) note(format string, args ...any) {
	p.log.Add(transcript.Event{Kind: transcript.Note, Text: fmt.Sprintf(format, args...)})
}

// shellQuoted is an argument list as a shell would take it.
func shellQuoted(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsFunc(a, special) {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// special reports whether a shell may see more than itself in a character.
func special(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("-_./:=@%+,", r)
}
