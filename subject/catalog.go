//go:build unix

package subject

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// UnknownError is a name that is no shipped subject and no path.
type UnknownError struct {
	Name string
	// Known is the names that there are; who knows more may add them.
	Known []string
}

func (e *UnknownError) Error() string {
	hint := ""
	if near, ok := nearest(e.Name, e.Known); ok {
		hint = fmt.Sprintf(" (did you mean %s?)", near)
	}
	known := "none"
	if len(e.Known) > 0 {
		known = strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("there is no subject %q%s: known by name are %s, and a subject of your own is given by the path of its file or folder", e.Name, hint, known)
}

// Shipped returns the names of the subjects in shipped, a folder of folders
// with a subject file each.
func Shipped(shipped fs.FS) ([]string, error) {
	files, err := fs.Glob(shipped, "*/"+FileName)
	if err != nil {
		return nil, fmt.Errorf("shipped subjects: %w", err)
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = path.Dir(file)
	}
	return names, nil
}

// Find gives the subject file that a user means, and the absolute path of its
// folder. The name of a shipped subject comes first; its files are laid into
// the cache, once for each content, so that an installed program has them.
// Everything else that has a slash, ends in .yaml or .yml, or is a folder with
// a subject file is a path. What is none of these is an *UnknownError.
func Find(nameOrFile string, shipped fs.FS, cache string) (file *File, dir string, err error) {
	names, err := Shipped(shipped)
	if err != nil {
		return nil, "", err
	}
	for _, name := range names {
		if name == nameOrFile {
			return extracted(name, shipped, cache)
		}
	}
	at := nameOrFile
	info, statErr := os.Stat(at)
	if statErr == nil && info.IsDir() {
		at = filepath.Join(at, FileName)
		_, err := os.Stat(at)
		switch {
		case err == nil:
		case strings.Contains(nameOrFile, "/"):
			return nil, "", fmt.Errorf("the folder %s has no %s: %w", nameOrFile, FileName, err)
		default:
			return nil, "", &UnknownError{nameOrFile, names}
		}
	} else if !strings.Contains(at, "/") && !strings.HasSuffix(at, ".yaml") && !strings.HasSuffix(at, ".yml") {
		return nil, "", &UnknownError{nameOrFile, names}
	}
	at, err = filepath.Abs(at)
	if err != nil {
		return nil, "", fmt.Errorf("subject %s: %w", nameOrFile, err)
	}
	if file, err = Load(at); err != nil {
		return nil, "", err
	}
	return file, filepath.Dir(at), nil
}

// extracted lays a shipped subject into the cache and loads it from there.
func extracted(name string, shipped fs.FS, cache string) (*File, string, error) {
	files, err := fs.Sub(shipped, name)
	if err != nil {
		return nil, "", fmt.Errorf("shipped subject %s: %w", name, err)
	}
	// Before anything is written: a file that is wrong is the program's fault.
	file, err := LoadFS(shipped, path.Join(name, FileName))
	if err != nil {
		return nil, "", err
	}
	dir, err := extract(name, files, cache)
	if err != nil {
		return nil, "", fmt.Errorf("lay out the shipped subject %s: %w", name, err)
	}
	return file, dir, nil
}

// extract writes files to a folder that is named by their content. The folder
// comes into being whole or not at all; one that has been spoilt since is made
// anew.
func extract(name string, files fs.FS, cache string) (string, error) {
	sum := sha256.New()
	if err := digestTree(sum, files, nil); err != nil {
		return "", err
	}
	all, err := filepath.Abs(filepath.Join(cache, "subjects"))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(all, name+"-"+shortSum(sum))
	if err := os.MkdirAll(all, 0o777); err != nil {
		return "", err
	}
	unlock, err := lock(context.Background(), dir+".lock", nil) // held for milliseconds
	if err != nil {
		return "", err
	}
	defer unlock()
	switch same, err := holds(dir, files); {
	case err != nil:
		return "", err
	case same:
		return dir, nil
	}
	fresh, err := os.MkdirTemp(all, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := lay(fresh, files); err != nil {
		return "", err
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.Rename(fresh, dir)
}

// holds reports whether every file is in dir as it should be. What is there
// besides, as a language's cache of compiled code, does no harm.
func holds(dir string, files fs.FS) (bool, error) {
	same := true
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		want, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(got, want) {
			same = false
			return fs.SkipAll
		}
		return nil
	})
	return same, err
}

// lay copies files to dir. An embedded file has lost its mode, so that a
// script is what begins like one.
func lay(dir string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if bytes.HasPrefix(data, []byte("#!")) {
			mode = 0o755
		}
		return os.WriteFile(to, data, mode)
	})
}
