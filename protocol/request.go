package protocol

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Query returns the parameters of the invocation request (section 2.2). All three
// are there, an empty agent too. Their encoding sorts them.
func (id Identity) Query() url.Values {
	return url.Values{
		QueryAgent:    {id.Agent},
		QuerySession:  {id.Session},
		QuerySnapshot: {strconv.FormatInt(id.Snapshot, 10)},
	}
}

// SetHeader sets the metadata header of the invocation request (section 2.2) as a
// JSON object in ASCII with sorted names (reading R12), and takes it out when there
// is no metadata (reading R33).
//
// Text that is not UTF-8 is refused ([ErrInvalidUTF8]), and so is a header line
// over [HeaderLimit] ([*LimitError]); h is then left as it is.
func (id Identity) SetHeader(h http.Header) error {
	if len(id.Metadata) == 0 {
		h.Del(HeaderMetadata)
		return nil
	}
	metadata, err := appendMetadata(nil, id.Metadata)
	if err != nil {
		return fmt.Errorf("header %s: %w", HeaderMetadata, err)
	}
	if size := len(HeaderMetadata) + len(": \r\n") + len(metadata); size > HeaderLimit {
		return &LimitError{What: "header " + HeaderMetadata, Limit: "one header line", Size: size, Max: HeaderLimit}
	}
	h.Set(HeaderMetadata, string(metadata))
	return nil
}

// IdentityFromRequest reads what a handler is told by an invocation request
// (section 2.2). In RPC mode too the request rules, and an absent agent or metadata
// means none (reading R32). Session and snapshot must be there; a parameter or
// header given twice is refused. Metadata is taken with escapes or as UTF-8
// (reading R12).
func IdentityFromRequest(r *http.Request) (Identity, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return Identity{}, fmt.Errorf("query of the request: %w", err)
	}
	for _, name := range []string{QueryAgent, QuerySession, QuerySnapshot} {
		if n := len(query[name]); n > 1 {
			return Identity{}, fmt.Errorf("query parameter %q: given %d times", name, n)
		}
	}
	id := Identity{Agent: query.Get(QueryAgent), Session: query.Get(QuerySession)}
	if err := checkText(id.Agent); err != nil {
		return Identity{}, fmt.Errorf("query parameter %q: %w", QueryAgent, err)
	}
	if err := checkSession(id.Session); err != nil {
		return Identity{}, fmt.Errorf("query parameter %q: %w", QuerySession, err)
	}
	if id.Snapshot, err = parseSnapshot(query.Get(QuerySnapshot)); err != nil {
		return Identity{}, fmt.Errorf("query parameter %q: %w", QuerySnapshot, err)
	}
	switch lines := r.Header.Values(HeaderMetadata); len(lines) {
	case 0:
	case 1:
		if id.Metadata, err = parseMetadata([]byte(lines[0])); err != nil {
			return Identity{}, fmt.Errorf("header %s: %w", HeaderMetadata, err)
		}
	default:
		return Identity{}, fmt.Errorf("header %s: given %d times", HeaderMetadata, len(lines))
	}
	return id, nil
}

// parseSnapshot takes decimal digits only.
func parseSnapshot(text string) (int64, error) {
	if text == "" {
		return 0, errors.New("absent or empty")
	}
	if leadingDigits(text) != text {
		return 0, fmt.Errorf("%.64q is no snapshot version", text)
	}
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.64q is no snapshot version of 64 bits", text)
	}
	return version, nil
}
