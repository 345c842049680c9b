package result

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
)

// MaxFile is how many bytes a stored report, or the evidence of a case, may have to be
// read. What is written is far below it.
const MaxFile = 1 << 30

// ReadFile reads a file that someone may have put in the place of one of ours: only a
// regular one, and of at most limit bytes. To open a named pipe, or to read a device,
// could wait for ever.
func ReadFile(name string, limit int64) ([]byte, error) {
	// Asked before it is opened, since for some devices that alone is an act; opened
	// without waiting and asked again, since it may be another one by then.
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	var b bytes.Buffer
	b.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	n, err := io.Copy(&b, io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, err
	case n > limit:
		return nil, fmt.Errorf("%s has over %d bytes", name, limit)
	}
	return b.Bytes(), nil
}
