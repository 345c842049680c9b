package fakeruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// report is what the handler "report" says it was given.
func report(t *testing.T, got transcript.Transcript) (stdin string, env []string) {
	t.Helper()
	var said struct {
		Stdin string
		Env   []string
	}
	require.NoError(t, json.Unmarshal([]byte(output(t, got, transcript.Stdout)), &said))
	return said.Stdin, said.Env
}

func TestAHandlerGetsTheStreamByteForByte(t *testing.T) { // P2.1/stdio
	inv := invocation(own(t, "report"))
	inv.Script.Between = ptr("\r\t")
	inv.Script.Records = append(inv.Script.Records, Record{Raw: ptr("\xff{")})
	got := play(t, inv)
	stdin, _ := report(t, got)
	sent, left := got.Inputs()
	require.Zero(t, left)
	require.Equal(t, strings.ToValidUTF8(string(sent), "\ufffd"), stdin)
	port := regexp.MustCompile(`127\.0\.0\.1:\d+/`)
	want := `{"event":"memory","url":"http://HOST/memories/"}` + "\r\t" + `{"event":"start"}` + "\r\t\xff{\n"
	require.Equal(t, want, port.ReplaceAllString(string(sent), "HOST/"))
	require.Equal(t, transcript.HowExit, got.Ended().How)
	require.True(t, got.Ended().Success())
	require.Equal(t, "subprocess", got.Transport)
	require.Equal(t, "fakeruntime", got.By)
	require.Less(t, at(got, transcript.Closed, transcript.Stdin), at(got, transcript.Exited, ""))
	require.Equal(t, "by us", events(got, transcript.Closed, transcript.Stdin)[0].Text)
}

func TestTheEnvironmentIsThatOfTheInvocationAlone(t *testing.T) { // P13/identity-variables, F43
	inv := invocation(own(t, "report"))
	inv.Target.Env = []string{"A=1", "PUGMARK_SESSION_METADATA=stale", "PUGMARK_FUTURE=1", "TRACESTATE=stale", "traceparent=stale", "B=2"}
	_, env := report(t, play(t, inv))
	if diff := cmp.Diff([]string{"A=1", "B=2", "PUGMARK_AGENT_ID=conform-agent", "PUGMARK_SESSION_ID=" + theSession}, env); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	inv.Identity.Agent = ""
	inv.Identity.Metadata = map[string]string{"k": `é "<`, "a": "\n"}
	inv.Trace = Trace{Parent: "00-" + theSession + "-0123456789abcdef-01", State: "x=y"}
	inv.Target.Variables = map[string]string{"PUGMARK_FUTURE": "2", "A": "3"}
	got := play(t, inv)
	_, env = report(t, got)
	if diff := cmp.Diff([]string{
		"B=2", "A=3", "PUGMARK_AGENT_ID=", "PUGMARK_FUTURE=2", "PUGMARK_SESSION_ID=" + theSession,
		`PUGMARK_SESSION_METADATA={"a":"\n","k":"é \"<"}`, "TRACEPARENT=" + inv.Trace.Parent, "TRACESTATE=x=y",
	}, env); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	recorded := events(got, transcript.Environment, "")
	require.Len(t, recorded, 1)
	require.NotContains(t, recorded[0].Variables, "B", "what the harness happens to have is nobody's business")
	require.Equal(t, "2", recorded[0].Variables["PUGMARK_FUTURE"])
}

func TestByteByByteDeliveryIsSeenInTheTimes(t *testing.T) { // F2
	const pause = 5 * time.Millisecond
	inv := invocation(own(t, "report"))
	inv.Script = Script{
		Framing: script.Framing{Chunk: 1, Pause: script.Duration(pause)},
		Records: []Record{{Name: "😀"}},
	}
	got := play(t, inv)
	sent := events(got, transcript.Sent, transcript.Stdin)
	require.Len(t, sent, 16) // {"name":"😀"} is 15 bytes, and LF
	for i, e := range sent {
		require.Len(t, e.Data, 1)
		if i > 0 {
			require.GreaterOrEqual(t, e.At-sent[i-1].At, (pause - time.Millisecond).Microseconds(), "write %d", i)
		}
	}
	stdin, _ := report(t, got)
	require.Equal(t, "{\"name\":\"😀\"}\n", stdin)
}

func TestHeldInputStaysOpenUntilTheHandlerEnds(t *testing.T) { // P4.2/lifecycle-begins
	inv := invocation(sh(`read a; read b; echo done`))
	inv.Script.Hold = script.Duration(time.Hour)
	got := play(t, inv)
	require.Equal(t, "done\n", output(t, got, transcript.Stdout))
	require.Greater(t, at(got, transcript.Closed, transcript.Stdin), at(got, transcript.Exited, ""))
	require.Equal(t, "by us: the handler had ended", events(got, transcript.Closed, transcript.Stdin)[0].Text)
}

func TestHeldInputIsClosedWhenTheHoldIsOver(t *testing.T) {
	inv := invocation(sh(`cat >/dev/null; echo done`))
	inv.Script.Hold = script.Duration(50 * time.Millisecond)
	got := play(t, inv)
	require.Equal(t, "done\n", output(t, got, transcript.Stdout))
	closed, exited := at(got, transcript.Closed, transcript.Stdin), at(got, transcript.Exited, "")
	require.Less(t, closed, exited)
	require.GreaterOrEqual(t, got.Events[closed].At, (50 * time.Millisecond).Microseconds())
	require.Equal(t, "by us", got.Events[closed].Text)
}

func TestAnExitStatusIsRecorded(t *testing.T) {
	got := play(t, invocation(sh(`cat >/dev/null; echo out; echo err >&2; exit 3`)))
	want := &transcript.Ended{How: transcript.HowExit, Code: 3}
	if diff := cmp.Diff(want, got.Ended()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.Equal(t, "out\n", output(t, got, transcript.Stdout))
	require.Equal(t, "err\n", output(t, got, transcript.Stderr))
	require.Equal(t, "by the peer", events(got, transcript.Closed, transcript.Stdout)[0].Text)
	require.Contains(t, events(got, transcript.Spawn, "")[0].Text, `sh -c 'cat >/dev/null`)
}

func TestADeathBySignalIsNamed(t *testing.T) { // F14
	for command, want := range map[string]transcript.Ended{
		`echo '{}'; kill -9 $$`:  {How: transcript.HowSignal, Code: -1, Signal: 9, Name: "SIGKILL"},
		`echo '{}'; kill -11 $$`: {How: transcript.HowSignal, Code: -1, Signal: 11, Name: "SIGSEGV"},
	} {
		got := play(t, invocation(sh(command)))
		if diff := cmp.Diff(&want, got.Ended()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
		require.Equal(t, "{}\n", output(t, got, transcript.Stdout))
	}
}

func TestAProgramThatCannotStartIsAFactAboutTheSubject(t *testing.T) {
	for want, target := range map[string]Target{
		"program not found":         {Command: []string{"no-such-program-of-ours"}},
		"program is not executable": {Command: []string{"/etc/passwd"}},
		"working folder is missing": {Command: sh("true"), Dir: "/no/such/folder"},
	} {
		inv := invocation(nil)
		target.Env = baseEnv()
		inv.Target = target
		got := play(t, inv)
		require.Equal(t, transcript.HowNotStarted, got.Ended().How)
		require.Contains(t, got.Ended().Detail, want)
	}
}

func TestTroubleOfTheHarnessIsAnError(t *testing.T) {
	for name, inv := range map[string]Invocation{
		"no command": {},
		"too large":  {Target: Target{Command: sh("true"), Variables: map[string]string{"X": strings.Repeat("x", 1<<20)}}},
		"script":     {Target: Target{Command: sh("true")}, Script: Script{Records: []Record{{By: "mail"}}}},
	} {
		_, _, err := inv.Play(context.Background())
		require.Error(t, err, name)
		require.ErrorContains(t, err, "over subprocess", name)
	}
	set := &process.Set{}
	set.EndAll(0)
	inv := invocation(sh("true"))
	inv.Target.Programs = set
	_, _, err := inv.Play(context.Background())
	require.ErrorIs(t, err, process.ErrEnded)
}

func TestNeverExits(t *testing.T) { // F15
	inv := invocation(sh(`trap '' TERM; cat >/dev/null; echo '{}'; while :; do sleep 7654321; done`))
	inv.Limit = 300 * time.Millisecond
	start := time.Now()
	got := play(t, inv)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Equal(t, transcript.HowHang, got.Ended().How)
	require.Contains(t, got.Ended().Detail, "300ms")
	require.Equal(t, 1, got.Ended().Group, "the sleep, besides the handler itself")
	require.Equal(t, "{}\n", output(t, got, transcript.Stdout), "what came before is kept")
	require.Less(t, at(got, transcript.Killed, ""), at(got, transcript.Exited, ""))
	require.Zero(t, running(t, "7654321"))
}

func TestFloods(t *testing.T) {
	for name, redirect := range map[string]string{transcript.Stdout: "", transcript.Stderr: " >&2"} {
		inv := invocation(sh("yes 0123456789" + redirect))
		inv.OutputLimit = 3 << 20
		start := time.Now()
		got := play(t, inv)
		require.Less(t, time.Since(start), 10*time.Second)
		require.Equal(t, transcript.HowFlood, got.Ended().How)
		require.Contains(t, got.Ended().Detail, name)
		data, left := got.Stream(name)
		require.Greater(t, int64(len(data))+left, inv.OutputLimit)
	}
}

func TestTheTranscriptOfAFloodIsBounded(t *testing.T) { // F45
	got := play(t, invocation(sh(`yes 0123456789`)))
	require.Equal(t, transcript.HowFlood, got.Ended().How)
	data, left := got.Stream(transcript.Stdout)
	require.Equal(t, transcript.DefaultLimit, len(data))
	require.Greater(t, int64(len(data))+left, int64(DefaultOutputLimit))
}

func TestAFloodThatEndsByItselfIsOne(t *testing.T) {
	inv := invocation(sh(`head -c 5000 /dev/zero; exit 0`))
	inv.OutputLimit = 4999
	got := play(t, inv)
	require.Equal(t, transcript.HowFlood, got.Ended().How)
	inv.OutputLimit = 5000
	got = play(t, inv)
	require.Equal(t, transcript.HowExit, got.Ended().How)
}

func TestAWriterOfSingleBytesFillsNoMemory(t *testing.T) {
	got := play(t, invocation(own(t, "drops")))
	data, _ := got.Stream(transcript.Stdout)
	require.Len(t, data, 20000)
	require.Less(t, len(got.Events), manyReads+2000)
}

func TestAGrandchildThatHoldsStdoutIsNotWaitedFor(t *testing.T) { // F10, R22
	inv := invocation(sh(`cat >/dev/null; echo '{}'; sleep 7654322 & exit 0`))
	inv.Grace = 200 * time.Millisecond
	start := time.Now()
	got := play(t, inv)
	require.Less(t, time.Since(start), 5*time.Second)
	want := &transcript.Ended{How: transcript.HowExit, Group: 1}
	if diff := cmp.Diff(want, got.Ended()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.True(t, got.Ended().Success())
	require.Equal(t, "{}\n", output(t, got, transcript.Stdout))
	require.Zero(t, running(t, "7654322"))
}

func TestAGrandchildThatFinishesInTimeIsHeard(t *testing.T) { // R22
	inv := invocation(sh(`(sleep 0.1; echo late) & exit 0`))
	inv.Grace = long
	start := time.Now()
	got := play(t, inv)
	require.Less(t, time.Since(start), long/2, "the grace is the most, not the least")
	require.Equal(t, "late\n", output(t, got, transcript.Stdout))
	require.Zero(t, got.Ended().Group)
}

func TestADaemonIsEndedToo(t *testing.T) {
	inv := invocation(python(`
import os, sys
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "7654323"])
print("{}")`))
	inv.Grace = 100 * time.Millisecond
	got := play(t, inv)
	require.True(t, got.Ended().Success())
	require.Equal(t, 1, got.Ended().Group)
	require.Zero(t, running(t, "7654323"))
}

func TestAHandlerMayCloseItsInputEarly(t *testing.T) { // P16/early-exit
	inv := invocation(sh(`exec <&-; echo '{}'; sleep 0.1; exit 0`))
	inv.Script.Records = append(inv.Script.Records, Record{Name: strings.Repeat("x", 1<<20)})
	got := play(t, inv)
	require.True(t, got.Ended().Success())
	require.Equal(t, "by the peer: broken pipe", events(got, transcript.Closed, transcript.Stdin)[0].Text)
	require.Less(t, at(got, transcript.Closed, transcript.Stdin), at(got, transcript.Exited, ""))
}

func TestAHandlerMayIgnoreItsInput(t *testing.T) { // F11
	inv := invocation(sh(`echo '{}'; exit 0`))
	inv.Script.Records = []Record{{Raw: ptr(strings.Repeat(" ", 1<<20))}}
	for i := range 50 {
		got := play(t, inv)
		require.Equal(t, &transcript.Ended{How: transcript.HowExit}, got.Ended(), "run %d", i)
		require.Equal(t, "{}\n", output(t, got, transcript.Stdout))
	}
}

func TestAHandlerMayWriteWithoutReading(t *testing.T) {
	inv := invocation(python(`
import sys
for i in range(20):
    sys.stdout.write('{"name":"' + "x" * 100000 + '"}\n')
sys.stdout.flush()
n = len(sys.stdin.buffer.read())
sys.stderr.write(str(n))`))
	inv.Script.Records = []Record{{Name: strings.Repeat("x", 1<<20)}}
	got := play(t, inv)
	require.True(t, got.Ended().Success())
	require.Len(t, output(t, got, transcript.Stdout), 20*(100000+len(`{"name":""}`)+1))
	sent, _ := got.Inputs()
	require.Len(t, sent, 1<<20+len(`{"name":""}`)+1)
	require.Equal(t, "1048588", output(t, got, transcript.Stderr))
}

func TestLongStderrDisturbsNothing(t *testing.T) { // F1, F12, P2.1/stderr-free
	for _, n := range []int{70000, 1 << 20} {
		inv := invocation(python(`
import sys
sys.stderr.write("x" * ` + strconv.Itoa(n) + `)
sys.stderr.flush()
sys.stdin.buffer.read()
print('{}')`))
		inv.Script.Records = append(inv.Script.Records, Record{Name: strings.Repeat("x", 200000)})
		got := play(t, inv)
		require.True(t, got.Ended().Success())
		require.Len(t, output(t, got, transcript.Stderr), n)
		require.Equal(t, "{}\n", output(t, got, transcript.Stdout))
	}
}

func TestAHandlerReachesBothServers(t *testing.T) { // P7/reachable
	inv := invocation(python(`
import json, sys, urllib.request
for line in sys.stdin:
    r = json.loads(line)
    if r.get("event") == "memory":
        print(urllib.request.urlopen(r["url"] + "team/k").read().decode())
    elif "url" in r:
        print(urllib.request.urlopen(r["url"]).read().decode())`))
	inv.Script.Records = []Record{{Event: "memory"}, {Name: "a", Body: text("hello")}, {Event: "start"}}
	inv.Script.Memory = map[string]Object{"team/k": {Body: *text("remembered")}}
	before := runtime.NumGoroutine()
	got, names, err := inv.Play(context.Background())
	require.NoError(t, err)
	requireNothingLeft(t, before)
	require.Equal(t, "remembered\nhello\n", output(t, got, transcript.Stdout))
	path := strings.TrimPrefix(helloURL, "http://o")
	require.Equal(t, map[string]string{path: "a"}, names)
	asked := events(got, transcript.Request, transcript.Objects)
	require.Len(t, asked, 1)
	require.Equal(t, path, asked[0].HTTP.Target)
	require.Equal(t, "/memories/team/k", events(got, transcript.Request, transcript.Memory)[0].HTTP.Target)
	require.Len(t, events(got, transcript.Response, transcript.Memory), 1)
}

func TestCancellationEndsTheHandlerAtOnce(t *testing.T) { // F15
	why := errors.New("interrupted by the user")
	ctx, cancel := context.WithCancelCause(context.Background())
	before := runtime.NumGoroutine()
	time.AfterFunc(150*time.Millisecond, func() { cancel(why) })
	inv := invocation(sh(`sleep 7654324 & sleep 7654324`))
	inv.Script.Hold = script.Duration(time.Hour)
	start := time.Now()
	got, _, err := inv.Play(ctx)
	require.ErrorIs(t, err, why)
	require.Less(t, time.Since(start), 5*time.Second)
	requireNothingLeft(t, before)
	require.Equal(t, transcript.HowCancelled, got.Ended().How)
	require.Zero(t, got.Ended().Left)
	require.Contains(t, events(got, transcript.Killed, "")[0].Text, why.Error())
	require.Zero(t, running(t, "7654324"))

	_, _, err = inv.Play(ctx)
	require.ErrorIs(t, err, why, "nothing starts after it")
}

func TestCancellationDuringTheGrace(t *testing.T) {
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(300*time.Millisecond, func() { cancel(why) })
	inv := invocation(sh(`sleep 7654325 & exit 0`))
	inv.Grace = time.Hour
	got, _, err := inv.Play(ctx)
	require.ErrorIs(t, err, why)
	require.Equal(t, transcript.HowCancelled, got.Ended().How)
	require.Zero(t, running(t, "7654325"))
}

func TestATransportIsChosenByTheTarget(t *testing.T) {
	require.Equal(t, "http", Target{URL: "http://x/"}.transport())
	require.Equal(t, "rpc", (&Server{}).Target().transport())
	require.Equal(t, "subprocess", Target{Command: []string{"x"}}.transport())
}

func TestArgumentsAreShownAsAShellTakesThem(t *testing.T) {
	require.Equal(t, `a/b 'c d' '' 'it'\''s' --x=1 '$y'`, shellQuoted([]string{"a/b", "c d", "", "it's", "--x=1", "$y"}))
}

func BenchmarkInvocationOfTrue(b *testing.B) {
	inv := Invocation{
		Script: Script{Records: []Record{{Event: "memory"}, {Event: "start"}}},
		Target: Target{Command: []string{"/bin/true"}, Env: []string{"PATH=" + os.Getenv("PATH")}},
	}
	for b.Loop() {
		if _, _, err := inv.Play(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheEndOfAFloodIsRecorded(t *testing.T) {
	got := play(t, invocation(sh(`head -c 20000000 /dev/zero >&2; printf TAIL >&2; exit 1`)))
	require.Equal(t, transcript.HowExit, got.Ended().How)
	data, left := got.Stream(transcript.Stderr)
	require.Len(t, data, transcript.DefaultLimit)
	require.EqualValues(t, 20000004-transcript.DefaultLimit, left)
	require.Len(t, got.Tail(transcript.Stderr), transcript.DefaultTail)
	require.True(t, bytes.HasSuffix(got.Tail(transcript.Stderr), []byte("\x00TAIL")))
}
