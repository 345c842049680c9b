package mutants

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
)

// runtimesOfLaterRequests are wrong for another path, another request of a
// connection, or another connection.
func runtimesOfLaterRequests() []Mutant {
	return []Mutant{
		posting("posts-to-the-root", "P2.2/single-post",
			"The path of the handler's URL is left out.", func(q *request) {
				method, rest, _ := strings.Cut(q.line, " ")
				if at := strings.IndexByte(rest, '?'); at >= 0 {
					q.line = method + " /" + rest[at:]
				}
			}),
		{
			ID: "runtime/answers-a-connection-alike", Requirement: "P7/success-response",
			Sentence: "Later requests of a connection are answered as its first one was.",
			Runtime:  serving(alike, nil),
		},
		{
			ID: "runtime/serves-one-connection", Requirement: "P7/reachable",
			Sentence: "While a server has a connection it refuses others, even if that one is idle.",
			Runtime: func() *stage.Reference {
				return &stage.Reference{Runtime: func(r *reference.Runtime) {
					r.Listen = func(ctx context.Context) (net.Listener, error) {
						l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
						return &narrow{Listener: l, free: make(chan struct{}, 1)}, err
					}
				}}
			},
		},
	}
}

// alike is a server that looks at the first request of each connection only.
func alike(h http.Handler) http.Handler {
	var mu sync.Mutex
	first := map[string]string{}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		path, ok := first[q.RemoteAddr]
		if !ok {
			path = q.URL.Path
			first[q.RemoteAddr] = path
		}
		mu.Unlock()
		again := q.Clone(q.Context())
		again.URL.Path, again.URL.RawPath = path, ""
		h.ServeHTTP(w, again)
	})
}

// narrow is a listener of one connection at a time. It gives a connection that its
// client has closed the time to be seen as such.
type narrow struct {
	net.Listener
	free chan struct{} // holds one while there is a connection
}

func (n *narrow) Accept() (net.Conn, error) {
	for {
		conn, err := n.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case n.free <- struct{}{}:
			return &sole{Conn: conn, done: sync.OnceFunc(func() { <-n.free })}, nil
		case <-time.After(500 * time.Millisecond):
			conn.Close()
		}
	}
}

// sole is the connection that a narrow listener has.
type sole struct {
	net.Conn
	done func()
}

func (o *sole) Close() error {
	o.done()
	return o.Conn.Close()
}
