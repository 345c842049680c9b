package fakeruntime

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pugmark.dev/conform/transcript"
)

// http plays the invocation to a handler that exposes a URL (section 2.2).
func (p *player) http(ctx context.Context) error {
	ended, f, err := p.post(ctx, p.Target.URL, watched{})
	if err != nil {
		return err
	}
	p.log.Add(transcript.Event{Kind: transcript.Closed, Stream: transcript.Answer, Text: answerEnd(ended), Ended: &ended})
	return f.cause
}

// answerEnd is the text of the Closed event of the answer.
func answerEnd(e transcript.Ended) string {
	switch e.How {
	case transcript.HowAnswer:
		return byPeer
	case transcript.HowCut, transcript.HowNoAnswer:
		return byPeer + ": " + e.Detail
	}
	return byUs + ": " + e.Detail
}

// watched is the process behind a URL, when there is one that we know.
type watched struct {
	done  <-chan struct{} // nil without a process
	flood <-chan string
}

// heldBuffer is how many bytes this end of a connection keeps of an input the end of
// which is held back. The other end keeps its own, some hundred KiB at the most
// before the handler reads.
const heldBuffer = 16 << 10

// post makes the one POST of an invocation, on a connection of its own, and reads
// the answer while it still sends (R19). The request is written by hand, so that
// each write of the script is one write to the connection. How the answer ended
// is in the first result; whether the harness ended it, in the second.
func (p *player) post(ctx context.Context, target string, w watched) (transcript.Ended, forced, error) {
	u, err := url.Parse(target)
	if err != nil {
		return transcript.Ended{}, forced{}, err
	}
	if u.Scheme != "http" || u.Host == "" {
		return transcript.Ended{}, forced{}, fmt.Errorf("the handler's URL %q is not of the form http://host:port/path", target)
	}
	head, event, err := p.requestHead(u)
	if err != nil {
		return transcript.Ended{}, forced{}, err
	}
	limited, cancel := context.WithTimeout(ctx, p.Limit)
	defer cancel()
	conn, ended, f := p.dial(ctx, limited, u)
	if conn == nil {
		return ended, f, nil
	}
	defer conn.Close()
	if tcp, ok := conn.(*net.TCPConn); ok && p.Hold != nil {
		// What stands before the last write of a long input has then been read by the
		// handler, and not just put away by this end of the connection.
		if err := tcp.SetWriteBuffer(heldBuffer); err != nil {
			return transcript.Ended{}, forced{}, err
		}
	}
	p.log.Add(event)
	x := &exchange{player: p, conn: conn, number: event.HTTP.Exchange, stop: make(chan struct{}), flood: make(chan string, 1)}
	ended, f = x.run(ctx, limited, head, w)
	return ended, f, nil
}

// requestHead renders the head of the request, and the event that records it.
func (p *player) requestHead(u *url.URL) ([]byte, transcript.Event, error) {
	var length int
	for _, w := range p.stream.Writes {
		length += len(w)
	}
	fields := header(p.Identity, p.Trace)
	fields.Set("Host", u.Host)
	fields.Set("Content-Length", strconv.Itoa(length))
	fields.Set("Connection", "close") // no second request follows
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	path += "?" + query(u.RawQuery, p.Identity)

	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", path, u.Host)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields.Get(name)
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, transcript.Event{}, fmt.Errorf("the header %s can't carry %q", name, value)
		}
		if name != "Host" { // the first by custom
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	b.WriteString("\r\n")
	return b.Bytes(), transcript.Event{Kind: transcript.Request, Stream: transcript.Post, HTTP: &transcript.HTTP{
		Exchange: p.log.Exchange(), Method: http.MethodPost, Target: path, Proto: "HTTP/1.1", Header: fields, Length: int64(length),
	}}, nil
}

// dial connects to the first address of the URL's host that answers. When none
// does, every address and what it said is in the detail (F20).
func (p *player) dial(ctx, limited context.Context, u *url.URL) (net.Conn, transcript.Ended, forced) {
	none := func(detail string) (net.Conn, transcript.Ended, forced) {
		switch {
		case ctx.Err() != nil:
			f := cancelled(ctx)
			return nil, transcript.Ended{How: f.how, Detail: f.why}, f
		case limited.Err() != nil:
			f := p.hung()
			return nil, transcript.Ended{How: f.how, Detail: f.why + " before there was a connection: " + detail}, f
		}
		return nil, transcript.Ended{How: transcript.HowNoAnswer, Detail: detail}, forced{}
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	addresses, err := net.DefaultResolver.LookupIPAddr(limited, u.Hostname())
	if err != nil {
		return none(err.Error())
	}
	conn, problems := connect(limited, addresses, port)
	if conn == nil {
		return none(problems)
	}
	return conn, transcript.Ended{}, forced{}
}

// connect tries the addresses in order and says what each of them answered.
func connect(ctx context.Context, addresses []net.IPAddr, port string) (net.Conn, string) {
	var problems []string
	for _, a := range addresses {
		address := net.JoinHostPort(a.String(), port)
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn, ""
		}
		problems = append(problems, fmt.Sprintf("connect to %s: %s", address, reason(err)))
	}
	return nil, strings.Join(problems, "; ")
}

// exchange is a request and its answer under way.
type exchange struct {
	*player
	conn   net.Conn
	number int
	stop   chan struct{} // no more of the request is wanted
	flood  chan string
}

func (x *exchange) run(ctx, limited context.Context, head []byte, w watched) (transcript.Ended, forced) {
	fed := make(chan struct{})
	go func() { defer close(fed); x.request(head) }()
	answered := make(chan transcript.Ended, 1)
	go func() { answered <- x.answer() }()

	var ended *transcript.Ended
	var f forced
	select {
	case e := <-answered:
		ended = &e
	case <-w.done:
		ended = x.last(answered)
	case name := <-w.flood:
		f = x.flooded(name)
	case name := <-x.flood:
		f = x.flooded(name)
	case <-limited.Done():
		if f = x.hung(); ctx.Err() != nil {
			f = cancelled(ctx)
		}
	}
	select {
	case name := <-x.flood: // and then it came to its end by itself
		f = x.flooded(name)
	default:
	}
	if f.how != "" {
		x.log.Add(transcript.Event{Kind: transcript.Killed, Text: f.why})
	}
	close(x.stop)
	x.conn.SetWriteDeadline(time.Now())
	<-fed // what was written is recorded before the connection is gone
	x.conn.Close()
	if ended == nil {
		e := <-answered
		ended = &e
	}
	if f.how != "" {
		ended.How, ended.Detail = f.how, f.why
	}
	return *ended, f
}

// last waits for what a process that has died had still sent. It returns nil
// when nothing ends the answer: a process that was left behind may hold the
// connection.
func (x *exchange) last(answered <-chan transcript.Ended) *transcript.Ended {
	timer := time.NewTimer(x.Grace)
	defer timer.Stop()
	select {
	case e := <-answered:
		return &e
	case <-timer.C:
		return nil
	}
}

// request sends the head and feeds the body. That the peer takes no more is no
// fault as long as an answer comes (R19).
func (x *exchange) request(head []byte) {
	_, err := x.conn.Write(head)
	if err == nil {
		err = x.feed(x.conn, transcript.Post, x.stop)
	}
	if err != nil {
		x.broken(transcript.Post, err)
		return
	}
	x.closed(transcript.Post, byUs, "")
}

// answer reads the response to its end. Interim responses are recorded and
// passed over; a redirect is an answer like any other (R25).
func (x *exchange) answer() transcript.Ended {
	t := &tap{from: x.conn}
	in := bufio.NewReaderSize(t, 64<<10)
	for {
		response, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
		if err != nil {
			return x.noResponse(t, err)
		}
		x.log.Add(transcript.Event{Kind: transcript.Response, Stream: transcript.Answer, HTTP: &transcript.HTTP{
			Exchange: x.number, Proto: response.Proto, Status: response.StatusCode, Header: responseHeader(response),
		}})
		if response.StatusCode < 200 && response.StatusCode != http.StatusSwitchingProtocols {
			rest, _ := in.Peek(in.Buffered())
			t.head = bytes.Clone(rest)
			continue
		}
		ended := x.body(response)
		if n := in.Buffered(); n > 0 && ended.How == transcript.HowAnswer {
			rest, _ := in.Peek(n)
			x.log.Add(transcript.Event{Kind: transcript.Note, Text: "bytes after the end of the answer", Data: rest})
		}
		return ended
	}
}

// noResponse is the end of a connection that brought no response, or none that
// can be understood.
func (x *exchange) noResponse(t *tap, err error) transcript.Ended {
	if len(t.head) == 0 {
		detail := "the connection was closed before an answer came"
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			detail = "before an answer came: " + reason(err)
		}
		return transcript.Ended{How: transcript.HowNoAnswer, Detail: detail}
	}
	x.log.Add(transcript.Event{Kind: transcript.Note, Text: "what came in place of an HTTP response", Data: t.head})
	why := fmt.Sprintf("no HTTP response: %v", err)
	if bytes.HasPrefix(t.head, []byte("HTTP/1.")) && !bytes.Contains(t.head, []byte("\r\n\r\n")) && !bytes.Contains(t.head, []byte("\n\n")) {
		why = "the answer ended within its head" // the library blames the line that it was in
	}
	return transcript.Ended{How: transcript.HowCut, Detail: fmt.Sprintf("%s; it begins %q", why, t.head[:min(len(t.head), 64)])}
}

// body reads the body of a response.
func (x *exchange) body(response *http.Response) transcript.Ended {
	m := meter{limit: x.OutputLimit}
	var drops dropper
	buffer := make([]byte, 64<<10)
	for {
		n, err := response.Body.Read(buffer)
		if n > 0 {
			x.log.Add(transcript.Event{Kind: transcript.Received, Stream: transcript.Answer, Data: buffer[:n]})
			if m.passed(n) {
				x.flood <- transcript.Answer
			}
			drops.gather(n)
		}
		switch {
		case err == nil:
		case err == io.EOF:
			return transcript.Ended{How: transcript.HowAnswer, Code: response.StatusCode}
		default:
			detail := fmt.Sprintf("the body ended after %d bytes: %s", m.total, reason(err))
			if response.ContentLength >= 0 {
				detail = fmt.Sprintf("the body ended after %d of %d bytes: %s", m.total, response.ContentLength, reason(err))
			}
			return transcript.Ended{How: transcript.HowCut, Code: response.StatusCode, Detail: detail}
		}
	}
}

// responseHeader is the fields of a response with those that the library keeps
// apart put back.
func responseHeader(r *http.Response) map[string][]string {
	h := r.Header.Clone()
	if len(r.TransferEncoding) > 0 {
		h["Transfer-Encoding"] = r.TransferEncoding
	}
	return h
}

// tap keeps the beginning of what it reads, for the case that it is no response.
type tap struct {
	from io.Reader
	head []byte
}

func (t *tap) Read(b []byte) (int, error) {
	n, err := t.from.Read(b)
	const kept = 4 << 10
	t.head = append(t.head, b[:min(n, kept-min(len(t.head), kept))]...)
	return n, err
}
