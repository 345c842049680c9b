package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/spec"
)

// suite is the registry and the cases, loaded.
type suite struct {
	registry *spec.Spec
	cases    []*casefile.Case
	// files is where the cases were loaded from.
	files fs.FS
	// digest is of all case files, names and bytes.
	digest string
}

// loadSuite loads the cases of a folder, or the built-in ones. A problem in any
// file is an error: a case that is left out would look like one that passed.
func (a *app) loadSuite(dir string) (*suite, error) {
	registry, err := spec.Load()
	if err != nil {
		return nil, err
	}
	fsys, root := spec.Cases(), "spec/cases"
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--cases %s is no folder", dir)
		}
		fsys, root = os.DirFS(dir), dir
	}
	cases, problems := casefile.Loader{Registry: registry, Root: root}.Load(fsys)
	if len(problems) > 0 {
		for _, p := range problems {
			fmt.Fprintln(a.Err, p)
		}
		return nil, fmt.Errorf("%s in the case files of %s; nothing was run", count(len(problems), "problem"), root)
	}
	digest, err := digestOf(fsys)
	if err != nil {
		return nil, err
	}
	return &suite{registry: registry, cases: cases, files: fsys, digest: digest}, nil
}

// count is a number of things in words.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// digestOf is the digest of all files of a tree, in the order of their names.
func digestOf(fsys fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(data))
		sum.Write(data)
		return nil
	})
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
}

// version is the module's version, as the Go tool stamped it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: takesFlags,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.Out, version())
			return err
		},
	}
}
