package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Build builds commands of this module, such as pugmark-ref, into a folder, which go
// has to be on PATH for. They are built without the race detector, whatever the tests
// are built with: it watches the process of the test, and a program that has it takes
// four times as long to start and five times as long to load the cases.
func Build(dir string, commands ...string) error {
	args := []string{"build", "-race=false", "-buildvcs=false", "-o", dir}
	for _, name := range commands {
		args = append(args, "pugmark.dev/conform/cmd/"+name)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %w\n%s", commands, err, out)
	}
	return nil
}

// Main builds commands into a folder that is there as long as the tests of a package
// run, tells use of it, runs the tests, and returns their exit status.
func Main(tests interface{ Run() int }, use func(bin string), commands ...string) int {
	bin, err := os.MkdirTemp("", "programtest")
	if err == nil {
		defer os.RemoveAll(bin)
		err = Build(bin, commands...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	use(bin)
	return tests.Run()
}

// Unread is a pipe whose reader has gone, for the outputs of a program.
func Unread(t testing.TB) *os.File {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	t.Cleanup(func() { write.Close() })
	return write
}
