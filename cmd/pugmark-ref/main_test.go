package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"pugmark-ref": main,
	})
}

func TestCommandLine(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup:               providePython,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// providePython makes sure that handlers can be run as `python`, which some systems
// call python3 alone.
func providePython(env *testscript.Env) error {
	if _, err := exec.LookPath("python"); err == nil {
		return nil
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return fmt.Errorf("the handlers of these tests need Python: %w", err)
	}
	bin := filepath.Join(env.WorkDir, ".bin")
	if err := os.Mkdir(bin, 0o777); err != nil {
		return err
	}
	env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
	return os.Symlink(python, filepath.Join(bin, "python"))
}

// exits runs a program that must end with a status: exits STATUS PROGRAM ARGS...
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	var status *exec.ExitError
	err := ts.Exec(args[1], args[2:]...)
	if !errors.As(err, &status) || strconv.Itoa(status.ExitCode()) != args[0] {
		ts.Fatalf("want exit status %s, got %v", args[0], err)
	}
}

func TestSplitWords(t *testing.T) {
	for text, want := range map[string][]string{
		`python agent.py`:         {"python", "agent.py"},
		"  a\t b\n":               {"a", "b"},
		`sh -c 'echo "x  y" $Z'`:  {"sh", "-c", `echo "x  y" $Z`},
		`a"b c"'d e'f`:            {"ab cd ef"},
		`"a\"b\\c\d\$e"`:          {`a"b\c\d$e`},
		`a\ b '' ""`:              {"a b", "", ""},
		`'it'\''s'`:               {"it's"},
		`'` + "line\nend" + `' é`: {"line\nend", "é"},
	} {
		got, err := splitWords(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"", "  ", `'a`, `a"b`, `a\`} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%q gave %q, want an error", text, got)
		}
	}
}
