package mutants

import (
	"os"
	"testing"
	"time"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/process"
)

// The words by which the test program is one of the handlers.
const (
	verbScripted = "test-scripted"
	verbMutant   = "test-mutant"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case verbScripted:
			os.Exit(fakehandler.Main(os.Args[2:]))
		case verbMutant:
			os.Exit(Main(os.Args[2], os.Args[3:]))
		}
	}
	// Programs built with the race detector wait a second before they exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	_ = process.Adopt()
	status := m.Run()
	programs.EndAll(2 * time.Second)
	os.Exit(status)
}

// programs is what the tests of this package have running.
var programs = &process.Set{}
