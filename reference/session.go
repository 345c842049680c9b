package reference

import (
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// RequestError says that a caller asked for what can't be done, such as a push to
// a session that does not exist. Nothing was changed.
type RequestError struct {
	// Err says what is wrong.
	Err error
}

// Error gives Err's words, with what is not printable in them escaped.
func (e *RequestError) Error() string { return visible(e.Err.Error(), "") }

// Unwrap gives Err.
func (e *RequestError) Unwrap() error { return e.Err }

// StartSession creates a session and returns its manifest. An empty m.Session
// means a fresh ID. A session that exists already is returned as it is. A parent
// can't be chosen: children are made by forks.
func (r *Runtime) StartSession(ctx context.Context, m storage.Manifest) (storage.Manifest, error) {
	if m.Session == "" {
		m.Session = r.newSessionID()
	}
	if m.Parent != nil {
		return storage.Manifest{}, &RequestError{errors.New("starting a session: only a fork makes a child")}
	}
	texts := []string{m.Agent, m.Handler}
	if err := checkTexts(texts, m.Metadata); err != nil {
		return storage.Manifest{}, &RequestError{fmt.Errorf("starting a session: %w", err)}
	}
	manifest, _, err := r.Store.CreateSession(ctx, m)
	return manifest, asRequest(err)
}

// Object is something to be pushed to a session.
type Object struct {
	// Name is the descriptor name.
	Name string
	// ContentType is the MIME type of the decoded body.
	ContentType string
	// ContentEncoding is the coding of Body as given.
	ContentEncoding string
	// SchemaURL is the URL of the body's schema.
	SchemaURL string
	// Metadata is attached to the entry.
	Metadata map[string]string
	// Body is read to its end; nil is an empty body.
	Body io.Reader
}

// Push appends an object to a session from outside, as a queueing snapshot
// (reading R13), and returns the version that it became.
func (r *Runtime) Push(ctx context.Context, session string, object Object) (int64, error) {
	entry, err := object.entry(object.Name)
	if err != nil {
		return 0, &RequestError{fmt.Errorf("pushing to session %s: %w", session, err)}
	}
	if _, err := r.loadSession(ctx, session); err != nil {
		if err = asRequest(err); errors.As(err, new(*RequestError)) {
			return 0, &RequestError{fmt.Errorf("pushing to session %s: %w", session, err)}
		}
		return 0, fmt.Errorf("pushing to session %s: %w", session, err)
	}
	if err := r.putBody(ctx, &entry, object.Body); err != nil {
		return 0, err
	}
	return r.Store.Append(ctx, session, storage.Queueing, []storage.Entry{entry})
}

// entry makes an entry with a name of the object, less its body. It refuses what can't
// be stored, or not be served (P7/success-response).
func (o Object) entry(name string) (storage.Entry, error) {
	if err := checkTexts([]string{name, o.ContentType, o.ContentEncoding, o.SchemaURL}, o.Metadata); err != nil {
		return storage.Entry{}, err
	}
	if protocol.IsControl(o.ContentType) {
		return storage.Entry{}, errors.New("only the runtime writes control messages")
	}
	encoding, err := servable(o.ContentType, o.ContentEncoding)
	return storage.Entry{
		Name: name, ContentType: o.ContentType, ContentEncoding: encoding, SchemaURL: o.SchemaURL, Metadata: o.Metadata,
	}, err
}

// putBody stores a body and makes entry its descriptor; nil is an empty body.
func (r *Runtime) putBody(ctx context.Context, entry *storage.Entry, body io.Reader) error {
	if body == nil {
		body = eofReader{}
	}
	stored, err := r.Store.PutBody(ctx, body)
	if err != nil {
		return err
	}
	entry.Digest, entry.Size, entry.Data = stored.Digest, stored.Size, stored.Data
	return nil
}

type eofReader struct{}

func (eofReader) Read([]byte) (int, error) { return 0, io.EOF }

// loadSession loads a manifest and makes sure that a child has its first entry:
// between the two writes of its making it exists without, and whatever took
// version 1 then would take the place of the fork's body for good.
func (r *Runtime) loadSession(ctx context.Context, session string) (storage.Manifest, error) {
	manifest, err := r.Store.Manifest(ctx, session)
	if err != nil || manifest.Parent == nil {
		return manifest, err
	}
	version, err := r.Store.Version(ctx, session)
	if err != nil || version > 0 {
		return manifest, err
	}
	parent := *manifest.Parent
	for entry, err := range r.Store.Entries(ctx, parent.Session, parent.Version) {
		if err != nil {
			return storage.Manifest{}, fmt.Errorf("completing session %s from its parent: %w", session, err)
		}
		if entry.Fork && entry.TargetSession == session {
			return manifest, r.commitFirst(ctx, session, entry)
		}
	}
	return storage.Manifest{}, fmt.Errorf("version %d of session %s, the parent of session %s, has no fork record of it",
		parent.Version, parent.Session, session)
}

// asRequest makes an error of the caller's out of one about a name or about
// something that does not exist.
func asRequest(err error) error {
	if errors.Is(err, storage.ErrNotExist) || errors.Is(err, storage.ErrInvalidName) {
		return &RequestError{err}
	}
	return err
}

// checkTexts refuses what could not be encoded later (P3/utf8).
func checkTexts(texts []string, metadata map[string]string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%.64q: %w", text, protocol.ErrInvalidUTF8)
		}
	}
	for key, value := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return fmt.Errorf("metadata %.64q: %w", key, protocol.ErrInvalidUTF8)
		}
	}
	return nil
}
