package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// pythonName is what pip calls the project of a folder, as its files say, and "" where
// they don't: a setup.py may make it up.
func pythonName(root string) string {
	for _, source := range []struct {
		file     string
		sections []string
	}{
		{"pyproject.toml", []string{"project", "tool.poetry", "tool.flit.metadata"}},
		{"setup.cfg", []string{"metadata"}},
	} {
		text, err := os.ReadFile(filepath.Join(root, source.file))
		if err != nil {
			continue
		}
		for _, section := range source.sections {
			if name := keyOf(string(text), section, "name"); isPythonName(name) {
				return name
			}
		}
	}
	return ""
}

// keyOf is the value of a plain key of a section, in a file of sections such as TOML.
func keyOf(text, section, key string) string {
	here := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "["), "]")
			here = strings.TrimSpace(name) == section
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !here || !ok || strings.TrimSpace(name) != key {
			continue
		}
		value, _, _ = strings.Cut(value, "#")
		return strings.Trim(strings.TrimSpace(value), `"'`)
	}
	return ""
}

// isPythonName reports whether a text can be the name of a distribution.
func isPythonName(text string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`).MatchString(text)
}

// pythonVersion is the command, as a subject file has it, that prints the version of the
// package that pip installed from the project's folder.
func pythonVersion(name string) string {
	program := "import importlib.metadata as m; print(m.version('" + name + "'))"
	if name == "" { // what pip installed from a folder and not from an index says so
		program = "import importlib.metadata as m; print(*(d.version for d in m.distributions() if d.read_text('direct_url.json')))"
	}
	return `["{cache}/venv/bin/python", -c, "` + program + `"]`
}

// root is the project's folder as the subject file names it.
func (f initFlags) root() string {
	up, err := filepath.Rel(f.into, ".")
	if err != nil || up == "." {
		return "{dir}"
	}
	return "{dir}/" + filepath.ToSlash(up)
}
