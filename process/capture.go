package process

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// DefaultCapture is how many bytes a Capture without a Limit keeps.
const DefaultCapture = 64 << 10

// Capture is a writer that keeps the beginning and the end of what is written
// and counts what it leaves out between them (F1, F45). Its memory is bounded
// by its limit. The zero value is ready. It never fails, and is safe for
// concurrent use.
type Capture struct {
	// Limit is how many bytes are kept, half of them from the beginning; 0
	// means DefaultCapture. It must not change after the first Write.
	Limit int

	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full: the oldest byte is at next
	next  int
	total int64
}

// Captured is what a Capture has kept at one moment. With nothing left out,
// Tail is empty and Head is everything.
type Captured struct {
	Head, Tail []byte
	LeftOut    int64 // bytes between Head and Tail
}

// Write keeps what it has room for. It always takes everything.
func (c *Capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(b)
	c.total += int64(n)
	headLimit, tailLimit := c.limits()

	if room := headLimit - len(c.head); room > 0 {
		take := min(room, len(b))
		c.head = append(c.head, b[:take]...)
		b = b[take:]
	}
	if len(b) >= tailLimit { // the rest alone fills the tail
		c.tail, c.next = append(c.tail[:0], b[len(b)-tailLimit:]...), 0
		return n, nil
	}
	if room := tailLimit - len(c.tail); room > 0 {
		take := min(room, len(b))
		c.tail = append(c.tail, b[:take]...)
		b = b[take:]
	}
	for len(b) > 0 {
		copied := copy(c.tail[c.next:], b)
		b = b[copied:]
		c.next = (c.next + copied) % tailLimit
	}
	return n, nil
}

// Total is how many bytes were written.
func (c *Capture) Total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// Captured gives a copy of what is kept, byte for byte. Where something was
// left out, a character that the cut went through is left out whole and
// counted, so that Head ends and Tail begins at a border of UTF-8.
func (c *Capture) Captured() Captured {
	c.mu.Lock()
	defer c.mu.Unlock()
	head := append([]byte(nil), c.head...)
	tail := append(append([]byte(nil), c.tail[c.next:]...), c.tail[:c.next]...)
	leftOut := c.total - int64(len(head)+len(tail))
	if leftOut == 0 {
		return Captured{Head: append(head, tail...)}
	}
	h, t := cutEnd(head), cutStart(tail)
	leftOut += int64(len(head) - len(h) + len(tail) - len(t))
	return Captured{Head: h, Tail: t, LeftOut: leftOut}
}

// String is Captured().String().
func (c *Capture) String() string { return c.Captured().String() }

// String is the text, with a note of its own line where bytes were left out.
// Bytes that are no UTF-8 stay as they are.
func (c Captured) String() string {
	if c.LeftOut == 0 {
		return string(c.Head) + string(c.Tail)
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", c.Head, c.LeftOut, c.Tail)
}

func (c *Capture) limits() (head, tail int) {
	limit := c.Limit
	if limit <= 0 {
		limit = DefaultCapture
	}
	return limit / 2, limit - limit/2
}

// cutEnd drops the beginning of a character at the end of b. Bytes that could
// not become one are kept.
func cutEnd(b []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		at := len(b) - back
		if utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at]
			}
			break
		}
	}
	return b
}

// cutStart drops the rest of a character at the start of b.
func cutStart(b []byte) []byte {
	at := 0
	for at < len(b) && at < utf8.UTFMax-1 && !utf8.RuneStart(b[at]) {
		at++
	}
	return b[at:]
}
