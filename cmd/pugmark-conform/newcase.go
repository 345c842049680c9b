package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/spec"
)

// casesFolder is where a checkout of this project has its cases.
const casesFolder = "spec/cases"

func (a *app) newCaseCommand() *cobra.Command {
	var dir, requirement string
	var story bool
	c := &cobra.Command{
		Use:   "new-case CASE",
		Short: "Write the beginning of a case file",
		Long: `new-case writes the beginning of a case file. CASE is the ID of the case, such
as handler/framing/my-fact: the kind, the area, and words that say the fact. With
--story, or when CASE ends in .txtar, it is a story: several invocations of a runtime.
What it writes loads once its why says something; what it is about is for you to change.`,
		Args: takes(1, 1, "the ID of one case"),
		RunE: func(_ *cobra.Command, args []string) error {
			id, told := strings.CutSuffix(strings.TrimSuffix(args[0], ".yaml"), ".txtar")
			return a.newCase(dir, id, requirement, story || told)
		},
	}
	c.Flags().BoolVar(&story, "story", false, "a story, in a .txtar file, in place of data in YAML")
	c.Flags().StringVar(&dir, "cases", casesFolder, "`FOLDER` of case files")
	c.Flags().StringVar(&requirement, "requirement", "P3/any-whitespace", "`REQUIREMENT` that the case covers")
	return c
}

func (a *app) newCase(dir, id, requirement string, story bool) error {
	registry, err := spec.Load()
	if err != nil {
		return err
	}
	if _, ok := registry.Requirement(requirement); !ok {
		return fmt.Errorf("--requirement: %w", unknownRequirement(registry, requirement))
	}
	kind, rest, _ := strings.Cut(id, "/")
	text, extension, other := casefile.Scaffold(kind, requirement), ".yaml", ".txtar"
	if text == nil || !fs.ValidPath(id) || strings.Count(rest, "/") != 1 {
		return fmt.Errorf("%q is no ID of a case: handler/AREA/FACT or runtime/AREA/FACT is wanted", id)
	}
	if story {
		if kind != casefile.KindRuntime {
			return fmt.Errorf("%s: a story is of a runtime; a case of a handler is data, in a .yaml file", id)
		}
		text, extension, other = casefile.ScaffoldStory(requirement), other, extension
	}
	if problem := casefile.CheckPath(id + extension); problem != "" {
		return errors.New(problem)
	}
	path := filepath.Join(dir, filepath.FromSlash(id)+extension)
	if twin := filepath.Join(dir, filepath.FromSlash(id)+other); isFile(twin) {
		return fmt.Errorf("%s is there already, and would have the same ID", twin)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s\nedit it, then: pugmark-conform lint %s\n", path, shellQuoted(path))
	return nil
}
