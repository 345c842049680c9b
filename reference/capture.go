package reference

import (
	"fmt"
	"strings"
	"sync"
)

// captureEach is how many bytes a [Capture] keeps of the beginning, and as many of
// the end.
const captureEach = 8 << 10

// Capture keeps the head and the tail of what is written to it, and counts it all.
// The zero value is ready for use, by several goroutines.
type Capture struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte
	total int64
}

// Write never fails.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(p))
	rest := p
	if room := captureEach - len(c.head); room > 0 {
		n := min(room, len(rest))
		c.head = append(c.head, rest[:n]...)
		rest = rest[n:]
	}
	if len(rest) >= captureEach {
		c.tail = append(c.tail[:0], rest[len(rest)-captureEach:]...)
		return len(p), nil
	}
	c.tail = append(c.tail, rest...)
	if over := len(c.tail) - captureEach; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return len(p), nil
}

// Total is the number of bytes written.
func (c *Capture) Total() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// String gives what was kept as valid UTF-8, with the number of bytes left out
// between head and tail. It is empty for a nil Capture.
func (c *Capture) String() string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	omitted := c.total - int64(len(c.head)) - int64(len(c.tail))
	if omitted == 0 {
		return strings.ToValidUTF8(string(c.head)+string(c.tail), "\uFFFD")
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s",
		strings.ToValidUTF8(string(c.head), "\uFFFD"), omitted, strings.ToValidUTF8(string(c.tail), "\uFFFD"))
}
