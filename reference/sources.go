package reference

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pugmark.dev/conform/storage"
)

// Sources opens the bodies of Outputs that come by uri (P5.3/uri-body).
type Sources interface {
	// Open opens what a uri names. An error fails the invocation.
	Open(ctx context.Context, uri string) (*RemoteBody, error)
}

// RemoteBody is an open stored object that is not a body of ours yet.
type RemoteBody struct {
	io.ReadCloser
	// ContentType and ContentEncoding are what the place says of the object; an
	// Output that says nothing takes them over. They may be empty.
	ContentType, ContentEncoding string
}

// Folders opens file URIs below the listed folders and nowhere else: a handler
// must not read the host through its runtime. Symbolic links that lead out of a
// folder are not followed.
type Folders []string

// Open implements [Sources]. A file URI has no query and no fragment (RFC 8089): such
// characters of a name are percent-encoded.
func (f Folders) Open(_ context.Context, uri string) (*RemoteBody, error) {
	parsed, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("opening %.200q: %w", uri, withoutName(err))
	}
	switch {
	case parsed.Scheme != "file" || parsed.User != nil || parsed.Host != "" && !strings.EqualFold(parsed.Host, "localhost"):
		return nil, fmt.Errorf("opening %.200q: only file URIs of this host are known", uri)
	case strings.ContainsAny(uri, "?#"):
		return nil, fmt.Errorf("opening %.200q: a file URI has no query and no fragment; write %%3F and %%23 in a name", uri)
	case !strings.HasPrefix(parsed.Path, "/"):
		return nil, fmt.Errorf("opening %.200q: a file URI has an absolute path", uri)
	}
	name := filepath.FromSlash(parsed.Path)
	for _, folder := range f {
		relative, err := filepath.Rel(folder, filepath.Clean(name))
		if err != nil || !filepath.IsLocal(relative) {
			continue
		}
		file, err := openBelow(folder, relative)
		if err != nil {
			return nil, fmt.Errorf("opening %.200q: %w", uri, withoutName(err))
		}
		return &RemoteBody{ReadCloser: file}, nil
	}
	return nil, fmt.Errorf("opening %.200q: it is outside the folders that are allowed (%s)", uri, strings.Join(f, ", "))
}

// withoutName takes from an error of the system the name that it repeats, as it is.
func withoutName(err error) error {
	var path *fs.PathError
	var parse *url.Error
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &parse):
		return parse.Err
	}
	return err
}

func openBelow(folder, relative string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("folder %q: %w", folder, withoutName(err))
	}
	defer root.Close()
	// Asked before it is opened: opening a named pipe would wait for a writer.
	info, err := root.Stat(relative)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	return root.Open(relative)
}

// Stored opens the objects of a bucket by URIs of a form such as
// s3://bucket/prefix/KEY: what a store holds already need not pass through a
// handler. The bucket's keys are those of [storage.CheckKey].
type Stored struct {
	// Root begins the URIs, and ends with a slash.
	Root string
	// Bucket has the objects.
	Bucket storage.Bucket
}

// Open implements [Sources].
func (s Stored) Open(ctx context.Context, uri string) (*RemoteBody, error) {
	key, found := strings.CutPrefix(lowerScheme(uri), lowerScheme(s.Root))
	if !found {
		return nil, fmt.Errorf("opening %.200q: it is outside the store (%s)", uri, s.Root)
	}
	object, err := s.Bucket.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("opening %.200q: %w", uri, err)
	}
	return &RemoteBody{ReadCloser: object}, nil
}

// Schemes chooses among sources by the scheme of a uri, such as "file", in lower case.
type Schemes map[string]Sources

// Open implements [Sources].
func (s Schemes) Open(ctx context.Context, uri string) (*RemoteBody, error) {
	scheme, _, _ := strings.Cut(lowerScheme(uri), ":")
	sources, known := s[scheme]
	if !known {
		return nil, fmt.Errorf("opening %.200q: bodies come from %s URIs only", uri, strings.Join(slices.Sorted(maps.Keys(s)), " and "))
	}
	return sources.Open(ctx, uri)
}

// lowerScheme writes the scheme of a uri, whose letter case means nothing (RFC 3986,
// section 3.1), in lower case.
func lowerScheme(uri string) string {
	scheme, _, found := strings.Cut(uri, ":")
	if !found {
		return uri
	}
	return strings.ToLower(scheme) + uri[len(scheme):]
}

// noSources is what a runtime without Sources has.
type noSources struct{}

func (noSources) Open(_ context.Context, uri string) (*RemoteBody, error) {
	return nil, fmt.Errorf("opening %.200q: this runtime takes no bodies by uri", uri)
}
