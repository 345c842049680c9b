package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// requireSafeLine requires one line that nothing in it can break or leave.
func requireSafeLine(t *testing.T, text string) {
	t.Helper()
	line, found := strings.CutSuffix(text, "\n")
	require.True(t, found, "%q has no line end", text)
	require.True(t, utf8.ValidString(line), "%q", line)
	for _, r := range line {
		require.True(t, unicode.IsPrint(r), "%q has %q", line, r)
	}
}

// evil has a line end, an escape sequence, the same in one character, what turns the
// direction of text round, and a byte that is no UTF-8.
const (
	evil   = "x\npugmark-ref: done\x1b[2J\u009b1m\u202e\xff"
	quoted = `x\npugmark-ref: done\x1b[2J\u009b1m\u202e\xff`
)

func TestWhateverIsGivenAnErrorIsOneSafeLine(t *testing.T) {
	started(t)
	for _, args := range [][]string{
		{evil},
		{"fork", "--help", evil},
		{"help", evil},
		{"memory", evil},
		{"log", evil},
		{"log", "--" + evil},
		{"log", "--session", evil},
		{"log", "--json=" + evil},
		{"inspect", evil},
		{"push", evil},
		{"push", "--name", evil},
		{"push", "--content-type", evil},
		{"push", "--content-encoding", evil},
		{"push", "--schema-url", evil},
		{"push", "--metadata", evil},
		{"start", "--agent", evil},
		{"start", "--handler", evil},
		{"start", "--metadata", "{" + evil},
		{"memory", "get", evil},
		{"memory", "get", "ns/" + evil},
		{"memory", "put", evil + "//k"},
		{"run", "--", evil},
		{"run", "--", "./" + evil},
		{"run", "--url", evil},
		{"run", "--handler", evil},
		{"run", "--handler", evil + "=http://"},
		{"run", "--allow-uri", evil},
		{"run", "--allow-uri", "s3://" + evil},
		{"-b", evil, "log"},
		{"-b", evil + "://x", "log"},
		{"-b", "s3://" + evil, "log"},
		{"-b", "s3://b/" + evil, "log"},
		{"-b", "s3://b?endpoint=" + evil, "log"},
	} {
		status, out, stderr := call(t, args...)
		require.NotZero(t, status, "%q printed %q", args, out)
		requireSafeLine(t, stderr)
	}
	_, _, stderr := call(t, "-b", evil, "log")
	require.Contains(t, stderr, "no store at "+quoted+";")
}

// What a handler writes may come back in an error.
func TestWhateverAHandlerWritesAnErrorIsOneSafeLine(t *testing.T) {
	started(t)
	for _, output := range []string{
		evil,
		`{"uri":"file:///\u001b[2J\n\u009b\u202e"}`,
		`{"uri":"\u001b[2J\n://\u009b"}`,
		`{"session":"\u001b[2J\n"}`,
		`{"name":"memories/\u001b/../\n/x"}`,
		`{"name":"memories/` + strings.Repeat(`\n`, 100) + `/x"}`,
		`{"content-type":"application/vnd.pugmark.control+json","name":"\n"}`,
		`{"data":"\u001b"}`,
		`{"name":1,"` + "\x1b" + `":2}`,
	} {
		require.NoError(t, os.WriteFile("output", []byte(output), 0o666))
		status, _, stderr := call(t, "run", "--once", "--", "sh", "-c", "cat >/dev/null; cat output")
		require.Equal(t, exitFailed, status, "%s: %s", output, stderr)
		requireSafeLine(t, stderr)
	}
}

// What a store holds may come back too.
func TestWhateverAStoreHoldsAnErrorIsOneSafeLine(t *testing.T) {
	session := started(t)
	manifest := filepath.Join(defaultStore, "sessions", session, "manifest.json")
	for _, content := range []string{evil, `{"session":"\u001b[2J\n"}`, `{"session":"` + evil} {
		require.NoError(t, os.Remove(manifest))
		require.NoError(t, os.WriteFile(manifest, []byte(content), 0o666))
		status, _, stderr := call(t, "log")
		require.Equal(t, exitOther, status)
		requireSafeLine(t, stderr)
		require.Contains(t, stderr, "manifest.json is damaged")
		require.Contains(t, stderr, "; put the file back from a copy of the store, or start another session\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(defaultStore, currentName), []byte(evil), 0o666))
	_, _, stderr := call(t, "log")
	requireSafeLine(t, stderr)
	require.Contains(t, stderr, "with `pugmark-ref start --session ID`")
}

func TestJoinedErrorsStandOnOneLine(t *testing.T) {
	joined := errors.Join(errors.New("b\x1b"), fmt.Errorf("c: %w", errors.Join(errors.New("d"), errors.New("e"))))
	require.Equal(t, "a: b\x1b; c: d; e", explain(fmt.Errorf("a: %w", joined)))
	refused := &reference.InvocationError{Reason: reference.ReasonConnection, Err: errors.Join(errors.New("x"), errors.New("y"))}
	require.Contains(t, explain(refused), ": x; y; ", "a host of two addresses")
	require.Equal(t, "one\nof bytes", explain(errors.New("one\nof bytes")), "no list of errors, and escaped when it is printed")
}

func TestTheHintStandsLastAndOnce(t *testing.T) {
	inner := hint(errors.New("a"), "do x")
	require.Equal(t, "where: a; do x", explain(fmt.Errorf("where: %w", inner)))
	require.Equal(t, "where: a; do y", explain(hint(fmt.Errorf("where: %w", inner), "do %s", "y")))
	missing := &storage.NoSessionError{Session: "s"}
	require.Contains(t, explain(missing), "`pugmark-ref start --session s`")
	failure := &reference.InvocationError{Reason: reference.ReasonOutput, Err: missing}
	require.Contains(t, explain(failure), "have the handler write to a session that exists")
}

// A store that can't be written, as its bucket says it.
func TestTroubleOfTheStoreSaysWhatToDo(t *testing.T) {
	for cause, want := range map[syscall.Errno]string{
		syscall.EACCES: "; let this user read and write the store's folder, or give -b another",
		syscall.EPERM:  "; let this user read and write the store's folder, or give -b another",
		syscall.EROFS:  "; let this user read and write the store's folder, or give -b another",
		syscall.ENOSPC: "; make room where the store is",
		syscall.EDQUOT: "; make room where the store is",
		syscall.EMFILE: "; allow more open files with ulimit -n",
	} {
		require.Contains(t, explain(fmt.Errorf("storing a/b: %w", cause)), want, cause.Error())
	}
}

func TestTheCurrentSessionThatCantBeKeptNamesItsFile(t *testing.T) {
	started(t)
	current := filepath.Join(defaultStore, currentName)
	require.NoError(t, os.Remove(current))
	require.NoError(t, os.Mkdir(current, 0o777))
	status, _, stderr := call(t, "start")
	require.Equal(t, exitOther, status)
	require.Regexp(t, `^pugmark-ref: remembering the current session in \S+/\.pugmark/\.current: [^/]*; let this user write that file, or remove what stands there; the session itself is made\n$`, stderr)
}
