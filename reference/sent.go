package reference

import (
	"net"
	"sync/atomic"
)

// sentConn knows how much of a request its peer can have read.
type sentConn struct {
	net.Conn
	// bytes is how many were handed to this system.
	bytes atomic.Int64
	// finished is closed when nothing more will be written; err then says why not all was.
	finished chan struct{}
	err      error
}

func newSentConn(conn net.Conn) *sentConn {
	return &sentConn{Conn: conn, finished: make(chan struct{})}
}

// Write implements [net.Conn].
func (c *sentConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// finish says that the request was written, or why it was not. It is called once.
func (c *sentConn) finish(err error) {
	c.err = err
	close(c.finished)
}

// wait waits for finish and returns its error.
func (c *sentConn) wait() error {
	<-c.finished
	return c.err
}

// unread reports whether it is certain that the peer has not read all of the
// request: not all was written, or not all of it arrived at the peer's system. That
// it arrived does not mean that it was read. It is asked after the connection was
// reset, which ends all writing.
func (c *sentConn) unread() bool {
	if c.wait() != nil {
		return true
	}
	arrived, known := acknowledged(c.Conn)
	return known && arrived < c.bytes.Load()
}
