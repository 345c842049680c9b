package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/subject"
)

// World is the world of one runtime case: a fresh store, the sessions by the
// names that the case gives them, the scripted handler with its script, and what
// happened so far. It is used by one goroutine.
type World struct {
	runtime   RuntimeSubject
	transport string
	// store is the folder that the runtime keeps the case's sessions in; records
	// is where the scripted handler writes its transcripts.
	store, records, script string
	fake                   Fake
	seed                   string

	evidence    *result.Evidence
	requirement string
	// seen is how many invocations had been recorded before the current step.
	seen int
	// fresh tells whether a session's log and dump were read since the last run.
	fresh map[string]bool
}

// At is where a step stands in the case file, and whether the case wants it to
// be refused, or admits both.
type At struct {
	Line      int
	WantError bool
	Either    bool
}

// NewWorld makes a fresh world in dir, which exists and is empty. The evidence
// of its steps is added to e.
func newWorld(job Job, dir string, e *result.Evidence) (*World, error) {
	w := &World{
		runtime:   *job.Runtime,
		transport: job.Transport,
		store:     filepath.Join(dir, "store"),
		records:   filepath.Join(dir, "invocations"),
		script:    filepath.Join(dir, "script.json"),
		fake:      job.Fake,
		seed:      fmt.Sprintf("%d/%s/%s", job.Seed, job.Case.ID, job.Transport),
		evidence:  e,
		fresh:     map[string]bool{},
	}
	e.Sessions = map[string]string{}
	if err := os.Mkdir(w.records, 0o777); err != nil {
		return nil, err
	}
	return w, w.lay(fakehandler.Script{})
}

// Start creates the session that the case calls name.
func (w *World) Start(ctx context.Context, at At, name string, s casefile.Start) error {
	return w.step(ctx, at, "start", []string{name}, func(ctx context.Context) (any, error) {
		id, err := w.runtime.Ops.Start(ctx, subject.StartRequest{
			Store: w.store, Session: w.expand(s.Chosen), Agent: s.Agent, Handler: s.Handler, Metadata: s.Metadata,
		})
		if err != nil {
			return nil, err
		}
		w.evidence.Sessions[name] = id
		return map[string]string{"session": id}, nil
	})
}

// Push appends an entry to a session from outside.
func (w *World) Push(ctx context.Context, at At, name string, p casefile.Push) error {
	body, err := p.Body.Stored()
	if err != nil {
		return fmt.Errorf("push to %s: %w", name, err)
	}
	request := subject.PushRequest{
		Store: w.store, Session: w.session(name), Body: body,
		ContentType: p.ContentType, ContentEncoding: p.ContentEncoding, SchemaURL: p.SchemaURL, Metadata: p.Metadata,
	}
	if request.ContentType == "" {
		request.ContentType = p.Body.DefaultType()
	}
	if request.ContentEncoding == "" {
		request.ContentEncoding = p.Body.Encoding
	}
	for n := range max(p.Times, 1) {
		request.Name = strings.ReplaceAll(p.Name, "{n}", fmt.Sprint(n+1))
		err := w.step(ctx, at, "push", []string{name, request.Name}, func(ctx context.Context) (any, error) {
			return nil, w.runtime.Ops.Push(ctx, request)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Script lays down what the scripted handler does from its next invocation on.
func (w *World) Script(at At, file string, turns [][]fakehandler.Op) error {
	for _, turn := range turns {
		for i := range turn {
			if e := turn[i].Emit; e != nil && e.Session != "" {
				emit := *e
				emit.Session = w.expand(e.Session)
				turn[i].Emit = &emit
			}
		}
	}
	w.note(at, "script", file)
	return w.lay(fakehandler.Script{Turns: turns, First: w.seen})
}

// Run runs a session, once or until it is idle.
func (w *World) Run(ctx context.Context, at At, name string, once bool) error {
	verb := "run"
	if once {
		verb = "run-once"
	}
	handler, done, err := w.handler()
	if err != nil {
		return err
	}
	defer done()
	clear(w.fresh)
	return w.step(ctx, at, verb, []string{name}, func(ctx context.Context) (any, error) {
		return w.runtime.Ops.Run(ctx, subject.RunRequest{Store: w.store, Session: w.session(name), Once: once, Default: handler})
	})
}

// Log reads a session's log.
func (w *World) Log(ctx context.Context, at At, name string) error {
	w.fresh["log "+name] = true
	return w.step(ctx, at, "log", []string{name}, func(ctx context.Context) (any, error) {
		return w.runtime.Ops.Log(ctx, w.store, w.session(name))
	})
}

// Inspect reads a session's dump.
func (w *World) Inspect(ctx context.Context, at At, name string) error {
	w.fresh["inspect "+name] = true
	return w.step(ctx, at, "inspect", []string{name}, func(ctx context.Context) (any, error) {
		return w.runtime.Ops.Inspect(ctx, w.store, w.session(name))
	})
}

// Require says which requirement the steps that follow prove.
func (w *World) Require(at At, requirement string) {
	w.requirement = requirement
	w.note(at, "require", requirement)
}

// Expect marks the point at which the blocks of an expectation file are judged.
// The logs and dumps that they look at are read first, unless a step has done so
// since the last run.
func (w *World) Expect(ctx context.Context, at At, file string, blocks []casefile.RuntimeExpect) error {
	for _, block := range blocks {
		if err := w.look(ctx, at.Line, block); err != nil {
			return err
		}
	}
	w.note(at, "expect", file)
	return nil
}

func (w *World) look(ctx context.Context, line int, block casefile.RuntimeExpect) error {
	name := block.Session
	if name == "" {
		name = mainSession
	}
	at := At{Line: line}
	if block.Log != nil && !w.fresh["log "+name] {
		if err := w.Log(ctx, at, name); err != nil {
			return err
		}
	}
	if (block.Version != nil || block.Types != nil || block.Parent != "") && !w.fresh["inspect "+name] {
		if err := w.Inspect(ctx, at, name); err != nil {
			return err
		}
	}
	for _, alternative := range block.AnyOf {
		if alternative.Session == "" {
			alternative.Session = block.Session
		}
		if err := w.look(ctx, line, alternative); err != nil {
			return err
		}
	}
	return nil
}

// Session returns the ID of a session of the case: the one that the runtime gave,
// or one that is made from the case's name and the seed, the same in every run.
// A name that is an ID already stands for itself.
func (w *World) session(name string) string {
	if protocol.ValidSessionID(name) {
		return name
	}
	if id, ok := w.evidence.Sessions[name]; ok {
		return id
	}
	sum := sha256.Sum256([]byte(w.seed + "/" + name))
	id := hex.EncodeToString(sum[:16])
	w.evidence.Sessions[name] = id
	return id
}

// expand replaces {name} by the ID of that session.
func (w *World) expand(s string) string {
	if name, ok := strings.CutPrefix(s, "{"); ok && strings.HasSuffix(name, "}") {
		return w.session(strings.TrimSuffix(name, "}"))
	}
	return s
}

// ErrUnexpected ends a story: a step did not go as the case wants. The step is
// in the evidence; the judge says what it means.
var ErrUnexpected = errors.New("a step did not go as the case wants")

// step does one act and records its outcome.
func (w *World) step(ctx context.Context, at At, verb string, args []string, act func(context.Context) (any, error)) error {
	started := time.Now()
	output, err := bounded(ctx, act)
	s := result.Step{
		Line: at.Line, Verb: verb, Args: args, Requirement: w.requirement, WantError: at.WantError, Either: at.Either,
		TookMS: time.Since(started).Milliseconds(),
	}
	if err != nil {
		s.Error = stepError(ctx, err)
	} else if s.Output, err = json.Marshal(output); err != nil {
		// A runtime that answers log or inspect with something that is no JSON.
		s.Error = &result.StepError{Kind: string(subject.Internal), Message: "the answer is no JSON: " + err.Error()}
	}
	if err := w.collect(); err != nil {
		return err
	}
	s.Invocations = w.seen
	w.evidence.Steps = append(w.evidence.Steps, s)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// A refusal by a runtime that does not offer the operation is no outcome that a
	// case could admit.
	unsupported := s.Error != nil && s.Error.Kind == string(subject.Unsupported)
	if unsupported || !at.Either && (s.Error != nil) != at.WantError {
		return ErrUnexpected
	}
	return nil
}

// returnGrace is how long an operation may go on after its time was up: a runtime
// in this process can't be killed.
const returnGrace = 5 * time.Second

// errStuck is an operation that did not return when its time was up.
var errStuck = fmt.Errorf("the operation did not end within %s after its time was up", returnGrace)

// bounded does an act and comes back, whether the act does or not.
func bounded(ctx context.Context, act func(context.Context) (any, error)) (any, error) {
	type outcome struct {
		output any
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		output, err := act(ctx)
		done <- outcome{output, err}
	}()
	select {
	case o := <-done:
		return o.output, o.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(returnGrace)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.output, o.err
	case <-timer.C:
		return nil, errStuck
	}
}

// note records a step that acts on nothing.
func (w *World) note(at At, verb string, args ...string) {
	w.evidence.Steps = append(w.evidence.Steps, result.Step{
		Line: at.Line, Verb: verb, Args: args, Requirement: w.requirement, Invocations: w.seen,
	})
}

// collect takes in the transcripts of the invocations since the last step.
func (w *World) collect() error {
	transcripts, err := fakehandler.ReadRecords(w.records)
	if err != nil {
		return fmt.Errorf("the scripted handler's records: %w", err)
	}
	for _, t := range transcripts[min(w.seen, len(transcripts)):] {
		w.evidence.Invocations = append(w.evidence.Invocations, result.Invocation{
			Step: len(w.evidence.Steps), Transcript: t,
		})
		// The script of the case is at fault, not the runtime that ran it.
		if fault := fakehandler.Fault(&t); fault != "" {
			return fmt.Errorf("the scripted handler: %s", fault)
		}
	}
	w.seen = len(transcripts)
	return nil
}

// lay writes the script file that every invocation reads anew.
func (w *World) lay(s fakehandler.Script) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	return os.WriteFile(w.script, data, 0o666)
}

func stepError(ctx context.Context, err error) *result.StepError {
	var failed *subject.Error
	switch {
	case ctx.Err() != nil:
		return &result.StepError{Kind: string(result.Hang), Message: err.Error()}
	case errors.As(err, &failed):
		return &result.StepError{Kind: string(failed.Kind), Message: failed.Message}
	}
	return &result.StepError{Kind: string(subject.Internal), Message: err.Error()}
}
