package mutants

import (
	"fmt"
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

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	_ = process.Adopt()
	bin, err := os.MkdirTemp("", "mutants-bin")
	if err == nil {
		defer os.RemoveAll(bin)
		err = programtest.Build(bin, "pugmark-conform")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(bin, "pugmark-conform")
	defer programs.EndAll(2 * time.Second)
	return m.Run()
}
