package fakehandler

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/transcript"
)

// target is one request of a fetch.
type target struct {
	stream string
	url    string
}

// fetch makes the requests and records them. That the input names no such URL is
// noted: a runtime may inline a body and name none. Every URL is asked for at least
// once; with Parallel, the URLs are repeated until there are that many requests, and
// so many are made at the same time.
func (p *player) fetch(ctx context.Context, f *Fetch) {
	targets := p.targets(f)
	if len(targets) == 0 {
		return
	}
	width := max(f.Parallel, 1)
	requests := targets
	for len(requests) < width {
		requests = append(requests, targets...)
	}
	method := f.Method
	if method == "" {
		method = http.MethodGet
	}
	client := newTransport()
	if f.Kept {
		client = p.keptTransport()
	}
	var group sync.WaitGroup
	slots := make(chan struct{}, width)
	for _, t := range requests {
		slots <- struct{}{}
		group.Go(func() {
			p.request(ctx, client, method, t)
			<-slots
		})
	}
	group.Wait()
}

// newTransport speaks HTTP/1.1 as it is on the wire: no proxy, no redirect, no
// coding is handled on the way, and each request has a connection of its own, since on
// a kept one the library repeats a request that got no answer, unseen.
func newTransport() *http.Transport {
	return &http.Transport{DisableCompression: true, DisableKeepAlives: true}
}

// keptTransport is the one transport of all kept fetches. What the library repeats on
// a kept connection is a GET that a server closed it on, which is any client's right.
func (p *player) keptTransport() *http.Transport {
	if p.kept == nil {
		p.kept = newTransport()
		p.kept.DisableKeepAlives = false
	}
	return p.kept
}

// answerTime is how long a fetch waits for its whole answer. It is longer than most
// cases last, and there to tell a server that does not answer from a handler that hangs.
const answerTime = 10 * time.Second

// targets is what the fetch asks for, by what was read so far.
func (p *player) targets(f *Fetch) (targets []target) {
	switch {
	case f.Memory != "", f.MemoryPath != "":
		root, err := p.memoryRoot(), error(nil)
		if root == "" {
			p.rec.note("fetch: no memory announcement was read")
			return nil
		}
		path := escapeKey(f.Memory)
		if f.MemoryPath != "" {
			path = strings.TrimPrefix(f.MemoryPath, "/")
			if root, err = serverRoot(root); err != nil {
				p.rec.note("fetch: %v", err)
				return nil
			}
		}
		targets = append(targets, target{transcript.Memory, root + path})
	case f.Entries:
		for _, record := range p.in.records {
			if isEntry(record) && record.URL != "" {
				targets = append(targets, target{transcript.Objects, record.URL})
			}
		}
		if len(targets) == 0 {
			p.rec.note("fetch: no entry with a url was read")
		}
	case f.Name != "":
		if address := p.latest(f.Name); address != "" {
			targets = append(targets, target{transcript.Objects, address})
		} else {
			p.rec.note("fetch: no entry %q with a url was read", f.Name)
		}
	default:
		for _, record := range p.in.records {
			if isEntry(record) && record.URL != "" {
				root, err := serverRoot(record.URL)
				if err != nil {
					p.rec.note("fetch: %v", err)
					return nil
				}
				return []target{{transcript.Objects, root + strings.TrimPrefix(f.Object, "/")}}
			}
		}
		p.rec.note("fetch: no entry with a url was read, so the object server is unknown")
	}
	return targets
}

func isEntry(record protocol.Input) bool {
	return record.Event == "" || record.Event == protocol.EventPush
}

func (p *player) memoryRoot() (root string) {
	for _, record := range p.in.records {
		if record.Event == protocol.EventMemory {
			root = record.URL
		}
	}
	return root
}

func (p *player) latest(name string) (address string) {
	for _, record := range p.in.records {
		if isEntry(record) && record.Name == name {
			address = record.URL
		}
	}
	return address
}

// serverRoot is the scheme and the authority of a URL, with a slash.
func serverRoot(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return u.Scheme + "://" + u.Host + "/", nil
}

// escapeKey percent-encodes each segment of a memory key once (reading R31).
func escapeKey(key string) string {
	segments := strings.Split(key, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}

// request makes one request. Whatever goes wrong with it is recorded: a URL that is
// none may be the runtime's.
func (p *player) request(ctx context.Context, client *http.Transport, method string, t target) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, t.url, nil)
	if err != nil {
		p.rec.note("fetch: %v", err)
		return
	}
	request.Header.Set("User-Agent", by)
	p.trace.SetHeader(request.Header)
	exchange := p.rec.Exchange()
	head := request.Header.Clone()
	head.Set("Host", request.URL.Host)
	p.rec.Add(transcript.Event{Kind: transcript.Request, Stream: t.stream, HTTP: &transcript.HTTP{
		Exchange: exchange, Method: method, Target: request.URL.RequestURI(), Proto: request.Proto, Header: head,
	}})
	response, err := client.RoundTrip(request)
	if err != nil {
		p.rec.Add(transcript.Event{Kind: transcript.Closed, Stream: t.stream,
			Text: "by the peer: " + err.Error(), HTTP: &transcript.HTTP{Exchange: exchange}})
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	p.rec.Add(transcript.Event{Kind: transcript.Response, Stream: t.stream, HTTP: &transcript.HTTP{
		Exchange: exchange, Status: response.StatusCode, Proto: response.Proto, Header: responseHeader(response),
		Length: int64(len(body)), Cut: err != nil,
	}})
	if len(body) > 0 {
		p.rec.Add(transcript.Event{Kind: transcript.Received, Stream: t.stream, Data: body,
			HTTP: &transcript.HTTP{Exchange: exchange}})
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		p.rec.note("fetch: exchange %d: %v", exchange, err)
	}
}

// responseHeader is the fields as they came, with those that the library keeps apart.
func responseHeader(response *http.Response) http.Header {
	return wholeHeader(response.Header, response.ContentLength, response.TransferEncoding)
}

// requestHeader is the same for a request that was received.
func requestHeader(request *http.Request) http.Header {
	header := wholeHeader(request.Header, request.ContentLength, request.TransferEncoding)
	header.Set("Host", request.Host)
	return header
}

func wholeHeader(header http.Header, length int64, encodings []string) http.Header {
	header = header.Clone()
	if length > 0 && header.Get("Content-Length") == "" {
		header.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	if len(encodings) > 0 {
		header["Transfer-Encoding"] = encodings
	}
	return header
}
