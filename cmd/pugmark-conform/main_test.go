package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/process/programtest"
)

// raced is the name under which tests start the program with the race detector, if
// they have it themselves; what they start as pugmark-conform never has.
const raced = "pugmark-conform-raced"

// TestMain makes the test binary the program too: by name, and by the hidden verbs for
// whoever looks up its own path.
func TestMain(m *testing.M) {
	if status, ok := hidden(os.Args); ok {
		os.Exit(status)
	}
	// Programs that are built with the race detector wait a second before they exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	testscript.Main(prepared{m}, map[string]func(){raced: func() { os.Exit(start()) }})
}

// plain is the program without the race detector, which plays the handlers of tests that
// run the rest in process.
var plain string

// prepared puts the program on PATH, where the tests, the scripts of the gates and
// those of repro look for it, and makes the tests the parent of orphans, as main does,
// so that what a subject leaves behind can be counted.
type prepared struct{ m *testing.M }

func (p prepared) Run() int {
	_ = process.Adopt()
	return programtest.Main(p.m, func(bin string) {
		plain = filepath.Join(bin, "pugmark-conform")
		os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}, "pugmark-conform")
}
