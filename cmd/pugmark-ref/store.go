package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
	"pugmark.dev/conform/storage/s3bucket"
)

// defaultStore is the folder that holds the sessions of the working folder.
const defaultStore = ".pugmark"

// currentName is the file that names the session that was started last: in the
// store itself if that is a folder, where the dot keeps it out of listings, else in
// the working folder's own store, since a bucket is shared and can't be overwritten.
const currentName = ".current"

// openStore is a store that is open.
type openStore struct {
	bucket storage.Bucket
	close  func() error
	// sources opens the store's own objects by URI.
	sources reference.Schemes
	// current is the file that names the current session.
	current string
}

// openStoreAt opens a store. Only with create may it be a new one: a mistyped name
// must not look like an empty store.
func openStoreAt(ctx context.Context, place string, create bool) (*openStore, error) {
	if strings.HasPrefix(place, "s3://") {
		return openS3(ctx, place)
	}
	folder, err := storeFolder(place)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !create:
		return nil, hint(fmt.Errorf("there is no store at %s", place), "make one with `pugmark-ref start`, or give -b")
	case errors.Is(err, syscall.ENOTDIR), err == nil && !info.IsDir():
		return nil, hint(fmt.Errorf("there can't be a store at %s, which is a file or below one", place), "give -b a folder")
	}
	bucket, err := dirbucket.Open(folder)
	if err != nil {
		return nil, err
	}
	return &openStore{
		bucket: bucket, close: bucket.Close,
		sources: reference.Schemes{"file": reference.Folders{folder}},
		current: filepath.Join(folder, currentName),
	}, nil
}

func openS3(ctx context.Context, place string) (*openStore, error) {
	bucket, err := s3bucket.Open(ctx, place)
	if err != nil {
		return nil, err
	}
	root, _, _ := strings.Cut(place, "?")
	root = strings.TrimRight(root, "/") + "/"
	return &openStore{
		bucket: bucket, close: func() error { return nil },
		sources: reference.Schemes{
			"file": reference.Folders{}, "s3": reference.Stored{Root: root, Bucket: bucket},
		},
		current: filepath.Join(defaultStore, fmt.Sprintf("%s-%.8x", currentName, sha256.Sum256([]byte(place)))),
	}, nil
}

// storeFolder returns the absolute folder that a store's name means.
func storeFolder(place string) (string, error) {
	if place == "" {
		return "", hint(errors.New("the store's name is empty"), "give -b a folder or a URL")
	}
	scheme, rest, found := strings.Cut(place, ":")
	scheme = strings.ToLower(scheme)
	if found && (strings.HasPrefix(rest, "//") || scheme == "file" || scheme == "s3") {
		parsed, err := url.Parse(place)
		if err != nil || parsed.Scheme != "file" || parsed.Host != "" || !filepath.IsAbs(parsed.Path) ||
			parsed.RawQuery != "" || parsed.Fragment != "" {
			return "", hint(fmt.Errorf("no store is known at %.200q", place), "give -b a folder, file:///folder or s3://bucket/prefix")
		}
		place = parsed.Path
	}
	return filepath.Abs(place)
}

// allow lets outputs take bodies from folders beside the store.
func (s *openStore) allow(folders ...string) {
	allowed, _ := s.sources["file"].(reference.Folders)
	s.sources["file"] = append(allowed, folders...)
}

// setCurrent makes a session the current one.
func (s *openStore) setCurrent(session string) error {
	err := os.MkdirAll(filepath.Dir(s.current), 0o777)
	if err != nil {
		return s.notRemembered(err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(s.current), currentName+"-*")
	if err != nil {
		return s.notRemembered(err)
	}
	_, err = temporary.WriteString(session + "\n")
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), s.current)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return s.notRemembered(err)
	}
	return nil
}

// notRemembered says that the current session can't be kept, without the name of a
// temporary file, which nobody knows.
func (s *openStore) notRemembered(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return hint(fmt.Errorf("remembering the current session in %s: %w", s.current, err),
		"let this user write that file, or remove what stands there; the session itself is made")
}

// session returns the chosen session, or the current one if none is chosen.
func (s *openStore) session(chosen string) (string, error) {
	if chosen != "" {
		return chosen, nil // it was looked at when it was given
	}
	text, err := os.ReadFile(s.current)
	if errors.Is(err, fs.ErrNotExist) {
		return "", hint(errors.New("there is no current session"), "make one with `pugmark-ref start`, or give --session")
	}
	id := strings.TrimSpace(string(text))
	if err == nil {
		err = storage.CheckSession(id)
	}
	if err != nil {
		return "", hint(fmt.Errorf("looking up the current session in %s: %w", s.current, err),
			"remove what stands there and make a session current with `pugmark-ref start --session ID`, or give --session")
	}
	return id, nil
}
