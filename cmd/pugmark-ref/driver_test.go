package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const driverWait = 20 * time.Second

// driving is a driver in this process.
type driving struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	errs   strings.Builder
	status chan int
	store  string
	id     int
}

func drive(t *testing.T) *driving {
	t.Helper()
	in, ours := io.Pipe()
	theirs, out := io.Pipe()
	d := &driving{t: t, in: ours, out: bufio.NewReader(theirs), status: make(chan int, 1), store: filepath.Join(t.TempDir(), "store")}
	go func() {
		d.status <- run(context.Background(), []string{"driver"}, streams{in: in, out: out, err: &d.errs})
		out.Close()
	}()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return d
}

type fields = map[string]any

// ask sends a request and returns its ID.
func (d *driving) ask(op string, with fields) int {
	d.t.Helper()
	d.id++
	request := fields{"id": d.id, "op": op, "store": d.store}
	for name, value := range with {
		request[name] = value
	}
	line, err := json.Marshal(request)
	require.NoError(d.t, err)
	_, err = fmt.Fprintf(d.in, "%s\n", line)
	require.NoError(d.t, err)
	return d.id
}

// next is the next answer.
func (d *driving) next() fields {
	d.t.Helper()
	line, err := d.out.ReadBytes('\n')
	require.NoError(d.t, err)
	var answer fields
	require.NoError(d.t, json.Unmarshal(line, &answer))
	return answer
}

func (d *driving) want(want fields) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.next()); diff != "" {
		d.t.Errorf("(-want +got):\n%s", diff)
	}
}

func (d *driving) ends(want int) {
	d.t.Helper()
	select {
	case got := <-d.status:
		require.Equal(d.t, want, got, d.errs.String())
	case <-time.After(driverWait):
		d.t.Fatal("the driver does not end")
	}
}

const driven = "0123456789abcdef0123456789abcdef"

// begun is a driver with a session.
func begun(t *testing.T) *driving {
	d := drive(t)
	d.ask("start", fields{"session": driven})
	d.want(fields{"id": 1., "ok": fields{"session": driven}})
	return d
}

// held is a handler that says that it runs and ends when it is let go.
func (d *driving) held() (command []string, running, release string) {
	dir := d.t.TempDir()
	running, release = filepath.Join(dir, "running"), filepath.Join(dir, "go")
	script := `cat >/dev/null; touch "$0"; while ! test -e "$1"; do sleep 0.01; done; echo '{"name":"late","data":"YQ=="}'`
	return []string{"sh", "-c", script, running, release}, running, release
}

func awaits(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, driverWait, 2*time.Millisecond)
}

func TestDriverAnswersWhileASessionRuns(t *testing.T) {
	d := begun(t)
	command, running, release := d.held()
	d.ask("run", fields{"session": driven, "once": true, "command": command})
	awaits(t, running)
	d.ask("start", fields{"session": driven})
	d.want(fields{"id": 3., "ok": fields{"session": driven}})
	d.ask("inspect", fields{"session": driven})
	d.want(fields{"id": 4., "ok": fields{"session": driven, "version": 0., "snapshots": []any{}}})
	require.NoError(t, os.WriteFile(release, nil, 0o666))
	d.want(fields{"id": 2., "ok": fields{"version": 1., "state": "ran"}})
	d.ask("log", fields{"session": driven})
	// The digest is that of "a", as sha256sum gives it.
	d.want(fields{"id": 5., "ok": fields{"entries": []any{fields{
		"session": driven, "version": 1., "type": "normal", "sequence": 1., "name": "late", "size": 1., "body": "YQ==",
		"digest": "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
	}}}})
	d.ask("quit", nil)
	d.want(fields{"id": 6., "ok": fields{}})
	d.ends(exitOK)
}

func TestDriverEndsItsHandlers(t *testing.T) {
	for name, end := range map[string]func(*driving){
		"quit":         func(d *driving) { d.ask("quit", nil) },
		"end of input": func(d *driving) { d.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			d := begun(t)
			command, running, _ := d.held()
			d.ask("run", fields{"session": driven, "command": command})
			awaits(t, running)
			go io.Copy(io.Discard, d.out)
			end(d)
			d.ends(exitOK)
		})
	}
}

func TestDriverTellsFailuresApart(t *testing.T) {
	d := begun(t)
	kindOf := func(op string, with fields) any {
		t.Helper()
		id := d.ask(op, with)
		answer := d.next()
		require.EqualValues(t, id, answer["id"])
		failure, ok := answer["error"].(fields)
		require.True(t, ok, "%v", answer)
		require.NotEmpty(t, failure["message"])
		return failure["kind"]
	}
	missing := strings.Repeat("ab", 16)
	require.Equal(t, "request", kindOf("push", fields{"session": missing, "body": ""}))
	require.Equal(t, "request", kindOf("log", fields{"session": missing}))
	require.Equal(t, "request", kindOf("inspect", fields{"session": missing}))
	require.Equal(t, "request", kindOf("run", fields{"session": driven}), "there is no handler")
	require.Equal(t, "request", kindOf("start", fields{"store": "relative"}))
	require.Equal(t, "failed-invocation", kindOf("run", fields{"session": driven, "command": []string{"sh", "-c", "exit 3"}}))
	d.ask("fly", nil)
	d.want(fields{"id": float64(d.id), "unsupported": true})
	d.in.Close()
	d.ends(exitOK)
}

func TestDriverRefusesWhatIsNoRequest(t *testing.T) {
	d := drive(t)
	_, err := io.WriteString(d.in, "hello\n")
	require.NoError(t, err)
	d.ends(exitOther)
	require.Contains(t, d.errs.String(), `a request that is none`)
}
