package subjects_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/subject"
)

// pythonTests is how many tests the Python runtime has of its own; one that is lost
// is not to go unnoticed.
const pythonTests = 50

// The runtime's own tests are run by the Python that its subject file names.
func TestThePythonRuntimePassesItsOwnTests(t *testing.T) {
	t.Parallel()
	file, err := subject.Load("python-runtime/" + subject.FileName)
	require.NoError(t, err)
	opened, err := subject.Open(t.Context(), file, "python-runtime", t.TempDir(), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"python3", "runtime.py"}, []string(file.Version[:2]))
	// A copy, so that the tree has no compiled code and no two runs share a folder.
	dir := t.TempDir()
	for _, name := range []string{"runtime.py", "test_runtime.py"} {
		data, err := os.ReadFile(filepath.Join("python-runtime", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	tests := exec.CommandContext(t.Context(), file.Version[0], "-m", "unittest")
	tests.Dir, tests.Env, tests.WaitDelay = dir, subject.Environment(os.Environ()), 10*time.Second
	out, err := tests.CombinedOutput()
	require.NoError(t, err, "%s", out)
	ran := regexp.MustCompile(`(?m)^Ran (\d+) tests? in`).FindSubmatch(out)
	require.NotNil(t, ran, "%s", out)
	require.Equal(t, strconv.Itoa(pythonTests), string(ran[1]))
	require.True(t, strings.HasSuffix(strings.TrimSpace(string(out)), "\nOK"), "none is skipped: %s", out)
	require.Equal(t, "1.0", opened.Version)
}

// The Python runtime is plugged in by its command line and by its driver, with the
// same claims.
func TestThePythonRuntimeClaimsTheSameInBothWays(t *testing.T) {
	commands, err := subject.Load("python-runtime/" + subject.FileName)
	require.NoError(t, err)
	driver, err := subject.Load("python-runtime/driver.yaml")
	require.NoError(t, err)
	require.Equal(t, commands.Features, driver.Features)
	require.NotEmpty(t, commands.Commands)
	require.NotEmpty(t, driver.Driver)
}
