package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The paths are those of the command, which a CI server takes from where the job ran.
func TestAnnotationsPointAtTheCaseOrTheSubjectFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"cases/handler/a/data.yaml", "cases/runtime/b/story.txtar", "sdk/subject.yaml", "subject.yaml", "outside.yaml"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, nil, 0o644))
	}
	run := func(words ...string) []string { return append([]string{"pugmark-conform", "run"}, words...) }
	for _, c := range []struct {
		command  []string
		id, want string
	}{
		{run("--cases", "cases", "--subject", "sdk/conform.yaml"), "handler/a/data", "cases/handler/a/data.yaml"},
		{run("--cases=./cases"), "runtime/b/story", "cases/runtime/b/story.txtar"},
		{run("--cases", "cases", "--subject", "sdk/conform.yaml"), "handler/a/other", "sdk/conform.yaml"},
		{run("--cases", "cases"), "../outside", ""},
		{run("--subject", "./my.yaml"), "handler/a/data", "my.yaml"},
		{run("--subject=sdk"), "handler/a/data", "sdk/subject.yaml"}, // a folder stands for the file in it
		{run("--subject", "python-sdk"), "handler/a/data", ""},
		{run("handler/a/data"), "handler/a/data", ""},
		{run("--subject"), "handler/a/data", ""},
		{nil, "handler/a/data", ""},
	} {
		require.Equal(t, c.want, placeOf(c.command)(c.id), "%q", c.command)
	}
}
