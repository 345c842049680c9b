//go:build unix

package subject

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"pugmark.dev/conform/process"
)

// driverProcess is one running driver.
type driverProcess struct {
	of            *driver
	process       *process.Process
	stdin, stdout *os.File
	stderr        *process.Capture
	// writing is held by who writes to stdin.
	writing chan struct{}
	// gone is closed when the process has ended and its output was read.
	gone chan struct{}

	// The rest is guarded by of.mu.

	// seen is the operation of every request that was ever made, by ID.
	seen map[int64]string
	// waiting is who waits for an answer. Those in given have gone away, so that
	// their answer is awaited by nobody, and may come.
	waiting map[int64]*waiter
	given   map[int64]bool
	// retired ends the process with its last waiter.
	retired bool
	// quitting is the time after `quit`: now it may end.
	quitting bool
	// over says that somebody has begun to end it, or has seen that it ended.
	over bool
}

// startDriver starts a process. The caller holds d.mu.
func startDriver(d *driver) (*driverProcess, error) {
	p := &driverProcess{
		of: d, stderr: &process.Capture{}, writing: make(chan struct{}, 1), gone: make(chan struct{}),
		seen: map[int64]string{}, waiting: map[int64]*waiter{}, given: map[int64]bool{},
	}
	started, pipes, err := d.set.StartPiped(process.Command{Args: d.command.Args, Dir: d.command.Dir, Env: d.command.Env, Stderr: p.stderr})
	if err != nil {
		return nil, err
	}
	p.process, p.stdin, p.stdout = started, pipes.Stdin, pipes.Stdout
	go p.read()
	go func() {
		// What it has started may hold its stdout, which then never ends.
		<-started.Done()
		started.End(endGrace)
		p.stdout.SetReadDeadline(time.Now().Add(exitTime))
	}()
	return p, nil
}

// send writes a line. torn says that a part of it may have been written, and the
// rest will never be, because ctx has ended.
func (p *driverProcess) send(ctx context.Context, line []byte) (torn bool) {
	select {
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
	case <-ctx.Done():
		return false
	case <-p.gone:
		return false
	}
	// A driver that does not read must not hold us longer than ctx.
	stop := context.AfterFunc(ctx, func() { p.stdin.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err := p.stdin.Write(line)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return true
	default:
		// It has ended or closed its stdin. If it has ended, its stdout tells more.
		timer := time.NewTimer(exitTime)
		defer timer.Stop()
		select {
		case <-p.gone:
		case <-ctx.Done():
		case <-timer.C:
			p.conclude("the driver has closed its stdin")
		}
	}
	return false
}

// read takes the answers until stdout ends or makes no sense.
func (p *driverProcess) read() {
	defer close(p.gone)
	defer p.stdin.Close()
	defer p.stdout.Close()
	r := bufio.NewReaderSize(p.stdout, 64<<10)
	for number := 1; ; number++ {
		line, err := readLine(r, maxOutput)
		text := bytes.TrimSpace(line)
		wrong := ""
		switch {
		case errors.Is(err, errLongLine):
			wrong = fmt.Sprintf("line %d of the driver's stdout has more than %d bytes; it begins with %s", number, maxOutput, quoted(line[:excerptLine]))
		case err != nil && len(text) > 0:
			wrong = fmt.Sprintf("the driver's stdout ends in the middle of line %d: %s", number, quoted(line))
		case err != nil:
			p.conclude("")
			return
		case len(text) == 0:
			continue
		default:
			if fault := p.answer(text); fault != nil {
				wrong = fmt.Sprintf("line %d of the driver's stdout is no answer: %v: %s", number, fault, quoted(text))
			}
		}
		if wrong != "" {
			p.conclude(wrong)
			return
		}
	}
}

// answer gives an answer to who waits for it. The error says why it is none.
func (p *driverProcess) answer(line []byte) error {
	a, err := answerOf(line)
	if err != nil {
		return err
	}
	id := *a.ID
	p.of.mu.Lock()
	w, op, given := p.waiting[id], p.seen[id], p.given[id]
	delete(p.given, id)
	p.of.mu.Unlock()
	switch {
	case op == "":
		return fmt.Errorf("there is no request %d", id)
	case given:
		return nil
	case w == nil:
		return fmt.Errorf("request %d (%s) was answered before", id, op)
	}
	failure, wrong := a.outcome(op, w.take)
	if wrong != nil {
		return wrong
	}
	p.of.mu.Lock()
	if p.waiting[id] == w {
		delete(p.waiting, id)
	}
	last := p.retired && len(p.waiting) == 0 && !p.over
	p.over = p.over || last
	p.of.mu.Unlock()
	if failure != nil {
		w.done <- failure
	} else {
		w.done <- nil
	}
	if last {
		p.process.End(endGrace)
	}
	return nil
}

// abandon is for a request whose caller goes away. A process that nobody else
// waits for is ended, and has when this returns.
func (p *driverProcess) abandon(id int64, torn bool) {
	d := p.of
	d.mu.Lock()
	if p.waiting[id] != nil {
		delete(p.waiting, id)
		p.given[id] = true
	}
	p.detach()
	shared := len(p.waiting) > 0 && !p.over
	if !shared {
		p.over = true
	}
	p.retired = true
	d.mu.Unlock()
	switch {
	case shared && torn:
		p.conclude("the driver did not read a request to its end")
	case !shared:
		p.process.End(endGrace)
		<-p.gone
	}
}

// quit asks the driver to end, and sees to it that it does.
func (p *driverProcess) quit() {
	ctx, cancel := context.WithTimeout(context.Background(), quitTime)
	defer cancel()
	c := &quitCall{ID: p.of.ids.Add(1), Op: opQuit}
	line, err := encodedCall(c)
	p.of.mu.Lock()
	p.quitting = true
	p.seen[c.ID] = opQuit
	p.given[c.ID] = true // its answer may come
	p.of.mu.Unlock()
	if err == nil {
		p.send(ctx, line)
	}
	p.stdin.Close()
	select {
	case <-p.gone:
	case <-ctx.Done():
		p.conclude(fmt.Sprintf("the driver has not ended within %v of `quit` and the end of its stdin", quitTime))
		<-p.gone
	}
}

// conclude ends the process and tells everybody who waits. wrong is what it did;
// empty when its stdout ended.
func (p *driverProcess) conclude(wrong string) {
	d := p.of
	d.mu.Lock()
	if p.over {
		d.mu.Unlock()
		return
	}
	p.over = true
	p.detach()
	waiting, stopped := p.waiting, d.closed && wrong == ""
	p.waiting = nil
	untold := fault{ready: make(chan struct{})}
	if len(waiting) == 0 && !(p.quitting && wrong == "") {
		d.faults = append(d.faults, &untold)
	}
	d.mu.Unlock()

	if wrong == "" {
		wrong = "the driver has closed its stdout"
		timer := time.NewTimer(exitTime)
		defer timer.Stop()
		select {
		case <-p.process.Done():
			wrong = "the driver has ended: " + p.process.Wait().String()
		case <-timer.C:
		}
	}
	p.process.End(endGrace)
	wrong += lastOf(p.stderr)

	untold.text = wrong
	close(untold.ready)
	for _, w := range waiting {
		if stopped {
			w.done <- fmt.Errorf("%s: %w", w.op, process.ErrEnded)
			continue
		}
		w.done <- &Error{w.op, Crash, wrong}
	}
}

// fault is what a process did while nobody waited for it.
type fault struct {
	ready chan struct{} // closed when text is there
	text  string
}

// told waits for the text: a process that has ended is looked at first.
func (f *fault) told() string {
	<-f.ready
	return f.text
}

// detach lets no more requests in. The caller holds of.mu.
func (p *driverProcess) detach() {
	if i := slices.Index(p.of.usable, p); i >= 0 {
		p.of.usable = slices.Delete(p.of.usable, i, i+1)
	}
}

var errLongLine = errors.New("the line is too long")

// readLine reads a line of at most limit bytes, without its end. At the end of
// the stream the line is what there is of it.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit+1 || len(line) == limit+1 && err != nil:
			return line, errLongLine
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, os.ErrDeadlineExceeded):
			return line, io.EOF
		default:
			return line, err
		}
	}
}
