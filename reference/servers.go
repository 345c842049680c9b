package reference

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// servers are the HTTP servers of one invocation (section 7): the memory server, and
// the object server, which has a port for each content encoding in the log.
//
// The URL of an object is its digest and nothing else (P17/closed-urls). The same
// bytes can be one entry's body as they are and another's encoded, and each URL must
// answer with its own entry's Content-Encoding (P7/success-response), which a handler
// believes (reading R30). What the shape leaves free is the port. A body is served on
// every port, so that one root will do for whoever makes URLs of digests.
type servers struct {
	runtime *Runtime
	ctx     context.Context
	session string
	index   *objectIndex
	// memory is the URL that is announced (P8.1/trailing-slash).
	memory string

	mu sync.Mutex
	// roots are the roots of object URLs by encoding, without a slash at their end.
	roots   map[string]string
	closers []func()
}

// startServers serves the objects of index and all memory until close is called. The
// ports are new ones each time (P7/urls-change).
func (r *Runtime) startServers(ctx context.Context, session string, index *objectIndex) (*servers, error) {
	s := &servers{runtime: r, ctx: ctx, session: session, index: index, roots: make(map[string]string)}
	if _, err := s.root(""); err != nil {
		return nil, err
	}
	memory := decorated(r.MemoryServer, r.tracedReads(spanMemory, session, memoryHandler{runtime: r}))
	root, closeMemory, err := r.serve(ctx, memory)
	if err != nil {
		s.close()
		return nil, fmt.Errorf("starting the memory server: %w", err)
	}
	s.memory = root + memoryPath
	s.closers = append(s.closers, closeMemory)
	return s, nil
}

// root is the root of the URLs of objects in an encoding. It opens a port when it is
// first asked for one.
func (s *servers) root(encoding string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if root, open := s.roots[encoding]; open {
		return root, nil
	}
	objects := objectHandler{runtime: s.runtime, index: s.index, encoding: encoding}
	root, closeRoot, err := s.runtime.serve(s.ctx,
		decorated(s.runtime.ObjectServer, s.runtime.tracedReads(spanObject, s.session, objects)))
	if err != nil {
		return "", fmt.Errorf("starting the object server: %w", err)
	}
	s.roots[encoding] = root
	s.closers = append(s.closers, closeRoot)
	return root, nil
}

func (s *servers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, closeServer := range s.closers {
		closeServer()
	}
}

func decorated(decorate func(http.Handler) http.Handler, handler http.Handler) http.Handler {
	if decorate == nil {
		return handler
	}
	return decorate(handler)
}

func (r *Runtime) serve(ctx context.Context, handler http.Handler) (root string, closeServer func(), err error) {
	listen := r.Listen
	if listen == nil {
		listen = func(ctx context.Context) (net.Listener, error) {
			return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		}
	}
	listener, err := listen(ctx)
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{
		Handler:     handler,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(r.logger().Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	return "http://" + listener.Addr().String(), func() { _ = server.Close(); <-done }, nil
}

// objectHandler serves the bodies of the invocation's log (P7/object-url) and no
// others (reading R52).
type objectHandler struct {
	runtime *Runtime
	index   *objectIndex
	// encoding is the one that is served of bodies that have several.
	encoding string
}

func (h objectHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !isRead(w, req) {
		return
	}
	digest := strings.TrimPrefix(req.URL.Path, "/") // a colon that is percent-encoded is a colon
	object, found, err := h.index.lookup(digest, h.encoding)
	switch {
	case err != nil:
		h.runtime.logger().Error("looking for a body", "digest", digest, "error", err)
		http.Error(w, "the store can't be read", http.StatusInternalServerError)
	case !found:
		http.NotFound(w, req) // P7/unknown-404
	default:
		h.runtime.serveBody(w, req, object)
	}
}

// memoryPath is the path that memory is served under, as section 8.1 shows it
// (P17/closed-urls).
const memoryPath = "/memories/"

// memoryHandler serves memory objects as they are at the time of the request
// (P8.3/read, reading R52).
type memoryHandler struct{ runtime *Runtime }

func (h memoryHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !isRead(w, req) {
		return
	}
	key, ok := memoryKey(req.URL.EscapedPath())
	if !ok {
		http.NotFound(w, req) // P7/unknown-404
		return
	}
	object, err := h.runtime.MemoryObject(req.Context(), key)
	var unknown *RequestError
	switch {
	case errors.As(err, &unknown), errors.Is(err, storage.ErrInvalidKey):
		http.NotFound(w, req)
	case err != nil:
		h.runtime.logger().Error("reading memory", "key", key, "error", err)
		http.Error(w, "the store can't be read", http.StatusInternalServerError)
	default:
		h.runtime.serveBody(w, req, servedObject{object.Digest, object.ContentType, object.ContentEncoding})
	}
}

// memoryKey returns the key that an escaped path asks for: its segments are escaped
// once each (reading R31), and none of them can hold a slash of the key.
func memoryKey(escaped string) (key string, ok bool) {
	rest, found := strings.CutPrefix(escaped, memoryPath)
	if !found {
		return "", false
	}
	segments := strings.Split(rest, "/")
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if err != nil || strings.Contains(plain, "/") {
			return "", false
		}
		segments[i] = plain
	}
	return strings.Join(segments, "/"), true
}

// isRead refuses everything but reading (P7/read-only).
func isRead(w http.ResponseWriter, req *http.Request) bool {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "this server is read-only", http.StatusMethodNotAllowed)
	return false
}

// servedObject is what a server says of a body.
type servedObject struct{ digest, contentType, contentEncoding string }

// untyped is the content type of bodies whose writer gave none.
const untyped = "application/octet-stream"

// servable gives the encoding that an entry is stored with: gzip, zstd or none
// (sections 4.1 and 5.1). Any other could be served, but read by no handler (reading
// R30); identity is HTTP's name for none. The type becomes a header field, which can't
// hold control characters: net/http would put spaces for line ends, and the type of
// the record and of the server would differ (P7/success-response).
func servable(contentType, contentEncoding string) (encoding string, err error) {
	switch contentEncoding {
	case "", protocol.CodingGzip, protocol.CodingZstd:
	case protocol.CodingIdentity:
		contentEncoding = ""
	default:
		return "", fmt.Errorf("content-encoding %.64q is not known: an entry has %s, %s or none",
			contentEncoding, protocol.CodingGzip, protocol.CodingZstd)
	}
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if strings.ContainsFunc(contentType, isControl) {
		return "", fmt.Errorf("content-type %.64q has a control character: it is served as a header field, which takes none but tabs",
			contentType)
	}
	return contentEncoding, nil
}

// serveBody answers with a body as it is stored (P7/success-response).
func (r *Runtime) serveBody(w http.ResponseWriter, req *http.Request, object servedObject) {
	body, err := r.Store.OpenBody(req.Context(), object.digest)
	if err != nil {
		r.logger().Error("serving a body", "digest", object.digest, "error", err)
		http.Error(w, "the body can't be read", http.StatusInternalServerError)
		return
	}
	defer body.Close()
	header := w.Header()
	header.Set("Content-Type", object.contentType)
	if object.contentType == "" {
		header.Set("Content-Type", untyped)
	}
	if object.contentEncoding != "" {
		header.Set("Content-Encoding", object.contentEncoding)
	}
	header.Set("Content-Length", strconv.FormatInt(body.Size, 10))
	w.WriteHeader(http.StatusOK)
	if req.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, body); err != nil {
		r.logger().Debug("serving a body", "digest", object.digest, "error", err)
	}
}

// objectURL is where an entry's body is served (P7/object-url, P17/closed-urls).
func (s *servers) objectURL(entry storage.Entry) (string, error) {
	root, err := s.root(entry.ContentEncoding)
	return root + protocol.ObjectPath(entry.Digest), err
}
