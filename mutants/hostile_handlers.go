package mutants

import (
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// handlersOfLater is handlers that get a first look right: they are wrong after a
// failure, in a second invocation, or where a value is a rare one.
func handlersOfLater() []Mutant {
	return []Mutant{
		{
			ID: "handler/takes-gone-for-a-body", Requirement: "P7/non-2xx-error",
			Sentence: "Of the statuses outside of 2xx the usual ones are errors, and the body of the others is taken.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Servers: exchange(func(_ *http.Request, r *http.Response) (*http.Response, error) {
					if r.StatusCode == http.StatusGone || r.StatusCode == http.StatusTeapot {
						r.StatusCode = http.StatusOK
					}
					return r, nil
				})}
			},
		},
		{
			ID: "handler/asks-an-earlier-server-after-an-error", Requirement: "P7/no-retention",
			Sentence: "Where a server fails, the one that had the object in an earlier invocation is asked.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Servers: &lastServers{had: map[string]*url.URL{}}}
			},
			Transports: posted(),
		},
		{
			ID: "handler/keeps-tags", Requirement: "P3.2/missing-is-zero",
			Sentence: "An entry that was tagged once is tagged in all later invocations.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Input: (&keptTags{seen: map[string]bool{}}).input}
			},
			Transports: posted(),
		},
		{
			ID: "handler/answers-with-what-a-failure-left", Requirement: "P2.2/status-200",
			Sentence:   "What a failed invocation had written stands before the Outputs of the next one.",
			Handler:    func() fakehandler.Agreement { return fakehandler.Agreement{Output: new(leftovers).output} },
			Transports: posted(),
		},
	}
}

// leftovers is what an invocation wrote that was not ended well.
type leftovers struct {
	mu   sync.Mutex
	left []byte
}

func (l *leftovers) output(w io.Writer) io.Writer { return &leaving{Writer: w, of: l} }

// leaving is the stream of Outputs of one invocation.
type leaving struct {
	io.Writer
	of    *leftovers
	begun bool
}

func (w *leaving) Write(p []byte) (int, error) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if !w.begun {
		w.begun = true
		if _, err := w.Writer.Write(w.of.left); err != nil {
			return 0, err
		}
	}
	w.of.left = append(w.of.left, p...)
	return w.Writer.Write(p)
}

// Close is called when the invocation did not fail.
func (w *leaving) Close() error {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.of.left = nil
	return nil
}

// lastServers remembers which server had an object.
type lastServers struct {
	mu  sync.Mutex
	had map[string]*url.URL // by path
}

func (l *lastServers) RoundTrip(q *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, err := transport().RoundTrip(q)
	if err == nil && isSuccess(r) {
		l.had[q.URL.Path] = q.URL
		return r, nil
	}
	earlier := l.had[q.URL.Path]
	if earlier == nil || earlier.Host == q.URL.Host {
		return r, err
	}
	if err == nil {
		r.Body.Close()
	}
	again := q.Clone(q.Context())
	again.URL, again.Host = earlier, earlier.Host
	return transport().RoundTrip(again)
}

// keptTags remembers which objects came with a tag, by name and digest.
type keptTags struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (k *keptTags) input(r io.Reader) io.Reader {
	return editInputs(r, func(o object) (object, error) {
		if !o.isEntry() {
			return o, nil
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		path := o.text("url")
		if u, err := url.Parse(path); err == nil {
			path = u.Path // the digest, which outlives the server
		}
		key := o.text("name") + "\x00" + path
		if o.text("event") == protocol.EventPush {
			k.seen[key] = true
		}
		if k.seen[key] {
			return o.with("event", jsontext.Value(`"`+protocol.EventPush+`"`)), nil
		}
		return o, nil
	})
}
