package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/storage/s3bucket/s3test"
)

// The transcript of the SDK page works on every kind of store, as it is written but
// for -b, which a program of the same name before ours gives.
func TestTranscriptOnEveryKindOfStore(t *testing.T) {
	server := s3test.Start(t)
	const folder = "a störe ☃ of 'mine'"
	for name, place := range map[string]func(work string) string{
		"a folder with spaces and other letters": func(work string) string { return filepath.Join(work, folder) },
		"a relative folder":                      func(string) string { return folder },
		"a file URL": func(work string) string {
			return (&url.URL{Scheme: "file", Path: filepath.Join(work, folder)}).String()
		},
		"a bucket": func(string) string { return server.URL(t) },
		"a prefix of a bucket": func(string) string {
			return "s3://" + server.Bucket(t) + "/a/prefix?" + url.Values{"endpoint": {server.Endpoint}}.Encode()
		},
	} {
		t.Run(name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Files:               []string{"testdata/sdk-page.txtar"},
				RequireExplicitExec: true,
				Setup: func(env *testscript.Env) error {
					if err := providePython(env); err != nil {
						return err
					}
					env.Vars = append(env.Vars, server.Env()...)
					return giveStore(env, place(env.WorkDir))
				},
			})
		})
	}
}

// giveStore has each call of the program in a script go to a store.
func giveStore(env *testscript.Env, place string) error {
	program, err := exec.LookPath("pugmark-ref")
	if err != nil {
		return err
	}
	bin := filepath.Join(env.WorkDir, ".given")
	if err := os.Mkdir(bin, 0o777); err != nil {
		return err
	}
	env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
	env.Setenv("STORE", place)
	text := fmt.Sprintf("#!/bin/sh\nexec '%s' -b \"$STORE\" \"$@\"\n", program)
	return os.WriteFile(filepath.Join(bin, "pugmark-ref"), []byte(text), 0o777)
}

func TestABucketThatCantBeUsedSaysWhatToDo(t *testing.T) {
	server := s3test.Start(t)
	server.Setenv(t)
	t.Chdir(t.TempDir())
	status, _, stderr := call(t, "-b", s3test.URL("absent", server.Endpoint), "start")
	require.Equal(t, exitOther, status)
	requireSafeLine(t, stderr)
	require.Contains(t, stderr, "NoSuchBucket; make the bucket absent first, or correct the store's URL")

	place := server.URL(t)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	status, _, stderr = call(t, "-b", place, "start")
	require.Equal(t, exitOther, status)
	requireSafeLine(t, stderr)
	require.Contains(t, stderr, "; check the credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

	t.Setenv("AWS_ACCESS_KEY_ID", "nobody")
	status, _, stderr = call(t, "-b", place, "start")
	require.Equal(t, exitOther, status)
	requireSafeLine(t, stderr)
	require.Contains(t, stderr, "; check the credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
}
