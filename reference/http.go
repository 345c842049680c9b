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
}

// Invoke implements [Transport].
func (h HTTP) Invoke(ctx context.Context, invocation Invocation) error {
	target, err := url.Parse(h.URL)
	if err == nil && (target.Scheme != "http" && target.Scheme != "https" || target.Host == "") {
		err = fmt.Errorf("%q is no http or https URL", h.URL)
	}
	if err != nil {
		return &InvocationError{Reason: ReasonStart, Err: err}
	}
	return post(ctx, target, wireOr(h.Wire), invocation)
}

// post makes one POST of an invocation (P2.2/single-post). It speaks HTTP/1.1 over
// a connection of its own rather than through a client: a client may give up on a
// complete answer that came before the request was read (reading R19), may reuse a
// connection that is just being closed, and follows redirects.
func post(ctx context.Context, target *url.URL, wire Wire, invocation Invocation) error {
	var body storage.Spool // for the length; nothing is chunked (P2.2/content-length, P2.2/no-chunked)
	defer body.Close()
	if err := wire.WriteInputs(&body, invocation.Inputs); err != nil {
		return fmt.Errorf("gathering the inputs: %w", err)
	}
	request, err := newRequest(target, &body, invocation)
	if err != nil {
		return &InvocationError{Reason: ReasonLimit, Err: err}
	}
	conn, err := dial(ctx, target)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &InvocationError{Reason: ReasonConnection, Err: fmt.Errorf("%w: %w", errNoAnswer, err)}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	written := make(chan error, 1)
	go func() { written <- request.Write(conn) }()
	err = readResponse(conn, request, wire, invocation)
	stop()
	_ = conn.Close()
	writeErr := <-written
	switch {
	case err == nil:
		return nil // whether or not the request was read whole
	case ctx.Err() != nil:
		return ctx.Err()
	}
	var failure *InvocationError
	if errors.As(err, &failure) && failure.Reason == ReasonConnection && writeErr != nil && !errors.Is(writeErr, net.ErrClosed) {
		failure.Err = fmt.Errorf("%w; sending the request: %w", failure.Err, writeErr)
	}
	return err
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

// dial connects to the first address of the host that answers; the error names
// them all.
func dial(ctx context.Context, target *url.URL) (net.Conn, error) {
	port := target.Port()
	if port == "" {
		port = target.Scheme // the resolver knows both by name
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, target.Hostname())
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, address := range addresses {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(address, port))
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if target.Scheme != "https" {
			return conn, nil
		}
		secure := tls.Client(conn, &tls.Config{ServerName: target.Hostname()})
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			failures = append(failures, err)
			continue
		}
		return secure, nil
	}
	return nil, errors.Join(failures...)
}

// readResponse reads the answer: 200 and the whole body complete the invocation
// (P2.2/status-200).
func readResponse(conn io.Reader, request *http.Request, wire Wire, invocation Invocation) error {
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
		return &InvocationError{Reason: ReasonConnection, Err: err}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return statusError(response)
	}
	var body io.Reader = response.Body
	if response.ContentLength < 0 && len(response.TransferEncoding) == 0 {
		body = untilClosed{body}
	}
	return readOutputs(wire, body, invocation.Output)
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

// untilClosed is a body that ends where its connection does. A server that closes
// without having read the whole request resets the connection behind its answer.
type untilClosed struct{ io.Reader }

func (u untilClosed) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if errors.Is(err, syscall.ECONNRESET) {
		err = io.EOF
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
