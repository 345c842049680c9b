package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
)

// defaultStore is the folder that holds the sessions of the working folder.
const defaultStore = ".pugmark"

// currentName is the file in a store that names the session that was started last.
// The dot keeps it out of the store's listings.
const currentName = ".current"

// openStore is a store that is open.
type openStore struct {
	bucket *dirbucket.Bucket
	folder string
}

// openStoreAt opens a store. Only with create may it be a new one: a mistyped name
// must not look like an empty store.
func openStoreAt(place string, create bool) (*openStore, error) {
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
	return &openStore{bucket: bucket, folder: folder}, nil
}

// storeFolder returns the absolute folder that a store's name means.
func storeFolder(place string) (string, error) {
	if place == "" {
		return "", errors.New("the store's name is empty; give -b a folder")
	}
	if strings.Contains(place, "://") {
		parsed, err := url.Parse(place)
		if err != nil {
			return "", fmt.Errorf("the store's name is no URL: %w", err)
		}
		if parsed.Scheme != "file" || parsed.Host != "" || parsed.Path == "" {
			return "", fmt.Errorf("no store is known at %s; give -b a folder or file:///folder", place)
		}
		place = parsed.Path
	}
	return filepath.Abs(place)
}

// setCurrent makes a session the current one.
func (s *openStore) setCurrent(session string) error {
	temporary, err := os.CreateTemp(s.folder, currentName+"-*")
	if err != nil {
		return fmt.Errorf("remembering the current session: %w", err)
	}
	_, err = temporary.WriteString(session + "\n")
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), filepath.Join(s.folder, currentName))
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
		text, err := os.ReadFile(filepath.Join(s.folder, currentName))
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
