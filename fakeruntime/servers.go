package fakeruntime

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/transcript"
)

// servers is the object server and the memory server of one invocation
// (section 7), each on a port of 127.0.0.1 of its own (F20: the URLs name the
// address, so that nothing has to be resolved).
//
// They are written by hand over the connection, since a script can want answers
// that an HTTP library would put right. Every request is recorded, whatever its
// method. GET and HEAD get the answer; to the others section 7 promises nothing,
// and they get 405.
type servers struct {
	log        *transcript.Recorder
	kept       *Kept  // where the servers go when their invocation is over, or nil
	memoryRoot string // the path, with a slash at both ends
	listeners  [2]net.Listener
	stream     Stream
	hold       func(stop <-chan struct{}) // waits before an answer that is held, or nil

	stop chan struct{}
	wg   sync.WaitGroup
	mu   sync.Mutex
	live map[net.Conn]bool // nil when stopped
}

// listen opens both ports; nothing is answered before serve.
func listen(memoryRoot string, log *transcript.Recorder, kept *Kept) (*servers, error) {
	if memoryRoot == "" {
		memoryRoot = "/memories/" // as section 8.1 shows it
	}
	if !strings.HasPrefix(memoryRoot, "/") || !strings.HasSuffix(memoryRoot, "/") {
		return nil, fmt.Errorf("memory-root: %q has no slash at both ends; to announce a wrong root set url on the memory record", memoryRoot)
	}
	if strings.ContainsAny(memoryRoot, " %?#") {
		return nil, fmt.Errorf("memory-root: %q is no plain path", memoryRoot)
	}
	s := &servers{log: log, kept: kept, memoryRoot: memoryRoot, stop: make(chan struct{}), live: map[net.Conn]bool{}}
	for i, name := range []string{transcript.Objects, transcript.Memory} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			s.close()
			return nil, fmt.Errorf("listen for the %s server: %w", name, err)
		}
		s.listeners[i] = l
	}
	return s, nil
}

// roots is where the servers are reached.
func (s *servers) roots() Roots {
	return Roots{
		Objects: "http://" + s.listeners[0].Addr().String() + "/",
		Memory:  "http://" + s.listeners[1].Addr().String() + s.memoryRoot,
	}
}

// serve begins to answer with what the stream holds.
func (s *servers) serve(stream Stream) {
	s.stream = stream
	s.wg.Add(2)
	go s.accept(s.listeners[0], transcript.Objects, s.object)
	go s.accept(s.listeners[1], transcript.Memory, s.memory)
}

// close ends both servers and all connections, and waits until nothing runs.
func (s *servers) close() {
	s.mu.Lock()
	conns := s.live
	s.live = nil
	s.mu.Unlock()
	if conns == nil {
		return
	}
	close(s.stop)
	for _, l := range s.listeners {
		if l != nil {
			l.Close()
		}
	}
	for c := range conns {
		c.Close()
	}
	s.wg.Wait()
}

// find returns the answer for the path of a request.
type find func(path string) (reply, bool)

func (s *servers) accept(l net.Listener, name string, find find) {
	defer s.wg.Done()
	for {
		conn, err := l.Accept()
		if err != nil {
			return // closed; a loopback listener fails in no other way that can be mended
		}
		s.mu.Lock()
		if s.live == nil {
			s.mu.Unlock()
			conn.Close()
			return
		}
		s.live[conn] = true
		s.wg.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.wg.Done()
			defer func() {
				conn.Close()
				s.mu.Lock()
				delete(s.live, conn)
				s.mu.Unlock()
			}()
			s.converse(conn, name, find)
		}()
	}
}

// converse answers the requests of one connection, in order.
func (s *servers) converse(conn net.Conn, name string, find find) {
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			if !isEnd(err) {
				log, stream := s.kept.record(s, name)
				log.Add(transcript.Event{Kind: transcript.Note, Stream: stream, Text: "a request that is no HTTP: " + err.Error()})
				plain(http.StatusBadRequest, "no HTTP request\n").write(conn)
			}
			return
		}
		if !s.exchange(conn, req, name, find) {
			return
		}
	}
}

// exchange answers one request and reports whether the connection goes on.
func (s *servers) exchange(conn net.Conn, req *http.Request, name string, find find) bool {
	if req.ContentLength != 0 && strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		if _, err := io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return false
		}
	}
	length, err := io.Copy(io.Discard, req.Body)
	log, stream := s.kept.record(s, name)
	number := log.Exchange()
	log.Add(transcript.Event{Kind: transcript.Request, Stream: stream, HTTP: &transcript.HTTP{
		Exchange: number, Method: req.Method, Target: req.RequestURI, Proto: req.Proto,
		Header: requestHeader(req), Length: length, Cut: err != nil,
	}})
	if err != nil {
		return false
	}
	answer, known := find(req.URL.EscapedPath())
	switch {
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		answer = plain(http.StatusMethodNotAllowed, "the servers are read-only\n")
		answer.header.Set("Allow", "GET, HEAD")
	case !known:
		answer = notFound()
	}
	if answer.delay > 0 && !s.pause(answer.delay) {
		return false
	}
	if answer.held && s.hold != nil {
		log.Add(transcript.Event{Kind: transcript.Note, Stream: stream, Text: transcript.HeldAnswerNote})
		s.hold(s.stop)
		log.Add(transcript.Event{Kind: transcript.Note, Stream: stream, Text: transcript.ReleasedAnswerNote})
	}
	again, e := send(conn, req, answer)
	e.Kind, e.Stream, e.HTTP.Exchange = transcript.Response, stream, number
	log.Add(e)
	return again
}

// send sends a, and returns what is to be recorded of it once it has gone out, and
// whether the connection goes on.
func send(conn net.Conn, req *http.Request, a reply) (bool, transcript.Event) {
	a.header = a.header.Clone()
	again := !a.cut && !req.Close && req.ProtoAtLeast(1, 1)
	if a.chunked && !req.ProtoAtLeast(1, 1) {
		a.chunked = false // HTTP/1.0 has no chunks: the end of the connection ends the body
		a.header.Del("Transfer-Encoding")
	}
	if !a.chunked && a.bodied() && a.header.Get("Content-Length") == "" {
		again = false
	}
	if !again && a.header.Get("Connection") == "" {
		a.header.Set("Connection", "close")
	}
	a.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	whole := a.send == len(a.body) && !(a.cut && a.chunked)
	if req.Method == http.MethodHead {
		a.chunked, a.send, whole = false, 0, true
	}
	sent, err := a.write(conn)
	e := transcript.Event{HTTP: &transcript.HTTP{Status: a.status, Header: a.header, Length: sent, Cut: !whole || err != nil}}
	if err != nil {
		e.Text = "the peer did not take it all: " + err.Error()
	}
	return again && err == nil, e
}

// pause waits, and reports false when the servers stop meanwhile.
func (s *servers) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.stop:
		return false
	}
}

// object finds an object by its path, /sha256:<64 lower-case hex digits>.
func (s *servers) object(path string) (reply, bool) {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return reply{}, false
	}
	r, ok := s.stream.objects[plain]
	return r, ok
}

// memory finds a memory object. A slash separates segments, and each segment is
// percent-encoded by itself (R31): an encoded slash is none.
func (s *servers) memory(path string) (reply, bool) {
	rest, ok := strings.CutPrefix(path, s.memoryRoot)
	if !ok {
		return reply{}, false
	}
	segments := strings.Split(rest, "/")
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if err != nil || strings.Contains(plain, "/") {
			return reply{}, false
		}
		segments[i] = plain
	}
	r, ok := s.stream.memory[strings.Join(segments, "/")]
	return r, ok
}

// requestHeader is the fields of a request with those that the library keeps
// apart put back.
func requestHeader(req *http.Request) map[string][]string {
	header := req.Header.Clone()
	if req.Host != "" {
		header.Set("Host", req.Host)
	}
	if len(req.TransferEncoding) > 0 {
		header["Transfer-Encoding"] = req.TransferEncoding
	}
	return header
}

// isEnd reports whether a connection ended between two requests.
func isEnd(err error) bool {
	if err == io.EOF {
		return true
	}
	var failed *net.OpError // reset, or closed by us
	return errors.As(err, &failed)
}
