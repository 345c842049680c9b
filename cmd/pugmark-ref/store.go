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
	if _, err := os.Stat(folder); !create && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no store at %s; make one with `pugmark-ref start`, or give -b", place)
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
		return "", errors.New("the store's name is empty; give -b a folder or a URL")
	}
	if strings.Contains(place, "://") {
		parsed, err := url.Parse(place)
		if err != nil {
			return "", fmt.Errorf("the store's name is no URL: %w", err)
		}
		if parsed.Scheme != "file" || parsed.Host != "" || parsed.Path == "" {
			return "", fmt.Errorf("no store is known at %s; give -b a folder, file:///folder or s3://bucket/prefix", place)
		}
		place = parsed.Path
	}
	return filepath.Abs(place)
}

// allow lets outputs take bodies from folders beside the store.
func (s *openStore) allow(folders []string) error {
	allowed, _ := s.sources["file"].(reference.Folders)
	for _, folder := range folders {
		if scheme, _, isURL := strings.Cut(folder, "://"); isURL && scheme != "file" {
			return fmt.Errorf("--allow-uri %s is no folder; outputs can name objects of the store itself and files only", folder)
		}
		full, err := filepath.Abs(strings.TrimPrefix(folder, "file://"))
		if err != nil {
			return err
		}
		allowed = append(allowed, full)
	}
	s.sources["file"] = allowed
	return nil
}

// setCurrent makes a session the current one.
func (s *openStore) setCurrent(session string) error {
	err := os.MkdirAll(filepath.Dir(s.current), 0o777)
	if err != nil {
		return fmt.Errorf("remembering the current session: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(s.current), currentName+"-*")
	if err != nil {
		return fmt.Errorf("remembering the current session: %w", err)
	}
	_, err = temporary.WriteString(session + "\n")
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), s.current)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("remembering the current session: %w", err)
	}
	return nil
}

// session returns the chosen session, or the current one if none is chosen.
func (s *openStore) session(chosen string) (string, error) {
	if chosen == "" {
		text, err := os.ReadFile(s.current)
		if errors.Is(err, fs.ErrNotExist) {
			return "", errors.New("there is no current session; make one with `pugmark-ref start`, or give --session")
		}
		if err != nil {
			return "", fmt.Errorf("looking up the current session: %w", err)
		}
		chosen = strings.TrimSpace(string(text))
	}
	return chosen, storage.CheckSession(chosen)
}
