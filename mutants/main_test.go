package mutants

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/process/programtest"
)

// program is the one that plays the handlers, mutants and the scripted one, built for
// these tests: thousands of them are started.
var program string

// programs is what the tests of this package have running.
var programs = &process.Set{}

func TestMain(m *testing.M) {
	_ = process.Adopt()
	status := programtest.Main(m, func(bin string) { program = filepath.Join(bin, "pugmark-conform") }, "pugmark-conform")
	programs.EndAll(2 * time.Second)
	os.Exit(status)
}
