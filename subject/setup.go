//go:build unix

package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"pugmark.dev/conform/process"
)

// endGrace is how long a program that has to end has between SIGTERM and
// SIGKILL, where the caller does not say.
const endGrace = time.Second

// SetupError is a set-up that did not go through. Nothing of it counts: the
// next one begins anew in a clean folder.
type SetupError struct {
	Subject string
	// Line of Lines is the one that failed, from 1; Args is the command.
	Line, Lines int
	Args        []string
	// Exit says how the command ended; empty when it did not start.
	Exit string
	// Output is the last lines of what was printed, Log the file that has all.
	Output, Log string
	// Err is why the command did not start or was stopped, else nil.
	Err error
}

func (e *SetupError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "set up %s: line %d of %d of `setup`, %s: ", e.Subject, e.Line, e.Lines, shown(e.Args))
	switch {
	case errors.Is(e.Err, context.Canceled): // by the user, so there is nothing to put right
		b.WriteString("interrupted; the next set-up begins anew")
		return b.String()
	case e.Err != nil:
		fmt.Fprint(&b, e.Err)
	default:
		b.WriteString(e.Exit)
	}
	if e.Output != "" {
		fmt.Fprintf(&b, "; its last lines were%s\n", indented(e.Output))
	} else {
		b.WriteString("; it printed nothing; ")
	}
	fmt.Fprintf(&b, "the whole output, with no secret masked, is in %s; put the cause right and run again: the set-up then begins anew", e.Log)
	return b.String()
}

func (e *SetupError) Unwrap() error { return e.Err }

// setup is one set-up in the cache: root/stamp is written when all is done and
// touched when it is used, root/files is {cache}, root/setup.log has the output,
// root/origin says whose it is, and root.lock is held by who works on it, and
// together by all who use it.
type setup struct {
	name  string
	lines []Args
	dir   string
	root  string
	env   []string
}

func (s setup) files() string { return filepath.Join(s.root, "files") }
func (s setup) log() string   { return filepath.Join(s.root, "setup.log") }
func (s setup) stamp() string { return filepath.Join(s.root, "stamp") }

// newSetup names the set-up of a file by all that it depends on.
func newSetup(f *File, dir, cacheRoot string) (setup, error) {
	sum, err := setupDigest(f, dir, ours(cacheRoot))
	if err != nil {
		return setup{}, fmt.Errorf("set up %s: %w", f.Name, err)
	}
	return setup{
		name: f.Name, lines: f.Setup, dir: dir,
		root: filepath.Join(cacheRoot, "setup", fileName(f.Name)+"-"+sum),
	}, nil
}

// run does the set-up if it has not been done, and holds it until release. Once it
// has been done, no command is run.
func (s setup) run(ctx context.Context, progress func(string)) (release func(), err error) {
	if len(s.lines) == 0 {
		if err := os.MkdirAll(s.files(), 0o777); err != nil {
			return nil, fmt.Errorf("set up %s: %w", s.name, err)
		}
		return func() {}, nil
	}
	for made := false; ; made = true {
		release, err := s.use()
		switch {
		case err != nil:
			return nil, err
		case release != nil:
			if made {
				s.prune()
			}
			return release, nil
		}
		if err := s.make(ctx, progress); err != nil {
			return nil, err
		}
	}
}

// use holds the set-up if it is done; if not, release is nil.
func (s setup) use() (release func(), err error) {
	if !s.done() {
		return nil, nil
	}
	release, err = tryHold(s.root+".lock", shared)
	switch {
	case errors.Is(err, errHeld): // whoever removes it, or made it just now
		return nil, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS): // nobody removes it
		return func() {}, nil
	case err != nil:
		return nil, fmt.Errorf("set up %s: %w", s.name, err)
	case !s.done():
		release()
		return nil, nil
	}
	s.used()
	return release, nil
}

// make does the set-up, if nobody else did meanwhile.
func (s setup) make(ctx context.Context, progress func(string)) error {
	fail := func(err error) error { return fmt.Errorf("set up %s: %w", s.name, err) }
	if err := os.MkdirAll(filepath.Dir(s.root), 0o777); err != nil {
		return fail(err)
	}
	unlock, err := lock(ctx, s.root+".lock", func() {
		progress(fmt.Sprintf("%s: another run is setting it up; waiting for it", s.name))
	})
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if s.done() { // by who held the lock before
		return nil
	}
	if err := os.MkdirAll(s.root, 0o777); err != nil {
		return fail(err)
	}
	if err := os.WriteFile(s.origin(), []byte(s.name+"\n"+s.dir+"\n"), 0o666); err != nil {
		return fail(err)
	}
	return s.anew(ctx, progress)
}

func (s setup) done() bool {
	stamp, err := os.Stat(s.stamp())
	if err != nil || !stamp.Mode().IsRegular() {
		return false
	}
	files, err := os.Stat(s.files())
	return err == nil && files.IsDir()
}

// anew runs the lines of setup in a clean folder. It needs the lock.
func (s setup) anew(ctx context.Context, progress func(string)) error {
	for _, old := range []string{s.stamp(), s.files(), s.log()} {
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("set up %s: clear what an earlier set-up left: %w", s.name, err)
		}
	}
	if err := os.MkdirAll(s.files(), 0o777); err != nil {
		return fmt.Errorf("set up %s: %w", s.name, err)
	}
	// What a command prints may be a secret, and this is read by no mask.
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("set up %s: %w", s.name, err)
	}
	defer log.Close()
	for i, line := range s.lines {
		args := expandAll(line, map[string]string{"cache": s.files(), "dir": s.dir})
		progress(fmt.Sprintf("%s: set-up %d of %d: %s", s.name, i+1, len(s.lines), shown(args)))
		if err := s.line(ctx, log, args, i); err != nil {
			return err
		}
	}
	if err := writeWhole(s.stamp(), []byte(time.Now().UTC().Format(time.RFC3339)+"\n")); err != nil {
		return fmt.Errorf("set up %s: %w", s.name, err)
	}
	return nil
}

func (s setup) line(ctx context.Context, log *os.File, args []string, i int) error {
	fmt.Fprintf(log, "$ %s\n", shown(args))
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("set up %s: %w", s.name, err)
	}
	var set *process.Set
	result, err := set.Run(ctx, process.Command{Args: args, Dir: s.files(), Env: s.env, Stdout: log, Stderr: log}, endGrace)
	if err == nil && result.Exit.OK() {
		_, err := log.Seek(0, io.SeekEnd)
		return err
	}
	e := &SetupError{
		Subject: s.name, Line: i + 1, Lines: len(s.lines), Args: args,
		Output: tailOf(log, begin), Log: s.log(), Err: err,
	}
	if err == nil {
		e.Exit = result.Exit.String()
	}
	return e
}

// tailOf is the last lines of a file, from begin on.
func tailOf(f *os.File, begin int64) string {
	const most = 64 << 10
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(begin, info.Size()-most)
	text := make([]byte, info.Size()-from)
	n, err := f.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return lastLines(string(text[:n]))
}

// writeWhole writes a file that is there whole or not at all.
func writeWhole(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// fileName makes a name the beginning of a path's segment that everybody can
// read; the digest that follows tells names apart.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (isWordByte(byte(r)) || r == '.') {
			return r
		}
		return '_'
	}, strings.TrimLeft(name[:min(len(name), 40)], "."))
}
