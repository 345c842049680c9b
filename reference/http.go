package reference

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"pugmark.dev/conform/storage"
)

// HTTP posts each invocation to a handler that listens at a URL (section 2.2).
type HTTP struct {
	// URL is where the handler listens, http or https. The query of section 2.2 is
	// added to its own.
	URL string
	// Wire is the format of the streams; nil means [JSONWire].
	Wire Wire
	// Dial connects to an address of the handler; nil means a [net.Dialer].
	Dial Dial
}

// Dial connects to a numeric address; network is "tcp". TLS, if there is any, is
// spoken on top of what it returns.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Invoke implements [Transport].
func (h HTTP) Invoke(ctx context.Context, invocation Invocation) error {
	target, err := url.Parse(h.URL)
	if err == nil && (target.Scheme != "http" && target.Scheme != "https" || target.Host == "") {
		err = fmt.Errorf("%q is no http or https URL", h.URL)
	}
	if err != nil {
		return &InvocationError{Reason: ReasonStart, Err: err}
	}
	_, err = post(ctx, target, exchange{wireOr(h.Wire), dialOr(h.Dial)}, invocation)
	return err
}

// post makes one POST of an invocation (P2.2/single-post). It speaks HTTP/1.1 over
// a connection of its own rather than through a client: a client may give up on a
// complete answer that came before the request was read (reading R19), may reuse a
// connection that is just being closed, and follows redirects.
//
// The result says of a whole answer whether it had no length: then nothing but the
// end of its connection shows that it is whole.
func post(ctx context.Context, target *url.URL, by exchange, invocation Invocation) (lengthless bool, err error) {
	var body storage.Spool // for the length; nothing is chunked (P2.2/content-length, P2.2/no-chunked)
	defer body.Close()
	if err := by.wire.WriteInputs(&body, invocation.Inputs); err != nil {
		return false, fmt.Errorf("gathering the inputs: %w", err)
	}
	request, err := newRequest(target, &body, invocation)
	if err != nil {
		return false, &InvocationError{Reason: ReasonLimit, Err: err}
	}
	conn, err := by.connect(ctx, target)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, &InvocationError{Reason: ReasonConnection, Err: fmt.Errorf("%w: %w", errNoAnswer, err)}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	go func() { conn.sent.finish(request.Write(conn)) }()
	lengthless, err = readResponse(conn, request, by.wire, invocation)
	stop()
	_ = conn.Close()
	writeErr := conn.sent.wait()
	switch {
	case err == nil:
		return lengthless, nil // whether or not the request was read whole
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	var failure *InvocationError
	if errors.As(err, &failure) && failure.Reason == ReasonConnection && writeErr != nil && !errors.Is(writeErr, net.ErrClosed) {
		failure.Err = fmt.Errorf("%w; sending the request: %w", failure.Err, writeErr)
	}
	return false, err
}

// exchange is by what an invocation is posted.
type exchange struct {
	wire Wire
	dial Dial
}

func dialOr(dial Dial) Dial {
	if dial != nil {
		return dial
	}
	return new(net.Dialer).DialContext
}

// errNoAnswer says that not one byte of an answer came.
var errNoAnswer = errors.New("there was no answer")

func newRequest(target *url.URL, body *storage.Spool, invocation Invocation) (*http.Request, error) {
	address := *target
	query := address.Query()
	for name, values := range invocation.Identity.Query() { // P2.2/query-parameters
		query[name] = values
	}
	address.RawQuery = query.Encode()
	if address.Path == "" {
		address.Path = "/"
	}
	request, err := http.NewRequest(http.MethodPost, address.String(), body.Reader())
	if err != nil {
		return nil, err
	}
	request.ContentLength = body.Size()
	request.Close = true
	request.Header.Set("Content-Type", "application/json") // P2.2/content-type-json
	request.Header.Set("User-Agent", "pugmark-reference")
	if err := invocation.Identity.SetHeader(request.Header); err != nil { // P2.2/metadata-header, P2.2/metadata-header-omitted
		return nil, err
	}
	invocation.Trace.SetHeader(request.Header) // P14/traceparent, P14/tracestate
	return request, nil
}

// connection is where a request goes.
type connection struct {
	net.Conn
	// sent counts what goes out below Conn.
	sent *sentConn
}

// connect connects to the first address of the host that answers; the error names
// them all.
func (e exchange) connect(ctx context.Context, target *url.URL) (*connection, error) {
	port := target.Port()
	if port == "" {
		port = target.Scheme // the resolver knows both by name
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, target.Hostname())
	if err != nil {
		return nil, err
	}
	var failures error
	fail := func(err error) {
		if failures != nil {
			err = fmt.Errorf("%w; %w", failures, err)
		}
		failures = err
	}
	for _, address := range addresses {
		conn, err := e.dial(ctx, "tcp", net.JoinHostPort(address, port))
		if err != nil {
			fail(err)
			continue
		}
		sent := newSentConn(conn)
		if target.Scheme != "https" {
			return &connection{sent, sent}, nil
		}
		secure := tls.Client(sent, &tls.Config{ServerName: target.Hostname()})
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			fail(err)
			continue
		}
		return &connection{secure, sent}, nil
	}
	return nil, failures
}

// readResponse reads the answer: 200 and the whole body complete the invocation
// (P2.2/status-200). It tells whether the body had no length.
func readResponse(conn *connection, request *http.Request, wire Wire, invocation Invocation) (lengthless bool, err error) {
	counted := &countingReader{r: conn}
	reader := bufio.NewReader(counted)
	response, err := http.ReadResponse(reader, request)
	for err == nil && response.StatusCode < 200 && response.StatusCode != http.StatusSwitchingProtocols {
		response, err = http.ReadResponse(reader, request)
	}
	if err != nil {
		if counted.n == 0 {
			err = fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		return false, &InvocationError{Reason: ReasonConnection, Err: err}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, statusError(response)
	}
	var body io.Reader = response.Body
	lengthless = response.ContentLength < 0 && len(response.TransferEncoding) == 0
	if lengthless {
		body = untilClosed{body, conn.sent}
	}
	return lengthless, readOutputs(wire, body, invocation.Output)
}

// countingReader counts what is read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// untilClosed is a body that ends where its connection does. A connection that was
// reset has not ended it (RFC 9112, section 8) - but a server that closes without having
// read the whole request resets the connection behind its answer, which counts
// (reading R19). So a reset is the end if the request can't have been read whole. One
// that the peer's system has taken whole may lie there unread, and no one can tell;
// then the answer is not known to be whole, and does not count.
type untilClosed struct {
	io.Reader
	sent *sentConn
}

func (u untilClosed) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	switch {
	case !errors.Is(err, syscall.ECONNRESET):
	case u.sent.unread():
		err = io.EOF
	default:
		err = fmt.Errorf("the answer has no Content-Length, so a reset does not show that it is whole: %w", err)
	}
	return n, err
}

// statusBody is how many bytes of the body of a refusal an error shows.
const statusBody = 1 << 10

func statusError(response *http.Response) error {
	failure := &InvocationError{Reason: ReasonStatus, Status: response.StatusCode}
	text, _ := io.ReadAll(io.LimitReader(response.Body, statusBody))
	switch location := response.Header.Get("Location"); {
	case location != "":
		failure.Err = fmt.Errorf("a redirect to %.200q, which is not followed", location) // reading R25
	case len(text) > 0:
		failure.Err = fmt.Errorf("%q", text)
	}
	return failure
}
