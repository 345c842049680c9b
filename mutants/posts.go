package mutants

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
)

// dialed makes a runtime whose requests go another way. It takes effect where
// invocations are posted.
func dialed(dial reference.Dial) func() *stage.Reference {
	return transported(func(t reference.Transport) reference.Transport {
		switch t := t.(type) {
		case reference.HTTP:
			t.Dial = dial
			return t
		case *reference.RPC:
			t.Dial = dial
		}
		return t
	})
}

func usualDial(ctx context.Context, network, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, address)
}

// request is what is posted, as it stands on the wire.
type request struct {
	// line is the request line, and head the lines of the header.
	line string
	head []string
	body []byte
	// chunked sends the body in chunks.
	chunked bool
}

// field returns the value of a header field, or "".
func (q *request) field(name string) string {
	for _, line := range q.head {
		if field, value, _ := strings.Cut(line, ":"); strings.EqualFold(field, name) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// set sets a header field, in its old place or last.
func (q *request) set(name, value string) {
	for i, line := range q.head {
		if field, _, _ := strings.Cut(line, ":"); strings.EqualFold(field, name) {
			q.head[i] = name + ": " + value
			return
		}
	}
	q.head = append(q.head, name+": "+value)
}

// drop leaves a header field out.
func (q *request) drop(name string) {
	q.head = slices.DeleteFunc(q.head, func(line string) bool {
		field, _, _ := strings.Cut(line, ":")
		return strings.EqualFold(field, name)
	})
}

// query changes the query of the request's target.
func (q *request) query(change func(pairs []string) []string) {
	parts := strings.Split(q.line, " ")
	path, query, _ := strings.Cut(parts[1], "?")
	parts[1] = path + "?" + strings.Join(change(strings.Split(query, "&")), "&")
	q.line = strings.Join(parts, " ")
}

// inChunks sends the body in chunks, without saying its length.
func (q *request) inChunks() {
	q.drop("Content-Length")
	q.set("Transfer-Encoding", "chunked")
	q.chunked = true
}

// chunkSize is the size of the chunks of a request in bytes.
const chunkSize = 8 << 10

func (q *request) bytes() []byte {
	var b bytes.Buffer
	b.WriteString(q.line + "\r\n" + strings.Join(q.head, "\r\n") + "\r\n\r\n")
	if !q.chunked {
		b.Write(q.body)
		return b.Bytes()
	}
	for chunk := range slices.Chunk(q.body, chunkSize) {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(chunk), chunk)
	}
	b.WriteString("0\r\n\r\n")
	return b.Bytes()
}

// posting makes a runtime that posts other requests than it should.
func posting(id, requirement, sentence string, change func(*request)) Mutant {
	return Mutant{
		ID: "runtime/" + id, Requirement: requirement, Sentence: sentence, Transports: posted(),
		Runtime: dialed(rewriter(change)),
	}
}

// posted is the transports on which invocations are posted.
func posted() []string { return []string{protocol.TransportRPC, protocol.TransportHTTP} }

// rewriter dials connections on which each request is another than was written.
func rewriter(change func(*request)) reference.Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := usualDial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &changedConn{Conn: conn, change: change}, nil
	}
}

// changedConn holds a request back until it is whole, and sends another.
type changedConn struct {
	net.Conn
	change  func(*request)
	pending []byte
	// end is where the request ends in pending; 0 is not known yet.
	end int
}

func (c *changedConn) Write(p []byte) (int, error) {
	c.pending = append(c.pending, p...)
	head, _, whole := bytes.Cut(c.pending, []byte("\r\n\r\n"))
	if !whole {
		return len(p), nil
	}
	lines := strings.Split(string(head), "\r\n")
	q := &request{line: lines[0], head: lines[1:]}
	begin := len(head) + len("\r\n\r\n")
	if c.end == 0 {
		length := 0
		if _, err := fmt.Sscan(q.field("Content-Length"), &length); err != nil {
			return 0, fmt.Errorf("a request without its length: %w", err)
		}
		c.end = begin + length
	}
	if len(c.pending) < c.end {
		return len(p), nil
	}
	q.body = c.pending[begin:c.end]
	c.pending, c.end = nil, 0
	c.change(q)
	if _, err := c.Conn.Write(q.bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
