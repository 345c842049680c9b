package fakeruntime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/transcript"
)

// startRPC starts a handler and sees to it that nothing is left of it.
func startRPC(t *testing.T, target Target) *Server {
	t.Helper()
	before := runtime.NumGoroutine()
	if target.Env == nil {
		target.Env = baseEnv()
	}
	s, err := StartRPC(context.Background(), target)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Zero(t, s.Stop(0).Left)
		requireNothingLeft(t, before)
	})
	return s
}

// overRPC is an invocation whose agent tells the test's handler what to do.
func overRPC(s *Server, agent string) Invocation {
	inv := invocation(nil)
	inv.Target = s.Target()
	inv.Identity.Agent = agent
	return inv
}

// told is what the test's handler says it was given.
type told struct {
	PID    int
	Body   int
	Query  string
	Header map[string][]string
	Env    []string
}

func playRPC(t *testing.T, inv Invocation) (transcript.Transcript, told) {
	t.Helper()
	got := playHTTP(t, inv)
	require.Equal(t, "rpc", got.Transport)
	var said told
	if got.Ended().Success() {
		json.Unmarshal([]byte(output(t, got, transcript.Answer)), &said)
	}
	return got, said
}

func TestOneProcessServesManyInvocations(t *testing.T) { // P13/rpc-url, R32
	s := startRPC(t, Target{Command: own(t, "rpc"), Env: append(baseEnv(), "PUGMARK_SESSION_ID=stale", "TRACEPARENT=stale")})
	pids := map[int]bool{}
	for _, agent := range []string{"one", "two", "three"} {
		inv := overRPC(s, agent)
		inv.Identity.Metadata = map[string]string{"agent": agent}
		got, said := playRPC(t, inv)
		require.Equal(t, &transcript.Ended{How: transcript.HowAnswer, Code: 200}, got.Ended())
		pids[said.PID] = true
		query, err := url.ParseQuery(said.Query)
		require.NoError(t, err)
		if diff := cmp.Diff(url.Values{"agent": {agent}, "session": {theSession}, "snapshot": {"1"}}, query); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		require.Equal(t, []string{`{"agent":"` + agent + `"}`}, said.Header["X-Pugmark-Session-Metadata"])
		sent, _ := got.Inputs()
		require.Equal(t, len(sent), said.Body)
		slices.Sort(said.Env)
		require.Equal(t, []string{baseEnv()[0], "PUGMARK_RPC_URL=fd://3"}, said.Env, "no identity: the process serves many")
		require.Equal(t, "about "+agent+"\n", output(t, got, transcript.Stderr), "its own diagnostics and no other's")
		require.Len(t, events(got, transcript.Spawn, ""), 1)
		require.Equal(t, "fd://3", events(got, transcript.Environment, "")[0].Variables["PUGMARK_RPC_URL"])
		require.True(t, s.Usable())
	}
	require.Len(t, pids, 1)
}

func TestAProcessIsGivenAnIdentityOnlyOnRequest(t *testing.T) { // R32
	s := startRPC(t, Target{Command: own(t, "rpc"), Variables: Variables(protocol.Identity{Agent: "env", Session: theSession}, Trace{})})
	_, said := playRPC(t, overRPC(s, "request"))
	require.Contains(t, said.Env, "PUGMARK_AGENT_ID=env")
}

func TestStderrIsCompleteWhenTheAnswerIs(t *testing.T) {
	s := startRPC(t, Target{Command: own(t, "rpc")})
	for i := range 100 {
		agent := fmt.Sprint("n", i)
		got, _ := playRPC(t, overRPC(s, agent))
		require.Equal(t, "about "+agent+"\n", output(t, got, transcript.Stderr))
	}
}

func TestAProcessThatDiesDuringAnInvocationIsSeen(t *testing.T) { // F14
	for agent, want := range map[string]transcript.Ended{
		"kill=9":  {How: transcript.HowSignal, Code: -1, Signal: 9, Name: "SIGKILL", Detail: "signal 9 (SIGKILL)"},
		"kill=11": {How: transcript.HowSignal, Code: -1, Signal: 11, Name: "SIGSEGV", Detail: "signal 11 (SIGSEGV)"},
		"exit=3":  {How: transcript.HowNoAnswer, Code: 3, Detail: "exit status 3"},
		"exit=0":  {How: transcript.HowNoAnswer, Code: 0, Detail: "exit status 0"},
	} {
		s := startRPC(t, Target{Command: own(t, "rpc")})
		got, _ := playRPC(t, overRPC(s, agent))
		require.Contains(t, got.Ended().Detail, "the program ended during this invocation: "+want.Detail)
		ended := *got.Ended()
		ended.Detail = want.Detail
		if diff := cmp.Diff(want, ended); diff != "" {
			t.Errorf("%s (-want +got):\n%s", agent, diff)
		}
		require.False(t, ended.Success())
		require.Len(t, events(got, transcript.Exited, ""), 1)
		require.False(t, s.Usable())
		_, _, err := overRPC(s, "next").Play(context.Background())
		require.ErrorIs(t, err, ErrServerEnded)
	}
}

func TestAProcessThatNeverServesSaysWhy(t *testing.T) {
	s := startRPC(t, Target{Command: own(t, "rpc-broken")})
	<-s.program.Done()
	require.False(t, s.Usable())
	got, _ := playRPC(t, overRPC(s, "x"))
	require.Equal(t, transcript.HowNotStarted, got.Ended().How)
	require.Equal(t, "the program ended before this invocation: exit status 1", got.Ended().Detail)
	var said string
	for _, e := range got.Events {
		if e.Stream == transcript.Stderr {
			said += string(e.Data)
		}
	}
	require.Equal(t, "no such module\n", said)
}

func TestAProcessThatDiesWhileTheConnectionWaits(t *testing.T) {
	s := startRPC(t, Target{Command: sh("sleep 0.2; echo too bad >&2; exit 4")})
	start := time.Now()
	got, _ := playRPC(t, overRPC(s, "x"))
	require.Less(t, time.Since(start), 5*time.Second, "the system takes connections for a while, and nobody answers")
	require.Equal(t, transcript.HowNoAnswer, got.Ended().How)
	require.Equal(t, 4, got.Ended().Code)
	require.Equal(t, "too bad\n", output(t, got, transcript.Stderr))
}

func TestAChildThatKeepsTheConnectionIsNotWaitedFor(t *testing.T) { // R22
	s := startRPC(t, Target{Command: own(t, "rpc")})
	inv := overRPC(s, "orphan")
	inv.Grace = 200 * time.Millisecond
	start := time.Now()
	got, _ := playRPC(t, inv)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Equal(t, transcript.HowNoAnswer, got.Ended().How)
	require.Equal(t, 3, got.Ended().Code)
	require.Equal(t, 1, got.Ended().Group)
	require.Zero(t, got.Ended().Left)
}

func TestADeathAfterTheAnswerTakesNothingBack(t *testing.T) {
	s := startRPC(t, Target{Command: own(t, "rpc")})
	got, _ := playRPC(t, overRPC(s, "answer-then-exit"))
	require.Equal(t, &transcript.Ended{How: transcript.HowAnswer, Code: 200}, got.Ended())
	<-s.program.Done()
	require.False(t, s.Usable())
}

func TestAHangOverRPCEndsTheProcess(t *testing.T) {
	s := startRPC(t, Target{Command: own(t, "rpc")})
	inv := overRPC(s, "hang")
	inv.Limit = 200 * time.Millisecond
	start := time.Now()
	got, _ := playRPC(t, inv)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Equal(t, transcript.HowHang, got.Ended().How)
	require.Zero(t, got.Ended().Group)
	require.Zero(t, got.Ended().Left)
	require.False(t, s.Usable())
	require.True(t, done(s.program.Done()))
}

func TestAFloodOfStderrOverRPC(t *testing.T) {
	s := startRPC(t, Target{Command: own(t, "rpc")})
	inv := overRPC(s, "flood")
	inv.OutputLimit = 2 << 20
	got, _ := playRPC(t, inv)
	require.Equal(t, transcript.HowFlood, got.Ended().How)
	require.Contains(t, got.Ended().Detail, "stderr")
}

func TestAHangEndsAServerOnlyWhenTheOthersAreDone(t *testing.T) {
	s := startRPC(t, Target{Command: own(t, "rpc")})
	slow := overRPC(s, "slow")
	slow.Script.Pause = 150e6 // per write: it goes on when the other has hung
	slow.Script.Records = make([]Record, 5)
	hang := overRPC(s, "hang")
	hang.Limit = 200 * time.Millisecond
	var wg sync.WaitGroup
	var hung, served transcript.Transcript
	var errs [2]error
	wg.Go(func() { served, _, errs[0] = slow.Play(context.Background()) })
	wg.Go(func() { hung, _, errs[1] = hang.Play(context.Background()) })
	wg.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	require.Equal(t, transcript.HowHang, hung.Ended().How)
	require.True(t, served.Ended().Success(), "%+v", served.Ended())
	require.False(t, s.Usable())
	require.True(t, done(s.program.Done()))
}

func TestInvocationsRunAtTheSameTime(t *testing.T) {
	s := startRPC(t, Target{Command: own(t, "rpc")})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			agent := fmt.Sprint("p", i)
			got, _, err := overRPC(s, agent).Play(context.Background())
			if err != nil || !got.Ended().Success() {
				t.Errorf("%s: %v %+v", agent, err, got.Ended())
				return
			}
			var said told
			answer, _ := got.Outputs()
			if err := json.Unmarshal(answer, &said); err != nil || !strings.HasPrefix(said.Query, "agent="+agent+"&") {
				t.Errorf("%s was answered %s", agent, answer)
			}
		})
	}
	wg.Wait()
}

func TestCancellationOverRPCEndsTheProcess(t *testing.T) {
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(context.Background())
	s := startRPC(t, Target{Command: own(t, "rpc")})
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	got, _, err := overRPC(s, "hang").Play(ctx)
	require.ErrorIs(t, err, why)
	require.Equal(t, transcript.HowCancelled, got.Ended().How)
	require.True(t, done(s.program.Done()))
	_, err = StartRPC(ctx, Target{Command: own(t, "rpc")})
	require.ErrorIs(t, err, why)
}

func TestAServerThatCannotStart(t *testing.T) {
	before := runtime.NumGoroutine()
	_, err := StartRPC(context.Background(), Target{Command: []string{"no-such-program-of-ours"}})
	require.ErrorIs(t, err, process.ErrNotFound)
	requireNothingLeft(t, before)
}

func TestStopIsGentleAndCanBeRepeated(t *testing.T) {
	s := startRPC(t, Target{Command: python(`
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *a: sys.exit(0))
print("ready", flush=True)
time.sleep(600)`)})
	got := make(chan bool)
	go func() { // its first output shows that the signal is handled
		for s.said(transcript.Stdout) == "" {
			time.Sleep(time.Millisecond)
		}
		close(got)
	}()
	<-got
	report := s.Stop(long)
	require.Equal(t, process.Report{Group: 1}, report, "not forced")
	require.Equal(t, report, s.Stop(0))
	require.Equal(t, process.Exit{}, s.program.Wait())
	_, _, err := overRPC(s, "x").Play(context.Background())
	require.ErrorIs(t, err, ErrServerEnded)
}

// said is what the program wrote outside of any invocation.
func (s *Server) said(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unheard[name].String()
}
