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

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// servers are the two HTTP servers of one invocation (section 7).
type servers struct {
	// objects is the root of object URLs, without a slash at its end.
	objects string
	// memory is the URL that is announced (P8.1/trailing-slash).
	memory string
	close  func()
}

// startServers serves the objects of index and all memory until close is called. The
// ports are new ones each time (P7/urls-change).
func (r *Runtime) startServers(ctx context.Context, session string, index *objectIndex) (servers, error) {
	objects := decorated(r.ObjectServer, r.tracedReads(spanObject, session, objectHandler{runtime: r, index: index}))
	objectRoot, closeObjects, err := r.serve(ctx, objects)
	if err != nil {
		return servers{}, fmt.Errorf("starting the object server: %w", err)
	}
	memory := decorated(r.MemoryServer, r.tracedReads(spanMemory, session, memoryHandler{runtime: r}))
	memoryRoot, closeMemory, err := r.serve(ctx, memory)
	if err != nil {
		closeObjects()
		return servers{}, fmt.Errorf("starting the memory server: %w", err)
	}
	return servers{
		objects: objectRoot,
		memory:  memoryRoot + memoryPath,
		close:   func() { closeObjects(); closeMemory() },
	}, nil
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
}

func (h objectHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !isRead(w, req) {
		return
	}
	digest := strings.TrimPrefix(req.URL.EscapedPath(), "/")
	object, found, err := h.index.lookup(digest)
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
func (s servers) objectURL(entry storage.Entry) string {
	return s.objects + protocol.ObjectPath(entry.Digest)
}
