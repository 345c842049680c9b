package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files that an evidence folder holds beside the folders of its cases.
const (
	// marker is how a folder of ours is known.
	marker = ".pugmark-conform-evidence"
	// selectionSuffix ends the folder of a run that left cases out.
	selectionSuffix = ".selection"
	// storedReport is the report of the run, which also has the cases that left no
	// evidence.
	storedReport = "report.json"
)

// freshFolder makes dir an empty folder. It empties only what it made itself.
func freshFolder(dir string) error {
	fail := func(err error) error { return fmt.Errorf("--evidence %s: %w", dir, err) }
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fail(err)
		}
	case err != nil:
		return fail(err)
	case len(entries) > 0:
		if _, err := os.Lstat(filepath.Join(dir, marker)); err != nil {
			return fail(errors.New("the folder is not empty and was not made by an earlier run; name another"))
		}
	}
	for _, entry := range entries {
		if entry.Name() == marker { // stays: without it what is left could not be removed next time
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fail(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, marker), nil, 0o666); err != nil {
		return fail(err)
	}
	return nil
}
