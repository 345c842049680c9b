//go:build unix

package subject

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
)

func TestADriverIsKilledAndStartedAnew(t *testing.T) {
	shared := odd(t, 1)
	works(t, shared)
	usual := shared.(*driver).usable[0]
	rt := shared.(Apart).Apart()
	works(t, rt)
	store := t.TempDir()
	done := make(chan error, 1)
	go func() {
		_, err := rt.Run(t.Context(), RunRequest{Store: store, TraceParent: "never"})
		done <- err
	}()
	awaitFile(t, store+"/never")
	require.NoError(t, rt.Kill())
	require.ErrorIs(t, <-done, ErrKilled)
	require.Equal(t, 1, usual.process.Members(), "the one that others share lives on")
	_, err := rt.Log(t.Context(), "", "")
	require.ErrorIs(t, err, ErrKilled, "it has one life")
	require.NoError(t, rt.Close())
	rt = shared.(Apart).Apart()
	works(t, rt)
	require.NoError(t, rt.Kill(), "between two operations")
	require.NoError(t, rt.Close())
	works(t, shared)
	require.Same(t, usual, shared.(*driver).usable[0])
}

func TestADriverOfARunWithAnEnvironmentIsKilledToo(t *testing.T) {
	rt := unclosed(t, 1).(Apart).Apart()
	store := t.TempDir()
	done := make(chan error, 1)
	go func() {
		_, err := rt.Run(t.Context(), RunRequest{Store: store, TraceParent: "never", Environment: map[string]string{"A": "b"}})
		done <- err
	}()
	awaitFile(t, store+"/never")
	require.NoError(t, rt.Kill())
	require.ErrorIs(t, <-done, ErrKilled)
	requireNoChildren(t)
	require.NoError(t, rt.Close())
}

// The command ignores SIGTERM, and has started something that does too.
func TestACommandIsKilledWithAllThatItHasStarted(t *testing.T) {
	dir := t.TempDir()
	script := `trap '' TERM; if [ -e ` + dir + `/up ]; then exit 0; fi; (trap '' TERM; sleep 60) & : > ` + dir + `/up; wait`
	usual, err := Commands(&File{Name: "made", Kind: KindRuntime, Commands: map[string]Args{
		"run": append(shell(script), "{session}", "{handler}"), "log": {"true", "{session}"},
	}}, dir, dir)
	require.NoError(t, err)
	rt := usual.(Apart).Apart()
	again := usual.(Apart).Apart()
	request := RunRequest{Session: session, Default: HandlerSpec{Command: []string{"x"}}}
	done := make(chan error, 1)
	go func() {
		_, err := rt.Run(t.Context(), request)
		done <- err
	}()
	awaitFile(t, dir+"/up")
	began := time.Now()
	require.NoError(t, rt.Kill())
	requireNoChildren(t)
	require.EqualError(t, <-done, "run: the runtime was killed")
	require.Less(t, time.Since(began), long)
	_, err = again.Run(t.Context(), request)
	require.NoError(t, err)
	require.NoError(t, again.Close())
	require.NoError(t, rt.Close())
	_, err = usual.Log(t.Context(), "", session)
	require.NoError(t, err, "the other one was not killed")
	require.NoError(t, usual.Close())
}

// What an operation came to before the kill stays.
func TestAFailureBeforeTheKillIsNoKill(t *testing.T) {
	usual, err := Commands(&File{Name: "made", Kind: KindRuntime, Commands: map[string]Args{"log": {"false", "{session}"}}}, t.TempDir(), "")
	require.NoError(t, err)
	rt := usual.(Apart).Apart()
	_, err = rt.Log(t.Context(), "", session)
	require.NotErrorIs(t, err, ErrKilled)
	require.ErrorContains(t, err, "exit status 1")
	require.NoError(t, rt.Kill())
	require.NoError(t, rt.Close())
}

func TestWhatCantBeStartedIsTheRuntimesCrash(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/file", nil, 0o644))
	for name, program := range map[string]string{"missing": "no-such-tool", "no program": dir + "/file"} {
		t.Run(name, func(t *testing.T) {
			for _, f := range []*File{
				{Name: "a", Kind: KindRuntime, Commands: map[string]Args{"log": {program, "{session}"}}},
				{Name: "a", Kind: KindRuntime, Driver: Args{program}},
			} {
				rt, err := Commands(f, dir, "")
				if f.Driver != nil {
					rt, err = Driver(f, dir, "", 1)
				}
				require.NoError(t, err)
				_, err = rt.Log(t.Context(), "", session)
				var failed *Error
				require.ErrorAs(t, err, &failed)
				require.Equal(t, Crash, failed.Kind)
				require.Contains(t, failed.Message, "does not start: ")
				var start *process.StartError
				require.ErrorAs(t, err, &start)
				require.NoError(t, rt.Close())
			}
		})
	}
}

// That the harness ends says nothing of the runtime.
func TestAnEndOfEverythingIsNoFailureOfTheRuntime(t *testing.T) {
	rt := made(t, map[string]Args{"log": {"true", "{session}"}})
	require.NoError(t, rt.Close())
	_, err := rt.Log(t.Context(), "", session)
	var failed *Error
	require.NotErrorAs(t, err, &failed)
	require.ErrorIs(t, err, process.ErrEnded)
}
