package reference_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/membucket"
)

const (
	parentID = "11111111111111111111111111111111"
	childID  = "22222222222222222222222222222222"
	otherID  = "33333333333333333333333333333333"
)

// invocation is what a scripted handler got, and how it answers.
type invocation struct {
	reference.Invocation
	inputs []protocol.Input
	offset int64
}

func (i *invocation) emit(outputs ...protocol.Output) error {
	for _, output := range outputs {
		if err := i.Output(protocol.Record[protocol.Output]{Value: output, Offset: i.offset}); err != nil {
			return err
		}
		i.offset++
	}
	return nil
}

// scripted is a transport in process. The n-th invocation plays the n-th step;
// past the last one, invocations write nothing.
type scripted struct {
	steps []func(*invocation) error

	mu   sync.Mutex
	seen []*invocation
}

func (s *scripted) Invoke(_ context.Context, in reference.Invocation) error {
	call := &invocation{Invocation: in}
	for input, err := range in.Inputs {
		if err != nil {
			return err
		}
		call.inputs = append(call.inputs, input)
	}
	s.mu.Lock()
	s.seen = append(s.seen, call)
	number := len(s.seen)
	s.mu.Unlock()
	if number > len(s.steps) || s.steps[number-1] == nil {
		return nil
	}
	return s.steps[number-1](call)
}

// emits is a step that writes outputs.
func emits(outputs ...protocol.Output) func(*invocation) error {
	return func(call *invocation) error { return call.emit(outputs...) }
}

func text(name, body string) protocol.Output {
	return protocol.Output{Name: name, ContentType: "text/plain", Data: []byte(body)}
}

func pause(reason string) protocol.Output {
	return protocol.Output{ContentType: protocol.TypePause, Data: []byte(reason)}
}

func sleep(duration string) protocol.Output {
	return protocol.Output{ContentType: protocol.TypePause, Metadata: map[string]string{"duration": duration}}
}

// world is a runtime on an empty store in memory, with a clock that stands still.
type world struct {
	t       *testing.T
	bucket  storage.Bucket
	clock   *fakeClock
	runtime *reference.Runtime
}

func newWorld(t *testing.T, sessions ...string) *world {
	t.Helper()
	w := &world{t: t, bucket: new(membucket.Bucket), clock: &fakeClock{now: time.Date(2025, 1, 2, 3, 4, 5, 6000, time.UTC)}}
	w.runtime = w.on(w.bucket)
	for _, session := range sessions {
		w.start(storage.Manifest{Session: session})
	}
	return w
}

// on gives a runtime on another view of the world's bucket.
func (w *world) on(bucket storage.Bucket) *reference.Runtime {
	return &reference.Runtime{Store: &storage.Store{Bucket: bucket}, Clock: w.clock}
}

func (w *world) start(m storage.Manifest) {
	w.t.Helper()
	_, err := w.runtime.StartSession(w.t.Context(), m)
	require.NoError(w.t, err)
}

func (w *world) push(session, name, body string) {
	w.t.Helper()
	_, err := w.runtime.Push(w.t.Context(), session, reference.Object{
		Name: name, ContentType: "text/plain", Body: strings.NewReader(body),
	})
	require.NoError(w.t, err)
}

// once runs a session once with steps and returns what the handler saw last.
func (w *world) once(session string, steps ...func(*invocation) error) (reference.Result, *invocation) {
	w.t.Helper()
	transport := &scripted{steps: steps}
	result, err := w.runtime.RunOnce(w.t.Context(), session, handledBy(transport))
	require.NoError(w.t, err)
	if len(transport.seen) == 0 {
		return result, nil
	}
	return result, transport.seen[len(transport.seen)-1]
}

func handledBy(transport reference.Transport) reference.RunOptions {
	return reference.RunOptions{Handlers: reference.Registry{Default: transport}}
}

// log reads a session as "session-initial version.sequence description" lines.
func (w *world) log(session string) []string {
	w.t.Helper()
	return logOf(w.t, w.runtime, session)
}

func logOf(t *testing.T, runtime *reference.Runtime, session string) []string {
	t.Helper()
	var lines []string
	for entry, err := range runtime.Log(t.Context(), session) {
		require.NoError(t, err)
		line := fmt.Sprintf("%s %d.%d %s", entry.Session[:1], entry.Version, entry.Sequence, entry.Type)
		switch {
		case entry.Control != nil:
			line += fmt.Sprintf(" %s %q", entry.Control.Status, entry.Control.Reason)
			if !entry.Control.StartAt.IsZero() {
				line += " " + entry.Control.StartAt.Format(time.RFC3339Nano)
			}
		default:
			body, err := runtime.Body(t.Context(), entry.DumpEntry)
			require.NoError(t, err)
			data, err := io.ReadAll(body)
			require.NoError(t, err)
			require.NoError(t, body.Close())
			line += fmt.Sprintf(" %s=%s", entry.Name, data)
		}
		if entry.Fork {
			line += " fork:" + entry.TargetSession[:1]
		} else if entry.TargetSession != "" {
			line += " to:" + entry.TargetSession[:1]
		}
		if entry.SourceSession != "" {
			line += fmt.Sprintf(" from:%s@%d", entry.SourceSession[:1], entry.SourceVersion)
		}
		lines = append(lines, line)
	}
	return lines
}

// events gives inputs as "event name" words, the memory announcement left out.
func events(call *invocation) []string {
	if call == nil {
		return nil
	}
	var words []string
	for _, input := range call.inputs[1:] {
		words = append(words, strings.TrimSpace(input.Event+" "+input.Name))
	}
	return words
}

// fakeClock moves only by sleeping.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	slept  time.Duration
	onStep func()
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.slept += d
	onStep := c.onStep
	c.mu.Unlock()
	if onStep != nil {
		onStep()
	}
	return ctx.Err()
}
