package reference

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Open implements [Sources].
func (f Folders) Open(_ context.Context, uri string) (*RemoteBody, error) {
	parsed, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("opening a uri: %w", err)
	}
	if parsed.Scheme != "file" || parsed.Host != "" && parsed.Host != "localhost" {
		return nil, fmt.Errorf("opening %s: only file URIs of this host are known", uri)
	}
	name := filepath.FromSlash(parsed.Path)
	for _, folder := range f {
		relative, err := filepath.Rel(folder, filepath.Clean(name))
		if err != nil || !filepath.IsLocal(relative) {
			continue
		}
		file, err := openBelow(folder, relative)
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", uri, err)
		}
		return &RemoteBody{ReadCloser: file}, nil
	}
	return nil, fmt.Errorf("opening %s: it is outside the folders that are allowed (%s)", uri, strings.Join(f, ", "))
}

func openBelow(folder, relative string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
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
	key, found := strings.CutPrefix(uri, s.Root)
	if !found {
		return nil, fmt.Errorf("opening %s: it is outside the store (%s)", uri, s.Root)
	}
	object, err := s.Bucket.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", uri, err)
	}
	return &RemoteBody{ReadCloser: object}, nil
}

// Schemes chooses among sources by the scheme of a uri, such as "file".
type Schemes map[string]Sources

// Open implements [Sources].
func (s Schemes) Open(ctx context.Context, uri string) (*RemoteBody, error) {
	scheme, _, _ := strings.Cut(uri, ":")
	sources, known := s[scheme]
	if !known {
		return nil, fmt.Errorf("opening %s: bodies come from %s URIs only", uri, strings.Join(slices.Sorted(maps.Keys(s)), " and "))
	}
	return sources.Open(ctx, uri)
}

// noSources is what a runtime without Sources has.
type noSources struct{}

func (noSources) Open(_ context.Context, uri string) (*RemoteBody, error) {
	return nil, fmt.Errorf("opening %s: this runtime takes no bodies by uri", uri)
}
