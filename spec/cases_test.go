package spec_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/spec"
)

func TestCasesAreRootedAtTheFolderOfCases(t *testing.T) {
	readme, err := fs.ReadFile(spec.Cases(), "README.md")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(readme), "# Cases\n"), "README.md begins %.20q", readme)
}

func TestEveryEmbeddedFileIsACaseOrItsExplanation(t *testing.T) {
	err := fs.WalkDir(spec.Cases(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		kind, _, _ := strings.Cut(path, "/")
		isCase := strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".txtar")
		if path != "README.md" && !(isCase && (kind == "handler" || kind == "runtime")) {
			t.Errorf("%s is neither a .yaml nor a .txtar file under handler or runtime", path)
		}
		return nil
	})
	require.NoError(t, err)
}
