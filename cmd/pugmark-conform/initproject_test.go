package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPythonNameIsThatOfTheProject(t *testing.T) {
	for _, test := range []struct{ name, file, text, want string }{
		{"a project", "pyproject.toml", "[tool.x]\nname = \"no\"\n[project]\nversion = \"1\"\nname = \"my-sdk\" # on PyPI\n", "my-sdk"},
		{"poetry", "pyproject.toml", "[tool.poetry]\nname = 'my.sdk'\n", "my.sdk"},
		{"setup.cfg", "setup.cfg", "[metadata]\nname=my_sdk\n[options]\nname=no\n", "my_sdk"},
		{"no name", "pyproject.toml", "[project]\ndynamic = [\"name\"]\n", ""},
		{"one that would end the program", "pyproject.toml", "[project]\nname = \"x'); import os #\"\n", ""},
		{"a made up one", "setup.cfg", "[metadata]\nname = attr: my.name\n", ""},
		{"no file", "setup.py", "setup(name='x')\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, test.file), []byte(test.text), 0o666))
			require.Equal(t, test.want, pythonName(dir))
		})
	}
}

func TestInitNamesTheProjectsFolder(t *testing.T) {
	for into, want := range map[string]string{"conform": "{dir}/..", "a/b": "{dir}/../..", ".": "{dir}", "./conform/": "{dir}/.."} {
		require.Equal(t, want, initFlags{into: into}.root(), into)
	}
}
