package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/gate"
	"pugmark.dev/conform/subject"
)

// actionName is how workflows name the action of this repository.
const actionName = "pugmark/conform"

// initFlags is what init was asked for.
type initFlags struct {
	kind, language, ci, into, name string
}

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a subject file, with comments, and a CI job that gates on it",
		Long: `init writes what a project needs to be put to the test: a subject file with
comments, and a job for its CI server that fails when the subject does not conform. It
overwrites nothing, and says what to do next.`,
		Args: takesFlags,
		RunE: func(*cobra.Command, []string) error { return a.init(f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.kind, "kind", subject.KindHandler, "`KIND` of the subject: handler or runtime")
	flags.StringVar(&f.language, "language", "other", "`LANGUAGE` that it is written in: "+strings.Join(initLanguages(), ", "))
	flags.StringVar(&f.ci, "ci", "github", "`SERVER` that the job is for: github, gitlab or none")
	flags.StringVar(&f.into, "into", "conform", "`FOLDER` for the subject file, below the project's root, where init is called")
	flags.StringVar(&f.name, "name", "", "`NAME` of the subject in reports (default the name of the project's folder)")
	return c
}

// initFile is one file that init writes.
type initFile struct {
	path string
	text []byte
}

func (a *app) init(f initFlags) error {
	switch {
	case f.kind != subject.KindHandler && f.kind != subject.KindRuntime:
		return fmt.Errorf("--kind %s: a subject is a handler or a runtime", f.kind)
	case !slices.Contains(initLanguages(), f.language):
		return fmt.Errorf("--language %s: there is %s; take other, and put your own commands in", f.language, strings.Join(initLanguages(), ", "))
	case !slices.Contains([]string{"github", "gitlab", "none"}, f.ci):
		return fmt.Errorf("--ci %s: there is github, gitlab, none", f.ci)
	case !filepath.IsLocal(f.into):
		return fmt.Errorf("--into %s: a folder below this one is wanted, which the job finds again", f.into)
	}
	if f.name == "" {
		here, err := os.Getwd()
		if err != nil {
			return err
		}
		f.name = subjectName(filepath.Base(here))
	}
	files := []initFile{{filepath.Join(f.into, subject.FileName), f.subjectFile()}}
	// What is written has to be right: a name that the user gave may not be.
	if _, err := subject.Parse(files[0].path, files[0].text); err != nil {
		return fmt.Errorf("--name %s: %w", f.name, err)
	}
	next := []string{}
	switch f.ci {
	case "github":
		files = append(files, initFile{filepath.Join(".github", "workflows", "pugmark-conform.yml"), f.workflow()})
	case "gitlab":
		files = append(files, initFile{filepath.Join(".gitlab", "pugmark-conform.yml"), gate.GitLab()})
		if isFile(".gitlab-ci.yml") {
			next = append(next, "add this to .gitlab-ci.yml, which is there already:\n\n"+indent(f.include()))
		} else {
			files = append(files, initFile{".gitlab-ci.yml", []byte(f.include())})
		}
	}
	for _, file := range files {
		if _, err := os.Lstat(file.path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already, and nothing was written", file.path)
		}
	}
	for _, file := range files {
		if err := writeNew(file.path, file.text); err != nil {
			return err
		}
		fmt.Fprintln(a.Out, file.path)
	}
	return a.next(f, files[0].path, next)
}

// next says what to do.
func (a *app) next(f initFlags, file string, steps []string) error {
	first := "put your commands into " + file + ", and write the small handler that they start: it does what its instructions say (CONFORMANCE.md, \"Plug in a handler\")"
	if f.kind == subject.KindRuntime {
		first = "put your commands into " + file + " (CONFORMANCE.md, \"Plug in a runtime\"), and claim what your runtime can"
	}
	quoted := shellQuoted(file)
	steps = append([]string{
		first,
		"pugmark-conform doctor --subject " + quoted + "\n   says what is not plugged in right yet",
		"pugmark-conform run --subject " + quoted + "\n   is the whole test; what it finds and you can't mend today goes into a known-failures file:\n   --write-known-failures " + shellQuoted(filepath.Join(f.into, "known-failures.yaml")),
	}, steps...)
	fmt.Fprintln(a.Out, "\nnext:")
	for i, step := range append(steps, "commit what was written") {
		if _, err := fmt.Fprintf(a.Out, "%d. %s\n", i+1, step); err != nil {
			return err
		}
	}
	return nil
}

// writeNew writes a file that is not there yet.
func writeNew(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// subjectName makes a name of a subject of a folder's.
func subjectName(folder string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, folder)
	if name = strings.Trim(name, "-."); name == "" {
		return "my-subject"
	}
	return name
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
