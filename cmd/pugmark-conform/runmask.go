package main

import (
	"errors"
	"fmt"
	"io"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/subject"
	"pugmark.dev/conform/subjects"
)

// openMasked opens the subject of a run, and returns it with the mask of its run, also
// beside [errInterrupted]. What a set-up prints is masked too, and commands no CI server.
func (a *app) openMasked(f runFlags, s *suite, open func(*app) (opened, error)) (opened, *result.Mask, error) {
	name, listed := listedMask(f.subject)
	secrets, spared, err := maskWants{a.environ(), f.mask, listed, s.publicWords(f.subject, name)}.secrets()
	if err != nil {
		return opened{}, nil, err
	}
	for _, line := range spared {
		if _, err := fmt.Fprintln(a.Err, "pugmark-conform:", line); err != nil {
			return opened{}, nil, err
		}
	}
	mask, quiet := result.NewMask(secrets), *a
	quiet.Err = quotingWriter{a.Err, mask}
	under, err := open(&quiet)
	stopped := err
	if err != nil && !errors.Is(err, errInterrupted) {
		if text := mask.Text(err.Error()); text != err.Error() {
			err = errors.New(text)
		}
		return opened{}, nil, err
	}
	return under, mask, stopped
}

// listedMask is what a subject's file calls it, and what it lists as secrets, before
// anything else is done with it. That it can't be read is said by who opens it.
func listedMask(name string) (string, []string) {
	if name == referenceName {
		return name, nil
	}
	cache, err := subject.DefaultCache()
	if err != nil {
		return name, nil
	}
	file, _, err := subject.Find(name, subjects.Files(), cache)
	if err != nil {
		return name, nil
	}
	return file.Name, file.Mask
}

// quotingWriter is for what quotes a subject: it masks what is written, write by write,
// and makes it inert.
type quotingWriter struct {
	to   io.Writer
	mask *result.Mask
}

func (w quotingWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, report.Inert(w.mask.Text(string(p)))); err != nil {
		return 0, err
	}
	return len(p), nil
}
