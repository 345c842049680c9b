package subjects_test

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/subjects"
)

func TestEveryFolderWithASubjectFileIsEmbedded(t *testing.T) {
	want, err := filepath.Glob("*/subject.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, want)
	got, err := fs.Glob(subjects.Files(), "*/subject.yaml")
	require.NoError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("name the folder in the go:embed line (-want +got)", diff)
	}
}

func TestWhatToolsLeaveIsNotEmbedded(t *testing.T) {
	require.NoError(t, fs.WalkDir(subjects.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if base := entry.Name(); base != "." && (base[0] == '.' || base[0] == '_') {
			t.Errorf("%s is embedded", name)
		}
		return err
	}))
}
