package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pugmark.dev/conform/process"
)

// TestMain makes the test binary the program too: by the name pugmark-conform for
// scripts, and by the hidden verbs for whoever looks up its own path.
func TestMain(m *testing.M) {
	if status, ok := hidden(os.Args); ok {
		os.Exit(status)
	}
	// Programs that are built with the race detector wait a second before they exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	testscript.Main(adopting{m}, map[string]func(){
		"pugmark-conform": func() { os.Exit(start()) },
	})
}

// adopting makes the tests the parent of orphans, as main does, so that what a
// subject leaves behind can be counted.
type adopting struct{ m *testing.M }

func (a adopting) Run() int {
	_ = process.Adopt()
	return a.m.Run()
}
