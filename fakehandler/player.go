package fakehandler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/script"
)

// StatusFault is the exit status of a scripted handler whose script, or whose
// record, is at fault; on rpc and http the answer has the status 500. No runtime
// causes it. See [Fault].
const StatusFault = 99

// channel is what the transport gives an invocation.
type channel interface {
	// write sends data as one write, after waiting for pause.
	write(data []byte, pause time.Duration) error
	// shape sets how the answer is made; only before anything was written.
	shape(script.Answer) error
	// close closes stdin or stdout.
	close(stream string) error
	// diagnose writes to standard error.
	diagnose(data []byte) error
	// own reports whether the invocation has a process that it may end.
	own() bool
}

// player plays one turn of a script to one invocation.
type player struct {
	folder  string
	rec     *record
	in      *input
	out     channel
	trace   protocol.TraceContext
	framing script.Framing
	// before is the framing's Before while it has yet to be written.
	before string
	// left is how many Outputs the turn will still write.
	left int
	// wrote: the next write is not the first.
	wrote bool
	// kept is the connections that fetches leave open, or nil.
	kept *http.Transport
	// broken: the peer no longer takes Outputs.
	broken bool
	// prefix is the part of the argument list by which the program gets to Main.
	prefix []string
}

// outcome is how a turn ended: by itself with a status, or, on a process of its
// own, by a signal that has yet to be sent.
type outcome struct {
	status int
	signal string
}

// loadTurn reads the script and returns what it holds for the invocation with this
// number, checked.
func loadTurn(path string, number int) ([]Op, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	var s Script
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("script %s: %w", path, err)
	}
	turn := number - s.First - 1
	if turn < 0 || turn >= len(s.Turns) {
		return nil, nil
	}
	for i, op := range s.Turns[turn] {
		if err := op.Check(); err != nil {
			return nil, fmt.Errorf("script %s: turn %d, operation %d: %w", path, turn+1, i+1, err)
		}
	}
	return s.Turns[turn], nil
}

// play does the turn's operations in order. An error is a fault of the script.
func (p *player) play(ctx context.Context, turn []Op) (outcome, error) {
	p.left = countOutputs(turn)
	defer func() {
		if p.kept != nil {
			p.kept.CloseIdleConnections()
		}
	}()
	if len(turn) == 0 || turn[0].Read == "" {
		p.in.all()
	}
	for i, op := range turn {
		kind, err := op.Kind()
		if err == nil {
			var end *outcome
			if end, err = p.do(ctx, kind, op); end != nil && err == nil {
				return *end, nil
			}
		}
		if err != nil {
			return outcome{}, fmt.Errorf("operation %d: %s: %w", i+1, kind, err)
		}
		if ctx.Err() != nil {
			break // the peer has gone: nothing that follows can be seen
		}
	}
	if p.broken {
		return outcome{status: 1}, nil // what a program does that can't write
	}
	return outcome{}, nil
}

// do does one operation. A result that is not nil ends the turn.
func (p *player) do(ctx context.Context, kind string, op Op) (*outcome, error) {
	switch kind {
	case "read":
		return nil, p.read(op)
	case "emit":
		return nil, p.emit(ctx, op.Emit)
	case "pause":
		return nil, p.emit(ctx, op.Pause.emit())
	case "raw":
		data, err := op.Raw.Stored()
		if err != nil {
			return nil, err
		}
		p.deliver(ctx, data)
	case "stderr":
		data, err := op.Stderr.Stored()
		if err != nil {
			return nil, err
		}
		return nil, p.out.diagnose(data)
	case "framing":
		p.framing, p.before = *op.Framing, op.Framing.Before
	case "fetch":
		p.fetch(ctx, op.Fetch)
	case "wait":
		sleep(ctx, time.Duration(op.Wait))
	case "wait-for":
		return nil, p.waitFor(ctx, op.WaitFor)
	case "close":
		return nil, p.out.close(op.Close)
	case "grandchild":
		return nil, p.grandchild(op.Grandchild)
	case "answer":
		return nil, p.out.shape(*op.Answer)
	case "exit":
		return &outcome{status: *op.Exit}, nil
	case "signal":
		if !p.out.own() {
			return nil, errNoProcess
		}
		return &outcome{signal: op.Signal}, nil
	case "hang":
		p.hang(ctx)
		return &outcome{status: 1}, nil
	}
	return nil, nil
}

func (p *player) read(op Op) error {
	n, err := op.records()
	if err != nil {
		return err
	}
	switch op.Read {
	case ReadAll:
		p.in.all()
	case ReadLifecycle:
		p.in.lifecycle()
	case ReadNone:
	default:
		p.in.count(n)
	}
	return nil
}

// countOutputs is how many Outputs a turn writes before it ends.
func countOutputs(turn []Op) (n int) {
	for _, op := range turn {
		switch {
		case op.Emit != nil:
			n += max(op.Emit.Times, 1)
		case op.Pause != nil:
			n++
		case op.Exit != nil, op.Signal != "", op.Hang:
			return n
		}
	}
	return n
}

// emit writes the record as often as it says, each with what follows it.
func (p *player) emit(ctx context.Context, e *Emit) error {
	for i := range max(e.Times, 1) {
		text, err := renderOutput(e.numbered(i+1), p.framing)
		if err != nil {
			return err
		}
		p.left--
		data := append([]byte(p.before), text...)
		p.before = ""
		p.deliver(ctx, append(data, separator(p.framing, p.left == 0)...))
	}
	return nil
}

// deliver writes data in writes of the framing's size, with its pause between any
// two writes. That the peer no longer takes it is recorded, and no fault.
func (p *player) deliver(ctx context.Context, data []byte) {
	size := p.framing.Chunk
	if size == 0 {
		size = max(len(data), 1)
	}
	for len(data) > 0 && !p.broken && ctx.Err() == nil {
		n := min(size, len(data))
		var pause time.Duration
		if p.wrote {
			pause = time.Duration(p.framing.Pause)
		}
		if err := p.out.write(data[:n], pause); err != nil {
			p.broken = true
		}
		p.wrote = true
		data = data[n:]
	}
}

// lookEvery is how often waitFor looks: often enough that a race which a case
// arranges is not decided by it.
const lookEvery = 2 * time.Millisecond

// The notes of an invocation that waits for a file, before and after its name.
const (
	waitingNote = "waiting for "
	goneOnNote  = " is there"
)

// waitFor waits until the file is there. The file is the agreement between stage
// and script; there is no process to wait for.
func (p *player) waitFor(ctx context.Context, name string) error {
	p.rec.note("%s%s", waitingNote, name)
	for ctx.Err() == nil {
		_, err := os.Stat(filepath.Join(p.folder, name))
		if err == nil {
			p.rec.note("%s%s", name, goneOnNote)
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		sleep(ctx, lookEvery)
	}
	return nil
}

// hang ends with ctx, which a process of its own never does.
func (p *player) hang(ctx context.Context) {
	p.rec.note("hanging")
	if p.out.own() {
		ignoreTermination()
		ctx = context.WithoutCancel(ctx)
	}
	for ctx.Err() == nil {
		sleep(ctx, time.Hour)
	}
}

// sleep waits for d, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errNoProcess = errors.New("the invocation has no process of its own on http")

// fault records that the script is at fault.
func (p *player) fault(err error) { p.rec.note("%s%v", FaultNote, err) }
