package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
)

// handlerSource is a handler without an SDK: it reads its log, and answers.
const handlerSource = `import base64
import json
import sys

log = [json.loads(line) for line in sys.stdin]
body = json.dumps({"kind": "echo", "entries": len(log)}).encode()
print(json.dumps({"name": "echo", "content-type": "application/json", "data": base64.b64encode(body).decode()}))
`

// invocationLimit is how many times the bare handler an invocation may take.
const invocationLimit = 1.3

// invocation compares invocations of a Python handler from a virtual environment
// with the bare handler: the same program on the same input, and nothing else.
func (b *bench) invocation(ctx context.Context) error {
	python, err := b.venv(ctx)
	if err != nil {
		return err
	}
	handler := b.sub("handler.py")
	if err := os.WriteFile(handler, []byte(handlerSource), 0o666); err != nil {
		return err
	}
	bucket, err := dirbucket.Open(b.sub("invocation"))
	if err != nil {
		return err
	}
	defer bucket.Close()
	timed := &timedBucket{Bucket: bucket}
	runtime := &reference.Runtime{Store: &storage.Store{Bucket: timed}}
	if _, err := runtime.StartSession(ctx, storage.Manifest{Session: benchSession}); err != nil {
		return err
	}
	if _, err := runtime.Push(ctx, benchSession, reference.Object{Name: "input", Body: strings.NewReader("hello")}); err != nil {
		return err
	}
	command := []string{python, handler}
	transport := &timedTransport{Transport: reference.Subprocess{Command: command}}
	options := reference.RunOptions{Handlers: reference.Registry{Default: transport}}

	ref, err := b.program(ctx)
	if err != nil {
		return err
	}
	program := append([]string{"-b", b.sub("invocation"), "run", "--once", "--session", benchSession, "--"}, command...)
	var bare, whole, programs []time.Duration
	var input bytes.Buffer
	steps := []func() error{
		func() error {
			return timeOf(&whole, func() error { _, err := runtime.RunOnce(ctx, benchSession, options); return err })
		},
		func() error {
			input.Reset()
			if err := transport.replayTo(&input); err != nil {
				return err
			}
			return timeOf(&bare, func() error { return runBare(ctx, command, &input) })
		},
		func() error {
			return timeOf(&programs, func() error {
				if text, err := exec.CommandContext(ctx, ref, program...).CombinedOutput(); err != nil {
					return fmt.Errorf("%w\n%s", err, text)
				}
				return nil
			})
		},
	}
	for i := range b.runs + 1 {
		// The three take turns, in both directions, so that whatever else the
		// machine does meets all of them.
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		if i == 0 { // everything is cold
			bare, whole, programs = nil, nil, nil
			transport.reset()
			timed.reset()
		}
		slices.Reverse(steps)
	}
	b.line("%-38s %18s %9s", "", "least", "median")
	for _, row := range []struct {
		what  string
		times []time.Duration
	}{
		{"bare handler, fork, exec and all", bare},
		{"invocation, durable commit included", whole},
		{"  of it the transport and the handler", transport.times},
		{"  of it the durable write of the version", timed.times},
		{"as a program: pugmark-ref run --once", programs},
	} {
		b.line("%-42s %11.2f ms %6.2f ms", row.what, milliseconds(slices.Min(row.times)), milliseconds(median(row.times)))
	}
	b.limited("invocation : bare handler", medianRatio(whole, bare), invocationLimit, "x")
	b.line("%-52s %8.2f x", "pugmark-ref run --once : bare handler", medianRatio(programs, bare))
	return nil
}

// timeOf does something and appends how long it took.
func timeOf(times *[]time.Duration, do func() error) error {
	begun := time.Now()
	err := do()
	*times = append(*times, time.Since(begun))
	return err
}

// medianRatio compares each time with the one that was measured next to it, and
// gives the median of the ratios: other load comes and goes more slowly.
func medianRatio(times, others []time.Duration) float64 {
	ratios := make([]float64, len(times))
	for i := range times {
		ratios[i] = float64(times[i]) / float64(others[i])
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// venv makes a virtual environment and returns its Python.
func (b *bench) venv(ctx context.Context) (string, error) {
	folder := b.sub("venv")
	text, err := exec.CommandContext(ctx, "python3", "-m", "venv", "--without-pip", folder).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("making a virtual environment: %w\n%s", err, text)
	}
	return filepath.Join(folder, "bin", "python"), nil
}

func runBare(ctx context.Context, command []string, input io.Reader) error {
	handler := exec.CommandContext(ctx, command[0], command[1:]...)
	handler.Stdin = input
	output, err := handler.Output()
	if err == nil && !bytes.Contains(output, []byte(`"name": "echo"`)) {
		err = fmt.Errorf("the handler wrote %q", output)
	}
	return err
}

// timedTransport measures a transport and keeps the inputs of the last invocation.
type timedTransport struct {
	reference.Transport
	times []time.Duration
	last  reference.Invocation
}

func (t *timedTransport) reset() { t.times = nil }

// Invoke implements [reference.Transport].
func (t *timedTransport) Invoke(ctx context.Context, in reference.Invocation) error {
	begun := time.Now()
	err := t.Transport.Invoke(ctx, in)
	t.times = append(t.times, time.Since(begun))
	t.last = in
	return err
}

// replayTo writes what the last invocation was fed.
func (t *timedTransport) replayTo(w io.Writer) error {
	if t.last.Inputs == nil {
		return errors.New("the handler was not invoked")
	}
	return reference.JSONWire{}.WriteInputs(w, t.last.Inputs)
}

// timedBucket measures writes of snapshots, which nothing overlaps with.
type timedBucket struct {
	storage.Bucket
	times []time.Duration
}

func (t *timedBucket) reset() { t.times = nil }

// Put implements [storage.Bucket].
func (t *timedBucket) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	begun := time.Now()
	err := t.Bucket.Put(ctx, key, body)
	if strings.Contains(key, "/snapshots/") {
		t.times = append(t.times, time.Since(begun)) // one at a time: only one invocation runs
	}
	return err
}
