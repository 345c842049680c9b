package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/subject"
)

func (a *app) lintCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lint [PATH...]", Short: "Check case files and subject files with the loaders that run uses",
		Long: `lint checks files with the loaders that run uses. PATH is a folder of case files,
which has the folders handler and runtime, or one case file below such a folder, or a
subject file. Without a PATH it checks the cases that are built in.`,
		RunE: func(_ *cobra.Command, paths []string) error {
			if len(paths) == 0 {
				paths = []string{""}
			}
			for _, name := range paths {
				if err := a.lint(name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *app) lint(name string) error {
	if isFile(name) {
		return a.lintFile(name)
	}
	if info, err := os.Stat(name); name != "" && err != nil {
		return fmt.Errorf("lint %s: %w", name, err)
	} else if name != "" && !info.IsDir() {
		return fmt.Errorf("lint %s: it is neither a folder nor a file", name)
	}
	s, err := a.loadSuite(name)
	if err != nil {
		return err
	}
	if name == "" {
		name = "the built-in cases"
	}
	_, err = fmt.Fprintf(a.Out, "%s: %s, no problem\n", name, count(len(s.cases), "case"))
	return err
}

// lintFile checks one file: a case by where it lies, anything else as a subject file.
func (a *app) lintFile(name string) error {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	root, id, ok := caseRoot(filepath.ToSlash(absolute))
	if !ok {
		f, err := subject.Load(name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "%s: the subject %s, a %s; no problem\n", name, f.Name, f.Kind)
		return err
	}
	registry, err := spec.Load()
	if err != nil {
		return err
	}
	shown := strings.TrimSuffix(strings.TrimSuffix(filepath.ToSlash(name), id), "/")
	c, problems := casefile.Loader{Registry: registry, Root: shown}.LoadFile(os.DirFS(root), id)
	for _, p := range problems {
		fmt.Fprintln(a.Err, p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s in %s", count(len(problems), "problem"), name)
	}
	_, err = fmt.Fprintf(a.Out, "%s: the case %s, no problem\n", name, c.ID)
	return err
}

// caseRoot splits the path of a case file at the last folder that is named after a
// kind and has an area and a file below it.
func caseRoot(file string) (root, below string, ok bool) {
	if extension := path.Ext(file); extension != ".yaml" && extension != ".txtar" {
		return "", "", false
	}
	parts := strings.Split(file, "/")
	for i := len(parts) - 3; i > 0; i-- {
		if parts[i] == casefile.KindHandler || parts[i] == casefile.KindRuntime {
			return strings.Join(parts[:i], "/") + "/", strings.Join(parts[i:], "/"), true
		}
	}
	return "", "", false
}
