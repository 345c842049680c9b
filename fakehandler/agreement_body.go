package fakehandler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"pugmark.dev/conform/protocol"
)

// fetcher reads bodies from the two servers of an invocation.
type fetcher struct {
	servers http.RoundTripper
	trace   protocol.TraceContext
}

// body returns the decoded body of an entry, fetched at most once. Inline data wins
// over the url (P7.1/prefer-data); an entry with neither is empty (reading R49). An
// empty data field is an absent one (section 3.2).
func (f *fetcher) body(ctx context.Context, e *logEntry) ([]byte, error) {
	if e.loaded {
		return e.body, e.err
	}
	e.loaded = true
	switch {
	case len(e.Data) > 0: // the record's encoding is that of its data (reading R4)
		e.body, e.err = decode(e.ContentEncoding, e.Data)
	case e.URL != "":
		e.body, e.err = f.get(ctx, e.URL)
	}
	return e.body, e.err
}

// memory returns the decoded body of a memory object (section 8.3).
func (f *fetcher) memory(ctx context.Context, root, key string) ([]byte, error) {
	if root == "" {
		return nil, errors.New("the runtime announced no memory server")
	}
	return f.get(ctx, root+escapeKey(key))
}

// get fetches a body and decodes it as the server says (P7/content-encoding). Any
// answer but a whole one with a 2xx status is an error, a redirect too (reading R29).
// The error does not name the URL, which is another in each invocation: the same
// input is to give the same Outputs (P1/deterministic).
func (f *fetcher) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", protocol.CodingGzip+", "+protocol.CodingZstd)
	f.trace.SetHeader(request.Header)
	response, err := f.servers.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, fmt.Errorf("get: status %d", response.StatusCode)
	}
	packed, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("get: after %d bytes: %w", len(packed), err)
	}
	body, err := decode(strings.Join(response.Header.Values("Content-Encoding"), ","), packed)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	return body, nil
}

// decode undoes a list of content codings, the last one first, whose names HTTP
// compares without letter case. An unknown one is an error: packed bytes are never
// passed on as the body (reading R30).
func decode(codings string, body []byte) ([]byte, error) {
	if strings.TrimSpace(codings) == "" {
		return body, nil
	}
	names := strings.Split(codings, ",")
	for i := len(names) - 1; i >= 0; i-- {
		name := strings.ToLower(strings.TrimSpace(names[i]))
		if name == "" {
			continue // HTTP lets lists have empty members
		}
		r, err := protocol.Decompress(name, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		body, err = io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
	}
	return body, nil
}
