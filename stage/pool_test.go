package stage

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/process"
	"pugmark.dev/conform/subject"
)

func TestAServiceThatDoesNotStartIsWaitedForOnce(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	h := &HandlerSubject{Name: "silent", HTTP: &subject.ResolvedCommand{
		Args: []string{"/bin/sh", "-c", `echo x >>"$0"; exec sleep 60`, starts, "{port}"},
		Env:  []string{"PATH=/usr/bin:/bin"}, URL: "http://127.0.0.1:{port}/",
	}}
	pool := &Pool{Ready: 300 * time.Millisecond}
	defer pool.Close()
	errs := make([]error, 4)
	var leases sync.WaitGroup
	for i := range errs {
		leases.Go(func() { _, errs[i] = pool.lease(t.Context(), h, "http", nil) })
	}
	leases.Wait()
	_, err := pool.lease(t.Context(), h, "http", map[string]string{"PUGMARK_FUTURE": "1"})
	for _, err := range append(errs, err) {
		var refused *startError
		require.True(t, errors.As(err, &refused), "%v", err)
		require.Equal(t, errs[0].Error(), err.Error(), "the same for all, so that a report says it once")
	}
	require.ErrorContains(t, err, "it does not accept connections within 300ms")
	text, err := os.ReadFile(starts)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(text))
}

func TestAnInterruptedStartIsNoFactAboutTheSubject(t *testing.T) {
	programs := &process.Set{}
	pool := &Pool{Programs: programs}
	defer pool.Close()
	programs.EndAll(0)
	for _, transport := range []string{"rpc", "http"} {
		_, err := pool.lease(t.Context(), handler(t), transport, nil)
		var refused *startError
		require.ErrorIs(t, err, process.ErrEnded)
		require.False(t, errors.As(err, &refused), "%v", err)
	}
}

func TestAMissingProgramIsAFactAboutTheSubject(t *testing.T) {
	h := handler(t)
	h.RPC.Args = []string{filepath.Join(t.TempDir(), "none")}
	pool := &Pool{}
	defer pool.Close()
	_, err := pool.lease(t.Context(), h, "rpc", nil)
	var refused *startError
	require.True(t, errors.As(err, &refused), "%v", err)
	require.ErrorIs(t, err, process.ErrNotFound)
}

func TestAServiceWithAFixedAddressIsOneProcessAtATime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	h := handler(t)
	h.HTTP.Args[len(h.HTTP.Args)-1] = address
	h.HTTP.URL = "http://" + address + "/"
	pool := &Pool{}
	defer pool.Close()
	var busy, most atomic.Int32
	var leases sync.WaitGroup
	for i := range 6 {
		var variables map[string]string
		if i%3 == 2 { // a process of its own, at the same address
			variables = map[string]string{"PUGMARK_FUTURE": "1"}
		}
		leases.Go(func() {
			got, err := pool.lease(t.Context(), h, "http", variables)
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), busy.Add(1)))
			if got.target.URL != h.HTTP.URL {
				t.Errorf("the address is %s", got.target.URL)
			}
			time.Sleep(time.Millisecond) // for others to come in, if they can
			busy.Add(-1)
			got.release()
		})
	}
	leases.Wait()
	require.EqualValues(t, 1, most.Load())
	require.LessOrEqual(t, idle(pool), 1)
}

func TestAServiceThatSomeoneElseRunsTakesOneRequestAtATime(t *testing.T) {
	h := &HandlerSubject{Name: "foreign", HTTP: &subject.ResolvedCommand{URL: "http://127.0.0.1:9/"}}
	pool := &Pool{}
	first, err := pool.lease(t.Context(), h, "http", nil)
	require.NoError(t, err)
	second := make(chan lease)
	go func() {
		l, _ := pool.lease(t.Context(), h, "http", nil)
		second <- l
	}()
	select {
	case <-second:
		t.Error("two at a time")
	case <-time.After(20 * time.Millisecond):
	}
	first.release()
	(<-second).release()
}

func TestTheReferenceLeavesNoProcess(t *testing.T) {
	reply := text("reply")
	for _, transport := range casefile.Transports() {
		t.Run(transport, func(t *testing.T) {
			job := runtimeJob(t, &casefile.Runtime{
				Script: []fakehandler.Op{{Emit: &fakehandler.Emit{Name: "b", Body: &reply}}},
			}, &Reference{})
			job.Transport = transport
			e := Stage(t.Context(), job)
			require.Empty(t, e.Fault)
			require.Len(t, e.Invocations, 1)
			list, err := exec.Command("ps", "-A", "-o", "pid=,stat=,args=").Output()
			require.NoError(t, err)
			for line := range strings.Lines(string(list)) {
				if strings.Contains(line, job.Scratch) {
					t.Errorf("still there: %s", line)
				}
			}
		})
	}
}
