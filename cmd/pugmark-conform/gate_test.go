package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/report/schema"
	"pugmark.dev/conform/subject"
)

// repository is the root of the repository, seen from the folder of these tests.
const repository = "../.."

// TestGate runs the shell steps of the gates as a CI server does: $GATE is the folder
// of the scripts. It has the commands of TestScripts.
func TestGate(t *testing.T) {
	root, err := filepath.Abs(repository)
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/gate",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("GATE", filepath.Join(root, "gate"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "valid-report": valid(schema.Validate),
		},
	})
}

// What can't be run here is held to its form: the keys that a CI server knows, and
// that what one part names is there in the other.

func TestActionHasWhatGitHubAsksFor(t *testing.T) {
	var action struct {
		Name, Description string
		Inputs            map[string]struct {
			Description string
			Required    bool
			Default     *string
		}
		Outputs map[string]struct{ Description, Value string }
		Runs    struct {
			Using string
			Steps []struct {
				ID    string `yaml:"id"`
				If    string
				Uses  string
				With  map[string]string
				Shell string
				Run   string
				Env   map[string]string
			}
		}
	}
	decodeStrict(t, "action.yml", &action)
	require.Equal(t, "composite", action.Runs.Using)
	used := map[string]bool{}
	steps := map[string]string{} // by ID: the script
	for _, s := range action.Runs.Steps {
		if s.Uses != "" {
			// A job's own Go stays the first in its PATH.
			require.Equal(t, "steps.go.outputs.found != 'true'", s.If)
			require.Contains(t, steps, "go", "the step that says whether there is one comes first")
			continue
		}
		require.NotEmpty(t, s.Shell, "a composite step names its shell")
		require.NotContains(t, s.Run, "${{", "an input in a command line could be a command")
		script := regexp.MustCompile(`^sh "\$GITHUB_ACTION_PATH/(gate/[a-z]+\.sh)"$`).FindStringSubmatch(s.Run)
		require.NotNil(t, script, s.Run)
		text, err := os.ReadFile(filepath.Join(repository, script[1]))
		require.NoError(t, err)
		steps[s.ID] = string(text)
		for name, value := range s.Env {
			require.Contains(t, string(text), name, "the script does not read what it is given")
			if input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`).FindStringSubmatch(value); input != nil {
				used[input[1]] = true
			}
		}
	}
	for name, input := range action.Inputs {
		require.True(t, used[name], "the input %s is used by no step", name)
		require.True(t, input.Required != (input.Default != nil), "the input %s is required or has a default", name)
	}
	for name, output := range action.Outputs {
		from := regexp.MustCompile(`^\$\{\{ steps\.([a-z]+)\.outputs\.([a-z]+)( \|\| '(?:error|2)')? \}\}$`).FindStringSubmatch(output.Value)
		require.NotNil(t, from, output.Value)
		require.Equal(t, name, from[2])
		require.Equal(t, name == "verdict" || name == "status", from[3] != "", "what is so when no step came to say it")
		require.Regexp(t, `(?m)^ *(then )?put(_file)? `+name+` |then put `+name+` `, steps[from[1]], "no step writes the output %s", name)
	}
}

// gitlabTemplate is the two documents of gate/gitlab.yml.
func gitlabTemplate(t *testing.T) (inputs map[string]any, job map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, "gate", "gitlab.yml"))
	require.NoError(t, err)
	d := yaml.NewDecoder(bytes.NewReader(data))
	var head struct {
		Spec struct{ Inputs map[string]any }
	}
	var jobs map[string]map[string]any
	require.NoError(t, d.Decode(&head))
	require.NoError(t, d.Decode(&jobs))
	require.ErrorIs(t, d.Decode(&jobs), io.EOF)
	require.Len(t, jobs, 1)
	return head.Spec.Inputs, jobs["pugmark-conform"]
}

func TestGitLabTemplateUsesTheInputsThatItHas(t *testing.T) {
	inputs, job := gitlabTemplate(t)
	var has, used []string
	for name := range inputs {
		has = append(has, name)
	}
	text, err := yaml.Marshal(job)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`\$\[\[ inputs\.([a-z-]+) \]\]`).FindAllSubmatch(text, -1) {
		used = append(used, string(m[1]))
	}
	slices.Sort(has)
	slices.Sort(used)
	if diff := cmp.Diff(has, used); diff != "" {
		t.Errorf("inputs (-declared +used):\n%s", diff)
	}
	// What is one's own argument must not become the value of a variable of that name.
	require.Equal(t, map[string]any{"value": "$[[ inputs.arguments ]]", "expand": false}, job["variables"].(map[string]any)["ARGUMENTS"])
	for key := range job {
		require.Contains(t, []string{"stage", "image", "variables", "script", "artifacts"}, key)
	}
}

// TestGitLabSteps plays the steps of the template with a Go tool that only seems to
// fetch: what it hands out is the scripts of this tree, and this program.
func TestGitLabSteps(t *testing.T) {
	_, job := gitlabTemplate(t)
	var lines []string
	for _, step := range job["script"].([]any) {
		lines = append(lines, step.(string))
	}
	root, err := filepath.Abs(repository)
	require.NoError(t, err)
	dir := t.TempDir()
	steps := filepath.Join(dir, "steps.txtar")
	require.NoError(t, os.WriteFile(steps, []byte(`env PATH=$WORK/bin:$PATH
env CI_PROJECT_DIR='$WORK/a project'
env VERSION=v1.2.3 SUBJECT=subject.yaml REPORTS=reports
env INTO=$WORK/into
chmod 755 bin/go
exits 0 sh -e steps.sh
stdout '^verdict=conformant$'
grep 'go mod download -json pugmark.dev/conform@v1.2.3' $WORK/go.log
grep 'go install pugmark.dev/conform/cmd/pugmark-conform@v1.2.3' $WORK/go.log
exists reports/junit.xml
# A version that there is not: status 2, and the Go tool's own words.
env VERSION=v0.0.0-none
exits 2 sh -e steps.sh
stderr '^pugmark-conform gate: version v0.0.0-none is not to be had: pugmark.dev/conform@v0.0.0-none: invalid version: unknown revision$'
! stdout .
-- steps.sh --
`+strings.Join(lines, "\n")+`
-- subject.yaml --
name: mine
kind: handler
transports: {subprocess: {command: [pugmark-conform, conform-handler]}}
features: [instructions, fork, session, write-remote, memory, typed-events, load, encode, tracing, sdk-page]
-- bin/go --
#!/bin/sh
echo "go $*" >>"$WORK/go.log"
case $* in
*-none)
	printf '{\n\t"Path": "pugmark.dev/conform",\n\t"Version": "v0.0.0-none",\n\t"Error": "pugmark.dev/conform@v0.0.0-none: invalid version: unknown revision"\n}\n'
	exit 1 ;;
esac
case $1 in
mod) printf '{\n\t"Path": "pugmark.dev/conform",\n\t"Dir": "%s",\n\t"Sum": ""\n}\n' "$ROOT" ;;
install) printf '#!/bin/sh\nexec pugmark-conform "$@" "handler/framing/tab*"\n' >"$GOBIN/pugmark-conform" && chmod 755 "$GOBIN/pugmark-conform" ;;
esac
`), 0o666))
	testscript.Run(t, testscript.Params{
		Files: []string{steps},
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("ROOT", root)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

func TestReleasesAreStatic(t *testing.T) {
	type build struct {
		ID           string `yaml:"id"`
		Main, Binary string
		Env, Flags   []string
		ModTimestamp string `yaml:"mod_timestamp"`
		Goos, Goarch []string
	}
	var release struct {
		Version     int
		ProjectName string `yaml:"project_name"`
		Builds      []build
		Archives    []struct {
			Formats      []string
			NameTemplate string `yaml:"name_template"`
			Files        []string
		}
		Checksum struct {
			NameTemplate string `yaml:"name_template"`
		}
		Release struct{ Prerelease string }
	}
	decodeStrict(t, ".goreleaser.yaml", &release)
	require.Equal(t, 2, release.Version)
	require.NotEmpty(t, release.Builds)
	for _, b := range release.Builds {
		require.Contains(t, b.Env, "CGO_ENABLED=0")
		require.NotContains(t, b.Goos, "windows", "subjects are started in process groups")
		require.FileExists(t, filepath.Join(repository, b.Main, "main.go"))
	}
	for _, f := range release.Archives[0].Files {
		require.FileExists(t, filepath.Join(repository, f))
	}
	text, err := os.ReadFile(filepath.Join(repository, "Containerfile"))
	require.NoError(t, err)
	require.Contains(t, string(text), "CGO_ENABLED=0")
	require.Regexp(t, `(?m)^USER [1-9][0-9]*:[1-9][0-9]*$`, string(text), "the program is not root's")
	require.Contains(t, string(text), "COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/", "a handler may be reached by https")
	require.Regexp(t, `mkdir -m 1777 /out/tmp /out/work /out/cache`, string(text), "whoever runs it may write")
	ignored, err := os.ReadFile(filepath.Join(repository, ".gitignore"))
	require.NoError(t, err)
	require.Contains(t, strings.Split(string(ignored), "\n"), "/dist/", "or the Go tool would stamp a release as changed")
}

// decodeStrict reads a YAML file of one document, and refuses keys that v has not.
func decodeStrict(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, name))
	require.NoError(t, err)
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	require.NoError(t, d.Decode(v), name)
	if err := d.Decode(v); !errors.Is(err, io.EOF) {
		t.Fatalf("%s has a second document: %v", name, err)
	}
}

// The three lines that set a gate up name inputs that there are.
func TestDocumentedGatesNameInputs(t *testing.T) {
	var action struct{ Inputs map[string]any }
	data, err := os.ReadFile(filepath.Join(repository, "action.yml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &action))
	for _, name := range []string{"README.md", "CONFORMANCE.md"} {
		text, err := os.ReadFile(filepath.Join(repository, name))
		require.NoError(t, err)
		step := regexp.MustCompile(`(?m)^    - uses: ` + actionName + `@VERSION\n      with:\n((?:        .*\n)+)`).FindStringSubmatch(string(text))
		require.NotNil(t, step, name)
		var with map[string]string
		require.NoError(t, yaml.Unmarshal([]byte(step[1]), &with))
		for input := range with {
			require.Contains(t, action.Inputs, input, name)
		}
	}
	// And what init writes.
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(initFlags{into: "conform"}.workflow(), &workflow))
	found := false
	for _, s := range workflow.Jobs["conform"].Steps {
		if strings.HasPrefix(s.Uses, actionName+"@") {
			found = true
			for input := range s.With {
				require.Contains(t, action.Inputs, input)
			}
		}
	}
	require.True(t, found)
	inputs, _ := gitlabTemplate(t)
	var included struct {
		Include []struct{ Inputs map[string]string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(initFlags{into: "conform"}.include()), &included))
	require.Len(t, included.Include, 1)
	for input := range included.Include[0].Inputs {
		require.Contains(t, inputs, input)
	}
}

// The cases that doctor plays for a claim make use of it, and each claim has one that
// can be seen at all.
func TestDoctorHasACaseForEachClaim(t *testing.T) {
	_, cases := builtIn(t)
	seen := []string{"instructions", "once", "until-idle", "log", "inspect", "rpc", "http"} // otherwise, or not at all
	for _, kind := range []string{subject.KindHandler, subject.KindRuntime} {
		of := doctorFeatures(kind)
		for _, feature := range subject.Features(kind) {
			if of[feature] == "" {
				require.Contains(t, seen, feature)
				continue
			}
			i := slices.IndexFunc(cases, func(c *casefile.Case) bool { return c.ID == of[feature] })
			require.GreaterOrEqual(t, i, 0, of[feature])
			require.Contains(t, cases[i].Needs, feature, of[feature])
		}
	}
}
