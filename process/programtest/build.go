package programtest

import (
	"fmt"
	"os/exec"
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
