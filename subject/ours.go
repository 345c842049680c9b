//go:build unix

package subject

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// EvidenceMarker is the file by which a folder of evidence is known.
const EvidenceMarker = ".pugmark-conform-evidence"

// maxOurs is how many files are remembered as ours.
const maxOurs = 1000

// oursFile is the list of files that were written by the harness: a path in JSON a line.
func oursFile(cacheRoot string) string { return filepath.Join(cacheRoot, "setup", "written") }

// NoteWritten remembers files that the harness wrote for its user, reports and such. They
// often lie in a project that the set-up of a subject names as a whole, and are no
// source of it: what they hold makes no set-up new. Where no subject was ever set up
// there is nothing to remember.
func NoteWritten(cacheRoot string, paths ...string) error {
	if _, err := os.Stat(filepath.Dir(oursFile(cacheRoot))); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	known := ours(cacheRoot)
	before := len(known)
	for _, path := range paths {
		path, err := unlinked(path)
		if err != nil {
			return fmt.Errorf("note %s: %w", path, err)
		}
		if !slices.Contains(known, path) {
			known = append(known, path)
		}
	}
	if len(known) == before {
		return nil
	}
	known = slices.DeleteFunc(known, func(path string) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	})
	var text strings.Builder
	for _, path := range known[max(0, len(known)-maxOurs):] {
		line, err := json.Marshal(path)
		if err != nil {
			return fmt.Errorf("note %s: %w", path, err)
		}
		fmt.Fprintf(&text, "%s\n", line)
	}
	// Two that write it at the same time lose a line, and whoever needs it writes it again.
	return writeWhole(oursFile(cacheRoot), []byte(text.String()))
}

// ours is the files that NoteWritten was told of.
func ours(cacheRoot string) (paths []string) {
	text, err := os.ReadFile(oursFile(cacheRoot))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		var path string
		if json.Unmarshal([]byte(line), &path) == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// unlinked is an absolute path whose folder is without links.
func unlinked(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return path, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}
