//go:build unix

package subject

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a set-up, a test or a run leaves in a project is not a reason to set up again.
func TestWhatIsMadeOfSourcesMakesNoSetupNew(t *testing.T) {
	for _, test := range []struct {
		name   string
		beside string // a file of the project, beside what is made
		made   string
		isMade bool
	}{
		{"evidence", "", "evidence/x/" + EvidenceMarker, true},
		{"byte code", "", "src/__pycache__/a.pyc", true},
		{"packages of node", "", "node_modules/a/index.js", true},
		{"what pip knows of a source", "", "src/x.egg-info/PKG-INFO", true},
		{"a virtual environment", "", "env/pyvenv.cfg", true},
		{"a hidden folder", "", ".tox/log", true},
		{"a hidden file", "", "src/.coverage", true},
		{"what pip builds", "pyproject.toml", "build/lib/a.py", true},
		{"what pip builds, of an old project", "setup.py", "build/lib/a.py", true},
		{"a package for upload", "setup.cfg", "dist/a.whl", true},
		{"what cargo builds", "Cargo.toml", "target/debug/a", true},
		{"what maven builds", "pom.xml", "target/a.class", true},
		{"what gradle builds", "build.gradle", "build/a.class", true},
		{"a folder with the name alone", "", "build/a.py", false},
		{"another with the name alone", "package.json", "dist/a.js", false},
		{"a third with the name alone", "pyproject.toml", "target/a.py", false},
		{"a package of that name", "pyproject.toml", "build/__init__.py", false},
		{"one that is not beside the project's file", "pyproject.toml", "src/build/a.py", false},
		{"a file of such a name", "pyproject.toml", "build", false},
		{"a file that ends so", "", "a.egg-info", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFolders(t)
			project := f.dir
			f.dir += "/conform"
			require.NoError(t, os.Mkdir(f.dir, 0o777))
			writeFile(t, project+"/a.py", "one")
			if test.beside != "" {
				writeFile(t, filepath.Join(project, test.beside), "one")
			}
			file := handler(Args{"true", "{dir}/.."})
			before := f.closed(t, file).Cache
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(project, test.made)), 0o777))
			writeFile(t, filepath.Join(project, test.made), "made")
			after := f.closed(t, file).Cache
			if got := before == after; got != test.isMade {
				t.Errorf("%s: is left out: %v, want %v", test.made, got, test.isMade)
			}
		})
	}
}

func TestReportsThatWereWrittenAreNoSource(t *testing.T) {
	f := newFolders(t)
	project := f.dir
	f.dir += "/conform"
	require.NoError(t, os.Mkdir(f.dir, 0o777))
	require.NoError(t, os.Symlink(project, f.dir+"/link"))
	require.NoError(t, NoteWritten(f.cache, project+"/early.json"), "nothing was set up yet")
	file := handler(Args{"true", "{dir}/.."})
	first := f.closed(t, file).Cache

	writeFile(t, project+"/report.json", "one")
	require.NotEqual(t, first, f.closed(t, file).Cache, "it could be a source")
	require.NoError(t, NoteWritten(f.cache, f.dir+"/link/report.json"))
	require.Equal(t, first, f.closed(t, file).Cache)
	t.Chdir(project)
	writeFile(t, project+"/junit.xml", "two")
	require.NoError(t, NoteWritten(f.cache, "report.json", "junit.xml"))
	require.Equal(t, first, f.closed(t, file).Cache)

	// What is gone is forgotten: a source may take its place.
	require.NoError(t, os.Remove("report.json"))
	writeFile(t, project+"/more.xml", "three")
	require.NoError(t, NoteWritten(f.cache, "more.xml"))
	require.Equal(t, first, f.closed(t, file).Cache)
	writeFile(t, project+"/report.json", "a source")
	require.NotEqual(t, first, f.closed(t, file).Cache)

	// A file that is named by itself counts, whoever wrote it.
	named := handler(Args{"true", "{dir}/../junit.xml"})
	before := f.closed(t, named).Cache
	writeFile(t, project+"/junit.xml", "four")
	require.NotEqual(t, before, f.closed(t, named).Cache)
}
