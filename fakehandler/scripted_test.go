package fakehandler

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

const plainInput = `{"event":"memory","url":"http://127.0.0.1:1/memories/"}
{"name":"a","data":"aGVsbG8="}
{"event":"start"}
`

func TestOutputsAreByteExact(t *testing.T) {
	pretty := script.Framing{Style: script.Pretty, Before: " ", Between: ptr("\t"), After: ptr("")}
	for name, c := range map[string]struct {
		ops  []Op
		want string
	}{
		"text": {[]Op{{Emit: &Emit{Name: "a", Body: text("hello")}}},
			`{"data":"aGVsbG8=","content-type":"text/plain","name":"a"}` + "\n"},
		"json": {[]Op{{Emit: &Emit{Body: &script.Body{JSON: script.JSON(`{"n":12345678901234567890}`)}}}},
			`{"data":"eyJuIjoxMjM0NTY3ODkwMTIzNDU2Nzg5MH0=","content-type":"application/json"}` + "\n"},
		"bytes": {[]Op{{Emit: &Emit{Body: &script.Body{Base64: ptr("/+8=")}}}},
			`{"data":"/+8=","content-type":"application/octet-stream"}` + "\n"},
		"no content type": {[]Op{{Emit: &Emit{Body: text("x"), ContentType: ptr("")}}}, `{"data":"eA=="}` + "\n"},
		"empty body":      {[]Op{{Emit: &Emit{Name: "e", Body: text("")}}}, `{"content-type":"text/plain","name":"e"}` + "\n"},
		"raw data":        {[]Op{{Emit: &Emit{Data: ptr("a\nb")}}}, `{"data":"a\u000ab"}` + "\n"},
		"empty raw data":  {[]Op{{Emit: &Emit{Name: "e", Data: ptr("")}}}, `{"data":"","name":"e"}` + "\n"},
		"all fields": {[]Op{{Emit: &Emit{URI: "file:///x", ContentType: ptr("t/t"), ContentEncoding: ptr("gzip"), SchemaURL: "s:",
			Name: "n", Metadata: map[string]string{"b": "2", "a": "1"}, Fork: true, Session: "0123"}}},
			`{"uri":"file:///x","content-type":"t/t","content-encoding":"gzip","schema-url":"s:","name":"n",` +
				`"metadata":{"a":"1","b":"2"},"fork":true,"session":"0123"}` + "\n"},
		"extra and null": {[]Op{{Emit: &Emit{Name: "n", Extra: map[string]script.JSON{"x": script.JSON(`[1]`)}, Null: []string{"metadata"}}}},
			`{"name":"n","x":[1],"metadata":null}` + "\n"},
		"no default beside an extra field": {[]Op{{Emit: &Emit{Body: text("x"), Extra: map[string]script.JSON{"content-type": script.JSON("7")}}}},
			`{"data":"eA==","content-type":7}` + "\n"},
		"zeros": {[]Op{{Framing: &script.Framing{Zeros: true}}, {Emit: &Emit{Name: "n", Null: []string{"fork"}}}},
			`{"uri":"","data":"","content-type":"","content-encoding":"","schema-url":"","name":"n","metadata":{},"session":"","fork":null}` + "\n"},
		"unpadded": {[]Op{{Framing: &script.Framing{Unpadded: true}}, {Emit: &Emit{Body: text("x"), ContentType: ptr("")}}},
			`{"data":"eA"}` + "\n"},
		"times": {[]Op{{Emit: &Emit{Name: "n{n}", Times: 3}}}, "{\"name\":\"n1\"}\n{\"name\":\"n2\"}\n{\"name\":\"n3\"}\n"},
		"pause": {[]Op{{Pause: &Pause{Reason: "done"}}},
			`{"data":"ZG9uZQ==","content-type":"application/vnd.pugmark.pause+text"}` + "\n"},
		"sleep": {[]Op{{Pause: &Pause{Reason: "r", Duration: "1h 30m"}}},
			`{"data":"cg==","content-type":"application/vnd.pugmark.pause+text","metadata":{"duration":"1h 30m"}}` + "\n"},
		"raw": {[]Op{{Raw: text("starting v1\n")}, {Raw: &script.Body{Base64: ptr("77u/")}}, {Emit: &Emit{Name: "n"}}},
			"starting v1\n\ufeff{\"name\":\"n\"}\n"},
		"framing": {[]Op{{Framing: &pretty}, {Emit: &Emit{Name: "a"}}, {Emit: &Emit{Name: "b"}}},
			" {\n  \"name\": \"a\"\n}\t{\n  \"name\": \"b\"\n}"},
		"what follows an exit is not the last": {[]Op{{Framing: &script.Framing{Between: ptr(""), After: ptr("!")}},
			{Emit: &Emit{Name: "a"}}, {Emit: &Emit{Name: "b"}}, {Exit: ptr(0)}, {Emit: &Emit{Name: "c"}}},
			`{"name":"a"}{"name":"b"}!`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := lay(t, turn1(c.ops...))
			end := f.run(t, plainInput)
			requireDiff(t, "process", finished{Stdout: c.want}, end)
			record := f.last(t)
			sent, left := record.Outputs()
			requireDiff(t, "recorded stdout", c.want, string(sent))
			read, _ := record.Inputs()
			requireDiff(t, "recorded stdin", plainInput, string(read))
			require.Zero(t, left)
			require.Empty(t, Fault(record))
			requireDiff(t, "end", &transcript.Ended{How: "exit"}, record.Ended())
		})
	}
}

func TestEncodedBodyNamesItsEncoding(t *testing.T) {
	f := lay(t, turn1(Op{Emit: &Emit{Body: &script.Body{Text: ptr("hello"), Encoding: "gzip"}}}))
	end := f.run(t, plainInput)
	require.True(t, strings.HasPrefix(end.Stdout, `{"data":"H4sI`), "gzip's first bytes: %s", end.Stdout)
	require.Contains(t, end.Stdout, `,"content-type":"text/plain","content-encoding":"gzip"}`)
}

func TestDeliveryIsInWritesOfTheChunk(t *testing.T) {
	f := lay(t, turn1(Op{Framing: &script.Framing{Chunk: 5, Pause: script.Duration(3 * time.Millisecond)}},
		Op{Emit: &Emit{Name: "abc"}}, Op{Raw: text("xy")}))
	require.Equal(t, "{\"name\":\"abc\"}\nxy", f.run(t, plainInput).Stdout)
	var writes []string
	var times []int64
	for _, e := range f.last(t).Events {
		if e.Kind == transcript.Sent {
			writes = append(writes, string(e.Data))
			times = append(times, e.At)
		}
	}
	requireDiff(t, "writes", []string{`{"nam`, `e":"a`, "bc\"}\n", "xy"}, writes)
	for i := 1; i < len(times); i++ {
		require.GreaterOrEqual(t, times[i]-times[i-1], int64(3000), "microseconds between two writes")
	}
}

// TestLifecycleReadDoesNotWaitForTheEnd holds the input open: the handler must
// answer and end all the same.
func TestLifecycleReadDoesNotWaitForTheEnd(t *testing.T) {
	for _, event := range []string{"start", "fork", "wake"} {
		f := lay(t, turn1(Op{Read: ReadLifecycle}, Op{Emit: &Emit{Name: "n"}}))
		c := f.play(t)
		_, err := io.WriteString(c.stdin, `{"event":"memory","url":"u/"} {} {"name":"a"}{"event":"`+event+`"}`)
		require.NoError(t, err)
		require.Equal(t, finished{Stdout: "{\"name\":\"n\"}\n"}, c.finish(t))
		require.NotContains(t, kinds(f.last(t)), "closed stdin")
	}
}

func TestLifecycleReadTakesTheEmptyEventAtTheEndOnly(t *testing.T) {
	f := lay(t, turn1(Op{Read: ReadLifecycle}, Op{Emit: &Emit{Name: "n"}}))
	require.Equal(t, "{\"name\":\"n\"}\n", f.run(t, `{"event":"memory"}{}{"name":"a"}{}`).Stdout)
	read, _ := f.last(t).Inputs()
	requireDiff(t, "all was read", `{"event":"memory"}{}{"name":"a"}{}`, string(read))
}

func TestReadOfSomeRecordsStopsThere(t *testing.T) {
	f := lay(t, turn1(Op{Read: "2"}, Op{Emit: &Emit{Name: "n"}}))
	c := f.play(t)
	_, err := io.WriteString(c.stdin, "{\"event\":\"memory\"}\n{\"name\":\"a\"}\n")
	require.NoError(t, err)
	require.Equal(t, 0, c.finish(t).Status)
}

func TestReadNoneReadsNothing(t *testing.T) {
	f := lay(t, turn1(Op{Read: ReadNone}, Op{Emit: &Emit{Name: "n"}}))
	require.Equal(t, "{\"name\":\"n\"}\n", f.play(t).finish(t).Stdout)
	read, _ := f.last(t).Inputs()
	require.Empty(t, read)
}

// TestBrokenInputIsRecordedWhole: what the runtime writes is the evidence, however
// wrong it is.
func TestBrokenInputIsRecordedWhole(t *testing.T) {
	input := "{\"event\":\"memory\"}\n{\"size\":\"1\"}\nlog line\n" + strings.Repeat("z", 100_000) + "\xff"
	f := lay(t, turn1(Op{Emit: &Emit{Name: "n"}}))
	require.Equal(t, finished{Stdout: "{\"name\":\"n\"}\n"}, f.run(t, input))
	read, _ := f.last(t).Inputs()
	require.Equal(t, input, string(read))
}

func TestEverythingOfTheProcessIsRecorded(t *testing.T) {
	f := lay(t, Script{})
	c := start(t, []string{"PUGMARK_SESSION_ID=abc", "X=a=b", "EMPTY="}, nil, verbScripted, f.script, f.records)
	c.stdin.Close()
	require.Equal(t, finished{}, c.finish(t))
	record := f.last(t)
	requireDiff(t, "events", []string{"spawn", "environment", "note", "closed stdin", "exited"}, kinds(record))
	requireDiff(t, "arguments", strings.Join([]string{c.Args[0], verbScripted, f.script, f.records}, " "), record.Events[0].Text)
	delete(record.Events[1].Variables, "GORACE")
	requireDiff(t, "environment", map[string]string{"PUGMARK_SESSION_ID": "abc", "X": "a=b", "EMPTY": ""}, record.Events[1].Variables)
	requireDiff(t, "folder", "working folder: /", record.Events[2].Text)
	requireDiff(t, "transport", "subprocess", record.Transport)
	requireDiff(t, "by", "fakehandler", record.By)
	require.WithinDuration(t, time.Now(), record.Started, long)
}

func TestTurnsArePickedByNumber(t *testing.T) {
	f := lay(t, Script{Turns: [][]Op{{{Emit: &Emit{Name: "one"}}}, {{Emit: &Emit{Name: "two"}}}}})
	require.Equal(t, "{\"name\":\"one\"}\n", f.run(t, "{}").Stdout)
	require.Equal(t, "{\"name\":\"two\"}\n", f.run(t, "{}").Stdout)
	require.Equal(t, finished{}, f.run(t, "{}"), "past the last turn")
	f.lay(t, Script{Turns: [][]Op{{{Emit: &Emit{Name: "four"}}}}, First: 3})
	require.Equal(t, "{\"name\":\"four\"}\n", f.run(t, "{}").Stdout)
	require.Len(t, f.read(t), 4)
}

func TestStderrIsNotTheStream(t *testing.T) {
	f := lay(t, turn1(Op{Stderr: &script.Body{Repeat: &script.Repeat{Text: "x", Times: 70_000}}}, Op{Emit: &Emit{Name: "n"}}))
	end := f.run(t, "{}")
	require.Equal(t, "{\"name\":\"n\"}\n", end.Stdout)
	require.Equal(t, strings.Repeat("x", 70_000), end.Stderr)
	record := f.last(t)
	written, _ := record.Stream(transcript.Stderr)
	require.Len(t, written, 70_000)
}

func TestExitStatus(t *testing.T) {
	f := lay(t, turn1(Op{Emit: &Emit{Name: "n"}}, Op{Exit: ptr(3)}, Op{Emit: &Emit{Name: "never"}}))
	require.Equal(t, finished{Stdout: "{\"name\":\"n\"}\n", Status: 3}, f.run(t, "{}"))
	record := f.last(t)
	requireDiff(t, "end", &transcript.Ended{How: "exit", Code: 3}, record.Ended())
}

func TestSignalsEndTheProcess(t *testing.T) {
	for name, number := range map[string]syscall.Signal{"KILL": 9, "SEGV": 11, "TERM": 15} {
		f := lay(t, turn1(Op{Emit: &Emit{Name: "n"}}, Op{Signal: name}))
		require.Equal(t, finished{Stdout: "{\"name\":\"n\"}\n", Status: -1, Signal: number}, f.run(t, "{}"), name)
		record := f.last(t)
		requireDiff(t, "end", &transcript.Ended{How: "signal", Signal: int(number), Name: "SIG" + name}, record.Ended())
	}
}

func TestHangIgnoresTermination(t *testing.T) {
	f := lay(t, turn1(Op{Read: ReadNone}, Op{Hang: true}))
	c := f.play(t)
	require.Eventually(t, func() bool {
		all := f.read(t)
		return len(all) == 1 && len(all[0].Events) > 0 && all[0].Events[len(all[0].Events)-1].Text == "hanging"
	}, long, time.Millisecond)
	// The note comes before the signal is ignored, so it may take a few.
	ignored := false
	for range 50 {
		status, err := os.ReadFile(filepath.Join("/proc", itoa(c.Process.Pid), "status"))
		require.NoError(t, err)
		_, mask, _ := strings.Cut(string(status), "SigIgn:\t")
		mask, _, _ = strings.Cut(mask, "\n")
		if ignored = len(mask) == 16 && strings.ContainsAny(mask[12:13], "4567cdef"); ignored { // bit 14 is SIGTERM
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.True(t, ignored, "SIGTERM is not ignored")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.NoError(t, c.stdout.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err := c.stdout.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "it must live on")
}

func TestWaits(t *testing.T) {
	f := lay(t, turn1(Op{Wait: script.Duration(30 * time.Millisecond)}, Op{Emit: &Emit{Name: "a"}},
		Op{WaitFor: "go"}, Op{Emit: &Emit{Name: "b"}}))
	c := f.play(t)
	begun := time.Now()
	c.stdin.Close()
	first := make([]byte, 13)
	_, err := io.ReadFull(c.stdout, first)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), 30*time.Millisecond)
	require.NoError(t, c.stdout.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	_, err = c.stdout.Read(first)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "it must wait for the file")
	require.NoError(t, os.WriteFile(filepath.Join(f.records, "go"), nil, 0o666))
	require.Equal(t, finished{Stdout: "{\"name\":\"b\"}\n"}, c.finish(t))
	require.Len(t, f.read(t), 1, "the file is no record")
}

func TestClosedStdinIsABrokenPipeForTheRuntime(t *testing.T) {
	f := lay(t, turn1(Op{Read: ReadNone}, Op{Close: "stdin"}, Op{WaitFor: "go"}, Op{Read: ReadAll}, Op{Emit: &Emit{Name: "n"}}))
	c := f.play(t)
	require.Eventually(t, func() bool {
		_, err := io.WriteString(c.stdin, "{}\n")
		return err != nil
	}, long, time.Millisecond)
	require.NoError(t, os.WriteFile(filepath.Join(f.records, "go"), nil, 0o666))
	require.Equal(t, finished{Stdout: "{\"name\":\"n\"}\n"}, c.finish(t))
}

func TestClosedStdoutIsTheEndOfTheStream(t *testing.T) {
	f := lay(t, turn1(Op{Emit: &Emit{Name: "n"}}, Op{Close: "stdout"}, Op{WaitFor: "go"}, Op{Exit: ptr(4)}))
	c := f.play(t)
	c.stdin.Close()
	out, err := io.ReadAll(c.stdout)
	require.NoError(t, err)
	require.Equal(t, "{\"name\":\"n\"}\n", string(out))
	require.NoError(t, os.WriteFile(filepath.Join(f.records, "go"), nil, 0o666))
	status, _ := c.ended(t)
	require.Equal(t, 4, status)
}

func TestUnreadOutputIsRecorded(t *testing.T) {
	f := lay(t, turn1(Op{WaitFor: "go"}, Op{Emit: &Emit{Name: "n"}}, Op{Emit: &Emit{Name: "m"}}))
	c := f.play(t)
	c.stdin.Close()
	c.stdout.Close()
	require.NoError(t, os.WriteFile(filepath.Join(f.records, "go"), nil, 0o666))
	status, signal := c.ended(t)
	require.Equal(t, 1, status)
	require.Zero(t, signal)
	record := f.last(t)
	sent, _ := record.Outputs()
	require.Empty(t, sent)
	require.Contains(t, kinds(record), "closed stdout")
}

func TestGrandchildOutlivesTheHandler(t *testing.T) {
	for name, detached := range map[string]bool{"in the group": false, "in a session of its own": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := lay(t, turn1(Op{Read: ReadNone}, Op{Emit: &Emit{Name: "n"}},
				Op{Grandchild: &Grandchild{Holds: []string{"stdout"}, For: script.Duration(2 * time.Second), Detached: detached}}))
			c := f.play(t)
			status, _ := c.ended(t)
			require.Equal(t, 0, status)
			diagnostics, err := io.ReadAll(c.stderr)
			require.NoError(t, err, "stderr is not held")
			require.Empty(t, diagnostics)
			out := make([]byte, 13)
			_, err = io.ReadFull(c.stdout, out)
			require.NoError(t, err)
			require.Equal(t, "{\"name\":\"n\"}\n", string(out))
			require.NoError(t, c.stdout.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
			_, err = c.stdout.Read(out)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, "stdout is held")
			require.NoError(t, c.stdout.SetReadDeadline(time.Now().Add(long)))
			_, err = c.stdout.Read(out)
			require.ErrorIs(t, err, io.EOF, "and let go of when its life is over")
		})
	}
}

func TestFaultsOfTheScriptAreNotTheRuntimes(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		says   string
	}{
		"no JSON":        {`{`, "script"},
		"two operations": {`{"turns":[[{"read":"all","hang":true}]]}`, "read and hang"},
		"no operation":   {`{"turns":[[{}]]}`, "without a field"},
		"a strange read": {`{"turns":[[{"read":"some"}]]}`, `"some"`},
		"no body":        {`{"turns":[[{"emit":{"body":{}}}]]}`, "a body needs text"},
		"a signal":       {`{"turns":[[{"signal":"HUP"}]]}`, `"HUP"`},
		"an answer":      {`{"turns":[[{"answer":{"status":500}}]]}`, "subprocess"},
		"a path":         {`{"turns":[[{"wait-for":"../x"}]]}`, "file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := folder{script: filepath.Join(t.TempDir(), "script.json"), records: t.TempDir()}
			require.NoError(t, os.WriteFile(f.script, []byte(c.script), 0o666))
			end := f.run(t, plainInput)
			require.Equal(t, StatusFault, end.Status)
			require.Contains(t, end.Stderr, c.says)
			require.Equal(t, 1, strings.Count(end.Stderr, "\n"), "one sentence: %s", end.Stderr)
			record := f.last(t)
			require.Contains(t, Fault(record), c.says)
			require.Equal(t, StatusFault, record.Ended().Code)
		})
	}
	f := folder{script: "/nowhere", records: filepath.Join(t.TempDir(), "missing")}
	require.Equal(t, StatusFault, f.run(t, "").Status, "a record folder that is not there")
}

func TestConcurrentInvocationsTakeDifferentNumbers(t *testing.T) {
	f := lay(t, Script{})
	const count = 40
	var group sync.WaitGroup
	for range count {
		group.Go(func() {
			rec, err := newRecord(f.records, "subprocess")
			if err == nil {
				rec.note("here")
				err = rec.close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		group.Go(func() { f.run(t, "{}") })
	}
	group.Wait()
	all := f.read(t)
	require.Len(t, all, count+4)
	taken, err := numbers(f.records)
	require.NoError(t, err)
	for i, n := range taken {
		require.Equal(t, i+1, n, "numbers have no gaps")
	}
}

func TestAKilledInvocationLeavesAReadableRecord(t *testing.T) {
	f := lay(t, turn1(Op{Read: "1"}, Op{Emit: &Emit{Name: "n"}}, Op{WaitFor: "never"}))
	c := f.play(t)
	_, err := io.WriteString(c.stdin, "{\"event\":\"memory\"}\n")
	require.NoError(t, err)
	out := make([]byte, 13)
	_, err = io.ReadFull(c.stdout, out)
	require.NoError(t, err)
	require.Eventually(t, func() bool { // what is written is recorded right after
		record := f.last(t)
		sent, _ := record.Outputs()
		return string(sent) == "{\"name\":\"n\"}\n"
	}, long, time.Millisecond)
	require.NoError(t, c.Process.Kill())
	_, signal := c.ended(t)
	require.Equal(t, syscall.SIGKILL, signal)
	record := f.last(t)
	read, _ := record.Inputs()
	require.Equal(t, "{\"event\":\"memory\"}\n", string(read))
	require.Nil(t, record.Ended())
}
