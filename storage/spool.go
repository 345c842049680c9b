package storage

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// spoolInMemory is how many bytes a spool holds before it moves to a file.
const spoolInMemory = 1 << 20

// Spool takes bytes of unknown number and gives them back with their number
// known: in memory while they are few, in a temporary file beyond. The zero
// value is ready for use; Close it when done.
type Spool struct {
	memory bytes.Buffer
	file   *os.File
	size   int64
}

// Write appends to the spool.
func (s *Spool) Write(p []byte) (int, error) {
	if s.file == nil && s.memory.Len()+len(p) > spoolInMemory {
		if err := s.toFile(); err != nil {
			return 0, err
		}
	}
	var n int
	var err error
	if s.file != nil {
		n, err = s.file.Write(p)
	} else {
		n, err = s.memory.Write(p)
	}
	s.size += int64(n)
	return n, err
}

func (s *Spool) toFile() error {
	file, err := os.CreateTemp("", "pugmark-spool-*")
	if err != nil {
		return fmt.Errorf("spooling: %w", err)
	}
	// Unlinked at once, so that no crash leaves it behind.
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return fmt.Errorf("spooling: %w", err)
	}
	if _, err := file.Write(s.memory.Bytes()); err != nil {
		_ = file.Close()
		return fmt.Errorf("spooling: %w", err)
	}
	s.file = file
	s.memory = bytes.Buffer{}
	return nil
}

// Size is the number of bytes written.
func (s *Spool) Size() int64 { return s.size }

// Reader reads the spool from its beginning. Readers are independent of each
// other and valid until Close; nothing may be written after the first.
func (s *Spool) Reader() io.ReadSeeker {
	if s.file != nil {
		return spoolReader{io.NewSectionReader(s.file, 0, s.size)}
	}
	return spoolReader{bytes.NewReader(s.memory.Bytes())}
}

// spoolReader is known to give the same bytes each time it is read, as a file of
// someone else's is not.
type spoolReader struct{ io.ReadSeeker }

// Close frees the spool.
func (s *Spool) Close() error {
	s.memory = bytes.Buffer{}
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
}
