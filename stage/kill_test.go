package stage

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/subject"
)

// mortalWorld is a world whose story kills the runtime.
func mortalWorld(t *testing.T, ops subject.Runtime, transport string) (*World, *result.Evidence, context.Context) {
	t.Helper()
	e := &result.Evidence{}
	job := runtimeJob(t, nil, ops)
	job.Case.Story, job.Transport = &casefile.Story{Kills: true}, transport
	w, err := newWorld(job, t.TempDir(), e)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(func() { w.close(cancel) })
	return w, e, ctx
}

func TestAKilledRunHasCommittedNothingAndTheNextIsFedTheSame(t *testing.T) {
	for _, transport := range []string{"subprocess", "rpc", "http"} {
		t.Run(transport, func(t *testing.T) {
			w, e, ctx := mortalWorld(t, &Reference{}, transport)
			require.NoError(t, w.Start(ctx, At{}, "main", casefile.Start{}))
			require.NoError(t, w.Script(At{}, "s", [][]fakehandler.Op{emits("first", fakehandler.Op{WaitFor: "go"}), emits("second"), emits("third", fakehandler.Op{WaitFor: "go"})}))
			require.NoError(t, w.Run(ctx, At{Line: 3, Background: true}, "main", Run{Once: true}))
			require.NoError(t, w.Await(ctx, At{}, "go", 1))
			require.NoError(t, w.Kill(ctx, At{Line: 5}, 0))
			require.NoError(t, w.Log(ctx, At{}, "main"))
			require.NoError(t, w.Run(ctx, At{}, "main", Run{Once: true}))
			require.NoError(t, w.Log(ctx, At{}, "main"))
			want := []string{"start", "script", "await", "kill-runtime", "run-once", "log", "run-once", "log"}
			if diff := cmp.Diff(want, verbs(e)); diff != "" {
				t.Fatalf("steps (-want +got):\n%s", diff)
			}
			killed := e.Steps[4]
			require.JSONEq(t, `{"killed":true}`, string(killed.Output))
			require.True(t, killed.Either)
			require.Equal(t, 3, killed.Line)
			require.Empty(t, logNames(t, e.Steps[5]))
			require.Equal(t, []string{"second"}, logNames(t, e.Steps[7]), "the script goes on after the turn that was killed")
			require.Len(t, e.Invocations, 2)
		})
	}
}

func TestPointsHoldAgainAfterAKill(t *testing.T) {
	w, _, ctx := mortalWorld(t, &Reference{}, "subprocess")
	require.NoError(t, w.Start(ctx, At{}, "main", casefile.Start{}))
	held := emits("x", fakehandler.Op{WaitFor: "go"})
	require.NoError(t, w.Script(At{}, "s", [][]fakehandler.Op{held, held}))
	for range 2 {
		require.NoError(t, w.Run(ctx, At{Background: true}, "main", Run{Once: true}))
		require.NoError(t, w.Await(ctx, At{}, "go", 1))
		require.NoError(t, w.Release(At{}, "go"))
		require.NoError(t, w.Kill(ctx, At{}, 0))
	}
}

// A handler that had not read everything when the kill came has a stream that was cut
// off by us.
func TestAnInvocationThatWasCutOffSaysNothing(t *testing.T) {
	w, e, ctx := mortalWorld(t, &Reference{}, "subprocess")
	require.NoError(t, w.Start(ctx, At{}, "main", casefile.Start{}))
	require.NoError(t, w.Script(At{}, "s", [][]fakehandler.Op{{{Read: "none"}, {WaitFor: "go"}}, emits("second")}))
	require.NoError(t, w.Run(ctx, At{Background: true}, "main", Run{Once: true}))
	require.NoError(t, w.Await(ctx, At{}, "go", 1))
	require.NoError(t, w.Kill(ctx, At{}, time.Millisecond))
	require.Empty(t, e.Invocations)
	require.NoError(t, w.Run(ctx, At{}, "main", Run{Once: true}))
	require.Len(t, e.Invocations, 1)
	out, _ := e.Invocations[0].Transcript.Outputs()
	require.Contains(t, string(out), "second", "its turn counts")
}

// immortal is a runtime without a second life.
type immortal struct{ subject.Runtime }

func TestARuntimeThatCantBeKilledSaysSo(t *testing.T) {
	w, e, ctx := mortalWorld(t, immortal{&Reference{}}, "subprocess")
	require.ErrorIs(t, w.Kill(ctx, At{}, 0), ErrUnexpected)
	if diff := cmp.Diff([]string{"kill-runtime: unsupported"}, verbs(e)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// gated is a bucket whose writes wait below whatever a process has above it.
type gated struct {
	storage.Bucket
	puts    *atomic.Int64
	entered chan struct{}
	open    chan struct{}
}

func (g gated) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	g.puts.Add(1)
	select {
	case g.entered <- struct{}{}:
	default:
	}
	<-g.open
	return g.Bucket.Put(ctx, key, body)
}

func TestAKilledReferenceWritesNothingMore(t *testing.T) {
	puts, entered, open := &atomic.Int64{}, make(chan struct{}, 1), make(chan struct{})
	r := &Reference{Process: func(b storage.Bucket) storage.Bucket { return gated{b, puts, entered, open} }}
	rt := r.Apart()
	done := make(chan error, 1)
	go func() {
		_, err := rt.Start(t.Context(), subject.StartRequest{Store: "s", Session: "0123456789abcdef0123456789abcdef"})
		done <- err
	}()
	<-entered // it is about to write
	killed := make(chan error, 1)
	go func() { killed <- rt.Kill() }()
	select {
	case <-killed:
		t.Fatal("the kill has not waited for what is under way")
	case <-time.After(20 * time.Millisecond):
	}
	close(open)
	require.NoError(t, <-killed)
	require.ErrorIs(t, <-done, subject.ErrKilled)
	require.EqualValues(t, 1, puts.Load())
	_, err := r.Inspect(t.Context(), "s", "0123456789abcdef0123456789abcdef")
	var failed *subject.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, subject.BadRequest, failed.Kind, "there is no such session")
	_, err = rt.Start(t.Context(), subject.StartRequest{Store: "s"})
	require.ErrorIs(t, err, subject.ErrKilled, "it has one life")
	next := r.Apart()
	_, err = next.Start(t.Context(), subject.StartRequest{Store: "s"})
	require.NoError(t, err, "the next life writes again")
	require.NoError(t, next.Close())
}

func TestOnlyARefusalIsARefusal(t *testing.T) {
	for kind, want := range map[subject.ErrorKind]error{
		subject.BadRequest: nil, subject.FailedInvocation: nil,
		subject.Internal: ErrUnexpected, subject.Crash: ErrUnexpected, subject.Unsupported: ErrUnexpected,
	} {
		e := &result.Evidence{}
		w, err := newWorld(runtimeJob(t, &casefile.Runtime{}, refuses{err: &subject.Error{Op: "start", Kind: kind}}), t.TempDir(), e)
		require.NoError(t, err)
		if got := w.Start(t.Context(), At{WantError: true}, "main", casefile.Start{}); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
}

func TestWhatNoRuntimeHasReportedIsAFaultOfTheHarness(t *testing.T) {
	e := Stage(t.Context(), runtimeJob(t, &casefile.Runtime{}, refuses{err: errors.New("no descriptors left")}))
	require.Equal(t, "start main: no descriptors left", e.Fault)
}
