package main

import (
	"strings"
	"sync"
)

// written is the reports that are there already, for whoever ends the program before
// all of them are. The nil one keeps nothing.
type written struct {
	mu    sync.Mutex
	paths []string
}

// put puts a report in its place by do.
func (w *written) put(path string, do func() error) error {
	if w == nil {
		return do()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := do()
	if err == nil {
		w.paths = append(w.paths, path)
	}
	return err
}

// close says what is there, and that nothing more will be.
func (w *written) close() string {
	w.mu.Lock() // for good
	if len(w.paths) == 0 {
		return "without a report"
	}
	return "after writing " + strings.Join(w.paths, ", ")
}
