package mutants

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// handlerFetchers misuse the servers of section 7.
func handlerFetchers() []Mutant {
	fetching := func(id, requirement, sentence string, answer func(*http.Request, *http.Response) (*http.Response, error)) Mutant {
		return Mutant{
			ID: "handler/" + id, Requirement: requirement, Sentence: sentence,
			Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Servers: exchange(answer)} },
		}
	}
	return []Mutant{
		fetching("takes-errors-for-empty-bodies", "P7/non-2xx-error",
			"An answer outside of 2xx is taken for an empty body.", emptyOnError),
		fetching("takes-error-pages-for-bodies", "P7/non-2xx-error",
			"The text of an answer outside of 2xx is taken for the body.",
			func(_ *http.Request, r *http.Response) (*http.Response, error) {
				r.StatusCode = http.StatusOK
				return r, nil
			}),
		fetching("follows-redirects", "P7/non-2xx-error",
			"Redirects of the servers are followed.", follow),
		fetching("leaves-bodies-packed", "P7/content-encoding",
			"The server's Content-Encoding is not looked at.", func(_ *http.Request, r *http.Response) (*http.Response, error) {
				r.Header.Del("Content-Encoding")
				return r, nil
			}),
		fetching("knows-gzip-only", "P7/content-encoding",
			"Bodies in a coding other than gzip are taken as they are.", func(_ *http.Request, r *http.Response) (*http.Response, error) {
				if r.Header.Get("Content-Encoding") != protocol.CodingGzip {
					r.Header.Del("Content-Encoding")
				}
				return r, nil
			}),
		fetching("knows-zstd-only", "P7/content-encoding",
			"Bodies in a coding other than zstd are taken as they are.", func(_ *http.Request, r *http.Response) (*http.Response, error) {
				if r.Header.Get("Content-Encoding") != protocol.CodingZstd {
					r.Header.Del("Content-Encoding")
				}
				return r, nil
			}),
		fetching("passes-unknown-codings-on", "P7/content-encoding",
			"A body in a coding that it does not know is taken as it is.", func(_ *http.Request, r *http.Response) (*http.Response, error) {
				switch r.Header.Get("Content-Encoding") {
				case protocol.CodingGzip, protocol.CodingZstd:
				default:
					r.Header.Del("Content-Encoding")
				}
				return r, nil
			}),
		fetching("reads-the-first-gzip-member", "P7/content-encoding",
			"Of a gzip body in several members only the first is read.", packedIn(protocol.CodingGzip, firstMember)),
		fetching("reads-the-first-zstd-frame", "P7/content-encoding",
			"Of a zstd body in several frames only the first is read.", packedIn(protocol.CodingZstd, firstFrame)),
		{
			ID: "handler/trusts-the-record-for-the-coding", Requirement: "P7/content-encoding",
			Sentence: "A fetched body is unpacked as the record says, whatever the server says.",
			Handler:  trustsRecords,
		},
		{
			ID: "handler/puts-bodies-back", Requirement: "P7/read-only",
			Sentence: "After a body was read it is PUT where it came from.",
			Handler:  func() fakehandler.Agreement { return fakehandler.Agreement{Servers: again(http.MethodPut)} },
		},
		{
			ID: "handler/deletes-what-it-read", Requirement: "P7/read-only",
			Sentence: "After a body was read it is deleted.",
			Handler:  func() fakehandler.Agreement { return fakehandler.Agreement{Servers: again(http.MethodDelete)} },
		},
		{
			ID: "handler/writes-memory-over-http", Requirement: "P7/read-only",
			Sentence: "A memory write is PUT to the memory server besides.",
			Handler:  putsMemory,
		},
		{
			ID: "handler/keeps-urls", Requirement: "P7/no-retention",
			Sentence:   "The first url that was ever seen of an object is used in all later invocations.",
			Handler:    func() fakehandler.Agreement { return fakehandler.Agreement{Input: (&keptURLs{by: objectOf}).input} },
			Transports: []string{protocol.TransportRPC, protocol.TransportHTTP},
		},
		{
			ID: "handler/keeps-urls-by-name", Requirement: "P7/no-retention",
			Sentence:   "The first url that was ever seen of a name is used in all later invocations.",
			Handler:    func() fakehandler.Agreement { return fakehandler.Agreement{Input: (&keptURLs{by: nameOf}).input} },
			Transports: []string{protocol.TransportRPC, protocol.TransportHTTP},
		},
	}
}

// transport fetches as the right handler does: no proxy, no redirects followed,
// nothing unpacked on the way.
func transport() http.RoundTripper {
	return &http.Transport{DisableCompression: true, DisableKeepAlives: true}
}

// exchange is a RoundTripper that changes what was answered.
type exchange func(*http.Request, *http.Response) (*http.Response, error)

func (e exchange) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := transport().RoundTrip(q)
	if err != nil {
		return nil, err
	}
	return e(q, r)
}

func isSuccess(r *http.Response) bool { return r.StatusCode >= 200 && r.StatusCode <= 299 }

func emptyOnError(_ *http.Request, r *http.Response) (*http.Response, error) {
	if !isSuccess(r) {
		r.Body.Close()
		r.StatusCode, r.Body = http.StatusOK, http.NoBody
		r.Header.Del("Content-Encoding")
	}
	return r, nil
}

func follow(q *http.Request, r *http.Response) (*http.Response, error) {
	for range 10 {
		if r.StatusCode < 300 || r.StatusCode > 399 || r.Header.Get("Location") == "" {
			return r, nil
		}
		target, err := q.URL.Parse(r.Header.Get("Location"))
		if err != nil {
			return r, nil
		}
		r.Body.Close()
		next := q.Clone(q.Context())
		next.URL, next.Host = target, ""
		if r, err = transport().RoundTrip(next); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// packedIn unpacks bodies of one coding in a way of its own.
func packedIn(coding string, unpack func([]byte) ([]byte, error)) exchange {
	return func(_ *http.Request, r *http.Response) (*http.Response, error) {
		if r.Header.Get("Content-Encoding") != coding {
			return r, nil
		}
		packed, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
		plain, err := unpack(packed)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(plain))
		r.Header.Del("Content-Encoding")
		return r, nil
	}
}

func firstMember(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return io.ReadAll(z)
}

// firstFrame cuts a zstd body off where its first frame ends: behind the last
// block, whose header says so, and the checksum, if there is one (RFC 8878).
func firstFrame(packed []byte) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(packed); err != nil {
		return nil, err
	}
	at := head.HeaderSize
	for last := false; !last; {
		if at+3 > len(packed) {
			return nil, io.ErrUnexpectedEOF
		}
		block := int(packed[at]) | int(packed[at+1])<<8 | int(packed[at+2])<<16
		at += 3
		size := block >> 3
		if kind := block >> 1 & 3; kind == 1 { // one byte, repeated
			size = 1
		}
		at += size
		last = block&1 == 1
	}
	if head.HasCheckSum {
		at += 4
	}
	if at > len(packed) {
		return nil, io.ErrUnexpectedEOF
	}
	z, err := zstd.NewReader(bytes.NewReader(packed[:at]), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return io.ReadAll(z)
}

// again makes a second request after each that succeeded.
func again(method string) http.RoundTripper {
	return exchange(func(q *http.Request, r *http.Response) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !isSuccess(r) {
			return r, nil
		}
		second, err := http.NewRequestWithContext(q.Context(), method, q.URL.String(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if answer, err := transport().RoundTrip(second); err == nil {
			answer.Body.Close()
		}
		return r, nil
	})
}

// putsMemory keeps the root that was announced, and puts there what is written to
// memory.
func putsMemory() fakehandler.Agreement {
	var root atomic.Value
	return fakehandler.Agreement{
		Input: func(r io.Reader) io.Reader {
			return editInputs(r, func(o object) (object, error) {
				if o.text("event") == protocol.EventMemory {
					root.Store(o.text("url"))
				}
				return o, nil
			})
		},
		Output: writes(lined(own(editing(func(o object) object {
			key, isMemory := strings.CutPrefix(o.text("name"), protocol.MemoryPrefix)
			base, _ := root.Load().(string)
			if !isMemory || base == "" {
				return o
			}
			q, err := http.NewRequest(http.MethodPut, base+key, strings.NewReader(o.text("data")))
			if err != nil {
				return o
			}
			if answer, err := transport().RoundTrip(q); err == nil {
				answer.Body.Close()
			}
			return o
		})))),
	}
}

// trustsRecords keeps what each record says of its body's coding, and puts it in
// place of what the server says.
func trustsRecords() fakehandler.Agreement {
	var codings sync.Map
	return fakehandler.Agreement{
		Input: func(r io.Reader) io.Reader {
			return editInputs(r, func(o object) (object, error) {
				codings.Store(o.text("url"), o.text("content-encoding"))
				return o, nil
			})
		},
		Servers: exchange(func(q *http.Request, r *http.Response) (*http.Response, error) {
			coding, known := codings.Load(q.URL.String())
			if !known {
				return r, nil
			}
			r.Header.Del("Content-Encoding")
			if text, _ := coding.(string); text != "" {
				r.Header.Set("Content-Encoding", text)
			}
			return r, nil
		}),
	}
}

// keptURLs is the urls of earlier invocations.
type keptURLs struct {
	mu   sync.Mutex
	urls map[string]string
	by   func(object) string
}

func objectOf(o object) string { return pathOf(o.text("url")) }

// nameOf leaves the instructions out: every case has an entry of that name.
func nameOf(o object) string {
	if o.isAnswer() {
		return ""
	}
	return o.text("name")
}

func (k *keptURLs) input(r io.Reader) io.Reader {
	return editInputs(r, func(o object) (object, error) {
		key := k.by(o)
		if key == "" || o.value("url") == nil || !o.isEntry() {
			return o, nil
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.urls == nil {
			k.urls = map[string]string{}
		}
		if kept, known := k.urls[key]; known {
			return o.with("url", quoted(kept)), nil
		}
		k.urls[key] = o.text("url")
		return o, nil
	})
}

// pathOf is the path of a URL, which for an object is its digest.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}
