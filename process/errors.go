//go:build unix

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// What callers tell apart when a program does not start. They are found with
// errors.Is in a *StartError.
var (
	// ErrNoProgram is an empty argument list or an empty first argument.
	ErrNoProgram = errors.New("the command names no program")
	// ErrNotFound is a program that isn't there, or the interpreter or loader
	// that it names isn't.
	ErrNotFound = errors.New("program not found")
	// ErrNotExecutable is a file that is there and can't be run.
	ErrNotExecutable = errors.New("program is not executable")
	// ErrNoFolder is a working folder that is missing or no folder.
	ErrNoFolder = errors.New("working folder is missing")
	// ErrBusy is a program that somebody kept open for writing all the time
	// that we tried (F13). It says nothing about the program.
	ErrBusy = errors.New("program is still open for writing")
	// ErrEnded is a start after Set.EndAll.
	ErrEnded = errors.New("no programs are started any more: everything is being ended")
)

// StartError is a program that could not be started.
type StartError struct {
	Program string // the first argument, as given
	Dir     string // the working folder, as given
	Kind    error  // one of the Err values of this package, or nil for any other cause
	Detail  string // the cause in words, with what to do about it; may be empty
	Err     error  // the cause as the system gave it; may be nil
}

func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "start %q", e.Program)
	if e.Dir != "" {
		fmt.Fprintf(&b, " in %q", e.Dir)
	}
	if e.Kind != nil {
		fmt.Fprintf(&b, ": %v", e.Kind)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	} else if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap gives the kind and the system's error.
func (e *StartError) Unwrap() []error {
	var list []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}

// failure makes a StartError for c.
func (c Command) failure(kind, err error, detail string) *StartError {
	e := &StartError{Dir: c.Dir, Kind: kind, Err: err, Detail: detail}
	if len(c.Args) > 0 {
		e.Program = c.Args[0]
	}
	return e
}

// resolve checks what can be checked before a fork and gives the path to run.
// It looks first so that the errors are ours; what it can't see, explain does.
func (c Command) resolve() (string, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return "", c.failure(ErrNoProgram, nil, "")
	}
	if c.Dir != "" {
		info, err := os.Stat(c.Dir)
		if err != nil {
			return "", c.failure(ErrNoFolder, err, "")
		}
		if !info.IsDir() {
			return "", c.failure(ErrNoFolder, syscall.ENOTDIR, "it is a file")
		}
	}
	name := c.Args[0]
	if strings.Contains(name, "/") {
		err := executable(c.fromHere(name))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return "", c.failure(ErrNotFound, err, "no such file; install it or fix the path")
		case err != nil:
			return "", c.failure(ErrNotExecutable, err, err.Error())
		}
		return name, nil
	}
	var refused error
	for _, folder := range filepath.SplitList(c.path()) {
		if !filepath.IsAbs(folder) {
			continue
		}
		candidate := filepath.Join(folder, name)
		err := executable(candidate)
		if err == nil {
			return candidate, nil
		}
		if refused == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			refused = fmt.Errorf("%s: %w", candidate, err)
		}
	}
	if refused != nil {
		return "", c.failure(ErrNotExecutable, refused, refused.Error())
	}
	return "", c.failure(ErrNotFound, fs.ErrNotExist, "it is in no folder of PATH; install it or fix the path")
}

// path is the PATH in which the program is looked up. Of several in Env the
// last one counts, as it does for os/exec.
func (c Command) path() string {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(c.Env[i], "PATH="); ok {
			return value
		}
	}
	return os.Getenv("PATH")
}

// fromHere makes a path that is relative to Dir one that we can open.
func (c Command) fromHere(name string) string {
	if filepath.IsAbs(name) || c.Dir == "" {
		return name
	}
	return filepath.Join(c.Dir, name)
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("its mode is %v; chmod +x it", info.Mode().Perm())
	}
	return nil
}

// explain gives the system's error for path a kind and words.
func (c Command) explain(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ETXTBSY):
		return c.failure(ErrBusy, err, "")
	case errors.Is(err, syscall.ENOENT):
		// resolve saw the file, so it is what the file asks for that is missing.
		if interpreter := shebang(c.fromHere(path)); interpreter != "" {
			return c.failure(ErrNotFound, err, fmt.Sprintf("its first line asks for %q, which is missing; install it or fix the line", interpreter))
		}
		return c.failure(ErrNotFound, err, "the file is there, but the loader that it asks for is not")
	case errors.Is(err, syscall.ENOEXEC):
		return c.failure(ErrNotExecutable, err, "it is neither a program for this machine nor a script with a #! line")
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return c.failure(ErrNotExecutable, err, "")
	}
	return c.failure(nil, err, "")
}

// shebang gives the interpreter of a script's first line, or nothing.
func shebang(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	// The kernel looks at no more than 256 bytes.
	head, _ := io.ReadAll(io.LimitReader(f, 256))
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	// The CR of a file saved on another system is part of the name, and the
	// reason why it isn't found: it has to be seen.
	name, _, _ := strings.Cut(strings.TrimLeft(string(line), " \t"), " ")
	return name
}
