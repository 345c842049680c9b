package subjects_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/subject"
	"pugmark.dev/conform/subjects"
)

// withReference puts the reference's program on PATH, as an installation does.
func withReference(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "pugmark.dev/conform/cmd/pugmark-ref")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// shipped opens a shipped runtime as a run does.
func shipped(t *testing.T, name string) subject.Runtime {
	t.Helper()
	file, dir, err := subject.Find(name, subjects.Files(), t.TempDir())
	require.NoError(t, err)
	opened, err := subject.Open(t.Context(), file, dir, t.TempDir(), nil)
	require.NoError(t, err)
	require.Regexp(t, `^pugmark-ref .*, protocol 1$`, opened.Version)
	require.ElementsMatch(t, (*stage.Reference)(nil).Features(), opened.Features, "the same claims as in this process")
	runtime, err := opened.Runtime()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close()) })
	return runtime
}

// The reference is a subject in three ways, and all three show the same.
func TestTheReferenceIsTheSameInThreeWays(t *testing.T) {
	withReference(t)
	dumps := map[string]string{}
	for name, runtime := range map[string]subject.Runtime{
		"in process": &stage.Reference{}, "reference-cli": shipped(t, "reference-cli"), "reference-driver": shipped(t, "reference-driver"),
	} {
		t.Run(name, func(t *testing.T) { dumps[name] = story(t, runtime) })
	}
	require.Len(t, dumps, 3)
	require.Equal(t, dumps["in process"], dumps["reference-cli"])
	require.Equal(t, dumps["in process"], dumps["reference-driver"])
}

// story does each operation and returns the dump at its end.
func story(t *testing.T, runtime subject.Runtime) string {
	t.Helper()
	const session, missing = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	ctx, store := t.Context(), filepath.Join(t.TempDir(), "store")
	handler := func(script string) subject.HandlerSpec {
		return subject.HandlerSpec{Command: []string{"sh", "-c", "cat >/dev/null; " + script}}
	}
	kind := func(err error, want subject.ErrorKind) {
		t.Helper()
		var failed *subject.Error
		require.True(t, errors.As(err, &failed), "%v", err)
		require.Equal(t, want, failed.Kind, failed.Message)
	}

	id, err := runtime.Start(ctx, subject.StartRequest{
		Store: store, Session: session, Agent: "an agent", Handler: "named", Metadata: map[string]string{"k": "a \"v\""},
	})
	require.NoError(t, err)
	require.Equal(t, session, id)
	id, err = runtime.Start(ctx, subject.StartRequest{Store: store, Session: session, Agent: "another"})
	require.NoError(t, err)
	require.Equal(t, session, id, "one that exists is returned as it is")
	id, err = runtime.Start(ctx, subject.StartRequest{Store: store})
	require.NoError(t, err)
	require.NotEqual(t, session, id)

	require.NoError(t, runtime.Push(ctx, subject.PushRequest{
		Store: store, Session: session, Body: []byte{0, 255}, Name: "n", ContentType: "a/b", ContentEncoding: "gzip", SchemaURL: "s", Metadata: map[string]string{"m": "1"},
	}))
	require.NoError(t, runtime.Push(ctx, subject.PushRequest{Store: store, Session: session, Body: []byte("{}")}), "without a content type")
	kind(runtime.Push(ctx, subject.PushRequest{Store: store, Session: missing}), subject.BadRequest)
	_, err = runtime.Inspect(ctx, store, missing)
	kind(err, subject.BadRequest)

	file := filepath.Join(filepath.Dir(store), "beside")
	require.NoError(t, os.WriteFile(file, []byte("remote"), 0o666))
	_, err = runtime.Run(ctx, subject.RunRequest{
		Store: store, Session: session, Once: true, Default: handler("exit 9"),
		Named: map[string]subject.HandlerSpec{"named": handler(`echo '{"name":"once","data":"aGk="}{"uri":"file://` + file + `"}'`)},
	})
	require.NoError(t, err)
	_, err = runtime.Run(ctx, subject.RunRequest{Store: store, Session: session, Named: map[string]subject.HandlerSpec{"named": handler("exit 3")}})
	kind(err, subject.FailedInvocation)
	_, err = runtime.Run(ctx, subject.RunRequest{
		Store: store, Session: session,
		Named: map[string]subject.HandlerSpec{"named": handler(`echo '{"content-type":"application/vnd.pugmark.pause+text","data":"ZG9uZQ=="}'`)},
	})
	require.NoError(t, err)

	text, err := runtime.Log(ctx, store, session)
	require.NoError(t, err)
	type entry struct {
		Version         int64
		Type, Name      string
		Body            []byte
		ContentType     string            `json:"content-type"`
		ContentEncoding string            `json:"content-encoding"`
		SchemaURL       string            `json:"schema-url"`
		Metadata        map[string]string `json:"metadata"`
	}
	var log struct{ Entries []entry }
	require.NoError(t, json.Unmarshal(text, &log))
	require.Len(t, log.Entries, 5)
	require.Equal(t, "application/vnd.pugmark.control+json", log.Entries[4].ContentType)
	want := []entry{
		{Version: 1, Type: "queueing", Name: "n", Body: []byte{0, 255}, ContentType: "a/b", ContentEncoding: "gzip", SchemaURL: "s", Metadata: map[string]string{"m": "1"}},
		{Version: 2, Type: "queueing", Body: []byte("{}")},
		{Version: 3, Type: "normal", Name: "once", Body: []byte("hi")},
		{Version: 3, Type: "normal", Body: []byte("remote")},
	}
	if diff := cmp.Diff(want, log.Entries[:4]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	text, err = runtime.Inspect(ctx, store, session)
	require.NoError(t, err)
	var dump any
	require.NoError(t, json.Unmarshal(text, &dump))
	text, err = json.MarshalIndent(dump, "", " ")
	require.NoError(t, err)
	require.Contains(t, string(text), `"agent": "an agent"`)
	return string(text)
}
