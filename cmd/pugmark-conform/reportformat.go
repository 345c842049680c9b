package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/report/html"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/subject"
)

// runFormats is the formats of a run, in the order in which help names them.
func runFormats() []string { return []string{"json", "junit", "markdown", "html", "badge", "github"} }

// rendering is a run and what its formats are made from. Every verb that shows a
// run uses it, so that the same report looks the same, whoever renders it.
type rendering struct {
	run      *result.Run
	registry *spec.Spec
	// evidence is the folder that the evidence paths of the run are below.
	evidence string
}

// write writes the run in a format of [runFormats].
func (r rendering) write(w io.Writer, format string) error {
	renderer := report.Renderer{Registry: r.registry, Evidence: r.evidence, Place: placeOf(r.run.Command)}
	switch format {
	case "json":
		return report.WriteJSON(w, r.run)
	case "junit":
		return renderer.JUnit(w, r.run)
	case "markdown":
		return renderer.Markdown(w, r.run)
	case "html":
		return html.Render(w, r.run, r.registry, r.evidence)
	case "badge":
		return report.WriteBadge(w, r.run)
	case "github":
		return renderer.GitHub(w, r.run)
	}
	return fmt.Errorf("the format %q is not known; there is %s", format, strings.Join(runFormats(), ", "))
}

// placeOf is the file that annotations about a case point at: the case's own, when
// the run had case files of the user's, else the subject file. Both are paths as
// the command of the run has them; a name that is no path has no file.
func placeOf(command []string) func(id string) string {
	cases, under := flagValue(command, "--cases"), flagValue(command, "--subject")
	if under != "" && isFile(filepath.Join(under, subject.FileName)) {
		under = path.Join(filepath.ToSlash(under), subject.FileName)
	} else if !strings.Contains(under, "/") && !strings.HasSuffix(under, ".yaml") && !strings.HasSuffix(under, ".yml") {
		under = ""
	}
	return func(id string) string {
		if cases != "" && filepath.IsLocal(filepath.FromSlash(id)) {
			for _, extension := range []string{".yaml", ".txtar"} {
				if file := path.Join(filepath.ToSlash(cases), id+extension); isFile(file) {
					return file
				}
			}
		}
		return strings.TrimPrefix(under, "./")
	}
}

// flagValue is the value of a flag in a command line, the last where it repeats.
func flagValue(command []string, flag string) (value string) {
	for i, word := range command {
		if v, ok := strings.CutPrefix(word, flag+"="); ok {
			value = v
		}
		if word == flag && i+1 < len(command) {
			value = command[i+1]
		}
	}
	return value
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
