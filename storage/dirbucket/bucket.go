package dirbucket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"syscall"

	"pugmark.dev/conform/storage"
)

// Bucket is a [storage.Bucket] in a folder. Get one from [Open].
type Bucket struct {
	root *os.Root
}

// Open opens the bucket in a folder, which is made if it does not exist. Close it
// when done. Symbolic links that lead out of the folder are not followed.
func Open(folder string) (*Bucket, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("opening a store: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("opening a store: %w", err)
	}
	return &Bucket{root: root}, nil
}

// Close frees the folder.
func (b *Bucket) Close() error { return b.root.Close() }

// Get implements [storage.Bucket].
func (b *Bucket) Get(ctx context.Context, key string) (*storage.Object, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	file, err := b.root.Open(key)
	if err != nil {
		return nil, translate(key, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = file.Close()
		return nil, translate(key, err)
	}
	return &storage.Object{ReadCloser: file, Size: info.Size()}, nil
}

// Stat implements [storage.Bucket].
func (b *Bucket) Stat(ctx context.Context, key string) (int64, error) {
	if err := check(ctx, key); err != nil {
		return 0, err
	}
	info, err := b.root.Stat(key)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return 0, translate(key, err)
	}
	return info.Size(), nil
}

// Put implements [storage.Bucket].
func (b *Bucket) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	// A look first spares the copy of a body that is there already; the link
	// below decides.
	if _, err := b.root.Lstat(key); err == nil {
		return fmt.Errorf("object %s %w", key, storage.ErrExist)
	}
	folder := path.Dir(key)
	temporary := path.Join(folder, temporaryPrefix+strings.ToLower(rand.Text()))
	file, err := b.create(temporary)
	if err != nil {
		return fmt.Errorf("storing %s: %w", key, withoutPath(err))
	}
	if err := fill(ctx, file, body); err != nil {
		_ = b.root.Remove(temporary)
		return fmt.Errorf("storing %s: %w", key, withoutPath(err))
	}
	err = b.root.Link(temporary, key)
	_ = b.root.Remove(temporary) // a leftover is no object
	if err != nil {
		return translate(key, err)
	}
	if err := b.syncFolder(folder); err != nil {
		return fmt.Errorf("storing %s, which can be seen but may not be durable: %w", key, err)
	}
	return nil
}

// temporaryPrefix begins the names of files that are no objects; no key has a
// segment that begins with a dot.
const temporaryPrefix = ".tmp-"

// create opens a new file, making the folders above it where they are missing.
func (b *Bucket) create(name string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	file, err := b.root.OpenFile(name, flags, 0o666)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if err := b.makeFolder(path.Dir(name)); err != nil {
		return nil, err
	}
	return b.root.OpenFile(name, flags, 0o666)
}

// makeFolder makes a folder and those above it, and syncs each folder that got a
// new one: an object is as durable as the path to it.
func (b *Bucket) makeFolder(folder string) error {
	err := b.root.Mkdir(folder, 0o777)
	if errors.Is(err, fs.ErrNotExist) {
		if err := b.makeFolder(path.Dir(folder)); err != nil {
			return err
		}
		err = b.root.Mkdir(folder, 0o777)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil // another writer made it, and may not have synced it yet
	}
	if err != nil {
		return err
	}
	return b.syncFolder(path.Dir(folder))
}

func (b *Bucket) syncFolder(folder string) error {
	file, err := b.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func fill(ctx context.Context, file *os.File, body io.Reader) error {
	_, err := io.Copy(file, body)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// List implements [storage.Bucket].
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		folder := "."
		if slash := strings.LastIndexByte(prefix, '/'); slash >= 0 {
			folder = prefix[:slash]
			if err := check(ctx, folder); err != nil {
				yield("", err)
				return
			}
		}
		l := listing{bucket: b, ctx: ctx, prefix: prefix, yield: yield}
		if err := l.walk(folder); err != nil && !errors.Is(err, errStopped) {
			yield("", fmt.Errorf("listing %q: %w", prefix, err))
		}
	}
}

// errStopped says that whoever ranges over a listing has seen enough.
var errStopped = errors.New("stopped")

// listBatch is how many names of a folder are held at a time: a folder of
// snapshots may have any number.
const listBatch = 512

// listing is one List.
type listing struct {
	bucket *Bucket
	ctx    context.Context
	prefix string
	yield  func(string, error) bool
}

// walk lists the objects below a folder. One that is not there has none.
func (l listing) walk(folder string) error {
	file, err := l.bucket.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.IsDir() {
		return err
	}
	for {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		entries, err := file.ReadDir(listBatch)
		for _, entry := range entries {
			if err := l.take(path.Join(folder, entry.Name()), entry); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take yields an object or walks a folder; what no key names is passed over.
func (l listing) take(name string, entry fs.DirEntry) error {
	switch {
	case storage.CheckKey(entry.Name()) != nil:
		return nil
	case entry.IsDir():
		if strings.HasPrefix(name+"/", l.prefix) || strings.HasPrefix(l.prefix, name+"/") {
			return l.walk(name)
		}
	case entry.Type().IsRegular() && strings.HasPrefix(name, l.prefix):
		if !l.yield(name, nil) {
			return errStopped
		}
	}
	return nil
}

func check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := storage.CheckKey(key); err != nil {
		return err
	}
	for segment := range strings.SplitSeq(key, "/") {
		if len(segment) > storage.MaxSegment {
			return fmt.Errorf("%w: a name of %d bytes, escaped, passes the %d bytes that a folder store takes",
				storage.ErrInvalidKey, len(segment), storage.MaxSegment)
		}
	}
	return nil
}

func translate(key string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("object %s %w", key, storage.ErrNotExist)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("object %s %w", key, storage.ErrExist)
	default:
		return fmt.Errorf("object %s: %w", key, withoutPath(err))
	}
}

// withoutPath leaves the name of a file out of an error: it is the key's once more,
// or one that nobody knows, of a temporary file.
func withoutPath(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	default:
		return err
	}
}
