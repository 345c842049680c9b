package main

import (
	"context"
	"errors"
	"io/fs"
	"net/url"

	"pugmark.dev/conform/reference"
)

// hintedSources opens bodies by uri, with errors that say what to do.
type hintedSources struct{ reference.Schemes }

// Open implements [reference.Sources].
func (s hintedSources) Open(ctx context.Context, uri string) (*reference.RemoteBody, error) {
	body, err := s.Schemes.Open(ctx, uri)
	if err == nil {
		return body, nil
	}
	parsed, parseErr := url.Parse(uri)
	switch {
	case parseErr != nil:
		return nil, hint(err, "write the uri as file:///folder/name")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, hint(err, "have the handler write the file before the record that names it")
	case parsed.Scheme == "file" && errors.Unwrap(err) == nil:
		return nil, hint(err, "let outputs take bodies from its folder with --allow-uri FOLDER")
	case parsed.Scheme == "file":
		return nil, hint(err, "name a regular file that this user can read")
	case s.Schemes[parsed.Scheme] != nil:
		return nil, hint(err, "name an object of the store itself")
	default:
		return nil, hint(err, "fetch the body in the handler, and write it as data or as a file")
	}
}
