package subject

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// bigFile is from how many bytes on a file counts by its size and time of
// change: what is so big is not source.
const bigFile = 8 << 20

// setupDigest names a set-up by what it depends on: the name, the lines of
// setup, the kind of machine, and what a line names by {dir}. A file counts by its
// content. A folder counts by that and by where it is, since packages are often
// installed from a folder by reference; this keeps an old copy of an SDK, or
// another checkout of it, from being put to the test. What a named file refers
// to in turn is not looked at. ours is absolute paths of files that are left out.
func setupDigest(f *File, dir string, ours []string) (string, error) {
	sum := sha256.New()
	add(sum, "setup/v1", f.Name, runtime.GOOS, runtime.GOARCH)
	var named []string
	for _, line := range f.Setup {
		add(sum, append([]string{"line"}, line...)...)
		for _, text := range line {
			here, all := namedPaths(text, dir)
			named = append(named, here...)
			if !all {
				add(sum, "dir", dir)
			}
		}
	}
	slices.Sort(named)
	for _, name := range slices.Compact(named) {
		if err := digestPath(sum, filepath.Join(dir, name), ours); err != nil {
			return "", fmt.Errorf("look at what `setup` names: %w", err)
		}
	}
	return shortSum(sum), nil
}

// namedPaths returns what an argument of setup names by {dir}, relative to it,
// and whether all of it was there to be found.
func namedPaths(text, dir string) (named []string, all bool) {
	all = true
	marks := scan(text)
	for i, p := range marks {
		if p.word != "dir" {
			continue
		}
		found := false
		rest := text[p.end:]
		if i+1 < len(marks) {
			rest = text[p.end:marks[i+1].start]
		}
		// The second candidate is for {dir}[extra], {dir}/a:{dir}/b and a word of
		// a line that is given to a shell.
		for _, candidate := range []string{rest, rest[:endOfWord(rest)]} {
			if candidate != "" && candidate[0] != '/' {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, candidate)); err == nil {
				named, found = append(named, filepath.Clean("./"+candidate)), true
				break
			}
		}
		all = all && found
	}
	return named, all
}

func endOfWord(text string) int {
	if at := strings.IndexAny(text, " \t\n[]:;,\"'"); at >= 0 {
		return at
	}
	return len(text)
}

// digestPath adds a file, or all the files of a folder but ours.
func digestPath(sum hash.Hash, path string, ours []string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		add(sum, "folder", path)
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		below := map[string]bool{}
		for _, file := range ours {
			if name, err := filepath.Rel(real, file); err == nil {
				below[filepath.ToSlash(name)] = true
			}
		}
		return digestTree(sum, os.DirFS(path), below)
	case info.Mode().IsRegular():
		return digestFile(sum, os.DirFS(filepath.Dir(path)), filepath.Base(path), info)
	}
	return nil // a device or a pipe has no content
}

// digestTree adds the names and contents of all files to sum, but for ours and for
// what is made of sources; see isMade. A link counts by what it says.
func digestTree(sum hash.Hash, files fs.FS, ours map[string]bool) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		left := name != "." && (ours[name] || isMade(files, name, entry.IsDir()))
		switch {
		case entry.IsDir() && left:
			return fs.SkipDir
		case entry.IsDir(), left:
		case entry.Type().IsRegular():
			info, err := entry.Info()
			if err != nil {
				return err
			}
			return digestFile(sum, files, name, info)
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := fs.ReadLink(files, name)
			if err != nil {
				return err
			}
			add(sum, "link", name, target)
		}
		return nil
	})
}

// isMade reports whether a file or folder is what tools leave among sources, and what
// setting a subject up and running it leaves there too: were that to count, no set-up
// would be the last. What is found by its name alone has a name that no source has;
// a folder with a name that sources have too needs to stand beside what makes it.
func isMade(files fs.FS, name string, isFolder bool) bool {
	base := path.Base(name)
	has := func(folder string, any ...string) bool {
		return slices.ContainsFunc(any, func(file string) bool {
			_, err := fs.Lstat(files, path.Join(folder, file))
			return err == nil
		})
	}
	beside := func(any ...string) bool { return has(path.Dir(name), any...) }
	python := []string{"pyproject.toml", "setup.py", "setup.cfg"}
	switch {
	case strings.HasPrefix(base, "."):
		return true
	case !isFolder:
		return false
	case base == "__pycache__", base == "node_modules", strings.HasSuffix(base, ".egg-info"), has(name, EvidenceMarker, "pyvenv.cfg"):
		return true
	case base == "build":
		return beside(append(python, "build.gradle", "build.gradle.kts")...) && !has(name, "__init__.py")
	case base == "dist":
		return beside(python...) && !has(name, "__init__.py")
	case base == "target":
		return beside("Cargo.toml", "pom.xml")
	}
	return false
}

func digestFile(sum hash.Hash, files fs.FS, name string, info fs.FileInfo) error {
	if info.Size() > bigFile {
		add(sum, "big file", name, fmt.Sprint(info.Size(), info.ModTime().UnixNano()))
		return nil
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	add(sum, "file", name, string(data))
	return nil
}

// add adds a record to sum so that no two lists of records add the same bytes.
func add(sum hash.Hash, parts ...string) {
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s,", len(part), part)
	}
	fmt.Fprint(sum, "\n")
}

// shortSum is enough of a digest to tell contents apart that nobody has made to
// look alike.
func shortSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil))[:16] }
