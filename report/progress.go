package report

import (
	"fmt"
	"io"
	"slices"
	"time"

	"pugmark.dev/conform/result"
)

// tick is how often the progress line shows the time anew, and at most how often
// it is written: a run of fast cases must not spend its time on the terminal.
const tick = 100 * time.Millisecond

// logged is how often a line says how far a run is where no line can be rewritten.
const logged = 15 * time.Second

// rewrite takes the cursor to the start of the line and empties the line.
const rewrite = "\r\x1b[K"

// progress is how far a run is.
type progress struct {
	total, done, failing int
	running              []string
	started, shown       time.Time
	visible, ended       bool
	stop                 chan struct{} // closed to end the ticking
	stopped              chan struct{} // closed when it has ended
}

// Begin says how many results there will be, which may also
// be said later or never. The progress line appears with it or with the first case
// and stays until [Terminal.End] or [Terminal.Summary]. Without Progress and Log, and
// after the end, Begin, Started and Finished do nothing.
func (t *Terminal) Begin(total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress.total = total
	t.begin()
}

// begin starts the progress line, once. It reports whether there is one.
func (t *Terminal) begin() bool {
	p := &t.progress
	if !t.Progress && t.Log == nil || p.ended {
		return false
	}
	if p.stop == nil {
		p.started, p.stop, p.stopped = t.time(), make(chan struct{}), make(chan struct{})
		go t.tick(p.stop, p.stopped)
	}
	return true
}

// tick shows the passing time, so that a case which hangs does not look like a
// harness that does.
func (t *Terminal) tick(stop, stopped chan struct{}) {
	defer close(stopped)
	every, say := tick, t.show
	if !t.Progress {
		every, say = logged, t.log
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			t.mu.Lock()
			say()
			t.mu.Unlock()
		}
	}
}

// Started says that a case began on a transport.
func (t *Terminal) Started(id, transport string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begin() {
		return
	}
	t.progress.running = append(t.progress.running, label(id, transport))
	t.showSometimes()
}

// Finished says that a case came to its verdict.
func (t *Terminal) Finished(c result.Case) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.progress
	if !t.begin() {
		return
	}
	p.done++
	if isFailing(c.Verdict) {
		p.failing++
	}
	if i := slices.Index(p.running, label(c.ID, c.Transport)); i >= 0 {
		p.running = slices.Delete(p.running, i, i+1)
	}
	t.showSometimes()
}

// End takes the progress line away. Whoever called Begin calls it before anything
// else is written to the same terminal, also when the run broke off.
func (t *Terminal) End() {
	t.mu.Lock()
	stop, stopped := t.progress.stop, t.progress.stopped
	t.progress.stop, t.progress.ended = nil, true
	t.mu.Unlock()
	if stop == nil {
		return
	}
	close(stop)
	<-stopped
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress.visible {
		t.progress.visible = false
		_, _ = io.WriteString(t.Out, rewrite) // a line that can't be taken away harms no one
	}
}

func (t *Terminal) showSometimes() {
	if t.Progress && t.time().Sub(t.progress.shown) >= tick {
		t.show()
	}
}

// show writes the progress line anew.
func (t *Terminal) show() {
	p := &t.progress
	if p.stop == nil {
		return
	}
	p.shown = t.time()
	head := fmt.Sprintf("%d/%d", p.done, p.total)
	if p.total == 0 {
		head = count(p.done, "result")
	}
	line, plain := t.paint(dim, head), len(head)
	add := func(s style, text string) {
		// The last column stays empty: some terminals wrap when it is written.
		text = cutTo(text, t.width()-1-plain-2)
		if text == "" {
			return
		}
		line += "  " + t.paint(s, text)
		plain += 2 + columns(text)
	}
	add(dim, Duration(p.shown.Sub(p.started).Milliseconds()/100*100))
	if p.failing > 0 {
		add(red, fmt.Sprintf("%d failing", p.failing))
	}
	if n := len(p.running); n > 0 {
		// The oldest: what takes long is what one wants to know.
		text := clean(p.running[0])
		if n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
		add(plainStyle, text)
	}
	p.visible = true
	_, _ = io.WriteString(t.Out, rewrite+line) // progress that can't be shown harms no one
}

// log writes how far the run is, in a line of its own.
func (t *Terminal) log() {
	p := &t.progress
	if p.stop == nil {
		return
	}
	head := count(p.done, "result")
	if p.total > 0 {
		head = fmt.Sprintf("%d of %s", p.done, count(p.total, "result"))
	}
	line := fmt.Sprintf("%s, %d failed, %s", head, p.failing, elapsed(t.time().Sub(p.started)))
	_, _ = fmt.Fprintln(t.Log, line) // progress that can't be shown harms no one
}

// elapsed is a time in whole seconds.
func elapsed(d time.Duration) string {
	s := int64(d / time.Second)
	if s < 60 {
		return fmt.Sprintf("%d s", s)
	}
	return Duration(s * 1000)
}

// label names a case on a transport as its evidence folder does.
func label(id, transport string) string { return result.EvidenceFolder(id, transport) }
