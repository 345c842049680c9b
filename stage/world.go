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

	"pugmark.dev/conform/casefile"
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
	// store is the folder that the runtime keeps the case's sessions in, runs that of
	// what the scripted handler needs and records.
	store, runs string
	fake        Fake
	seed        string

	evidence    *result.Evidence
	requirement string
	// seen is how many invocations had been taken in before the current step.
	seen int
	// fresh tells whether a session's log and dump were read since the last step that
	// may have changed them.
	fresh map[string]bool

	// script is what handlers play, named what those with a name do.
	script *scripted
	named  map[string]*scripted
	// files is the story's own files, which Outputs may refer to.
	files map[string][]byte
	// lays is the folders of all runs; points is where scripts no longer wait.
	lays   []*lay
	points []string
	// under is the acts that go on beside the story, in the order of their start.
	under []*act
	// mortal is the runtime when the story kills it, and can, anew by apart; killed
	// tells that it has.
	apart  subject.Apart
	mortal subject.Mortal
	killed bool
}

// At is where a step stands in the case file, and whether the case wants it to
// be refused, or admits both. Background lets it go on until [World.Join].
type At struct {
	Line       int
	WantError  bool
	Either     bool
	Background bool
}

// NewWorld makes a fresh world in dir, which exists and is empty. The evidence
// of its steps is added to e.
func newWorld(job Job, dir string, e *result.Evidence) (*World, error) {
	w := &World{
		runtime:   *job.Runtime,
		transport: job.Transport,
		store:     filepath.Join(dir, "store"),
		runs:      filepath.Join(dir, "runs"),
		fake:      job.Fake,
		seed:      fmt.Sprintf("%d/%s/%s", job.Seed, job.Case.ID, job.Transport),
		evidence:  e,
		fresh:     map[string]bool{},
		script:    &scripted{},
		named:     map[string]*scripted{},
	}
	if story := job.Case.Story; story != nil && story.Kills {
		if apart, ok := w.runtime.Ops.(subject.Apart); ok {
			w.apart = apart
			w.live()
		}
	}
	e.Sessions = map[string]string{}
	return w, os.Mkdir(w.runs, 0o777)
}

// Start creates the session that the case calls name.
func (w *World) Start(ctx context.Context, at At, name string, s casefile.Start) error {
	request := subject.StartRequest{
		Store: w.store, Session: w.expand(s.Chosen), Agent: s.Agent, Handler: s.Handler, Metadata: s.Metadata,
		Namespaces: s.Namespaces,
	}
	ops := w.runtime.Ops
	return w.step(ctx, at, &act{verb: "start", args: []string{name}, do: func(ctx context.Context) (any, error) {
		id, err := ops.Start(ctx, request)
		return started{id}, err
	}, took: func(output any) { w.evidence.Sessions[name] = output.(started).Session }})
}

// started is the outcome of a start.
type started struct {
	Session string `json:"session"`
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
	clear(w.fresh)
	ops := w.runtime.Ops
	for n := range max(p.Times, 1) {
		request := request
		request.Name = strings.ReplaceAll(p.Name, "{n}", fmt.Sprint(n+1))
		err := w.step(ctx, at, &act{verb: "push", args: []string{name, request.Name}, do: func(ctx context.Context) (any, error) {
			return nil, ops.Push(ctx, request)
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// Run runs a session, once or until it is idle.
func (w *World) Run(ctx context.Context, at At, name string, how Run) error {
	verb := "run"
	if how.Once {
		verb = "run-once"
	}
	here, err := w.lay()
	if err != nil {
		return err
	}
	request, served, err := w.request(here)
	if err != nil {
		return err
	}
	request.Store, request.Session, request.Once = w.store, w.session(name), how.Once
	request.TraceParent, request.TraceState = how.Around.Trace.Parent, how.Around.Trace.State
	request.Environment = how.Around.Environment
	args := []string{name}
	if len(request.Environment) > 0 {
		args = append(args, result.WithEnvironment)
	}
	clear(w.fresh)
	ops := w.runtime.Ops // a kill may come before the operation begins
	return w.step(ctx, at, &act{verb: verb, args: args, lay: here, do: func(ctx context.Context) (any, error) {
		defer served.close()
		return ops.Run(ctx, request)
	}})
}

// Run is how a session is run: once, or until it is idle, and what surrounds that.
type Run struct {
	Once   bool
	Around casefile.Around
}

// Log reads a session's log.
func (w *World) Log(ctx context.Context, at At, name string) error {
	w.fresh["log "+name] = true
	session := w.session(name)
	return w.step(ctx, at, &act{verb: "log", args: []string{name}, do: func(ctx context.Context) (any, error) {
		return w.runtime.Ops.Log(ctx, w.store, session)
	}})
}

// Child gives a name to the session that the n-th fork record in a session's own
// log, counted from 1, points to.
func (w *World) Child(ctx context.Context, at At, name, parent string, n int) error {
	session := w.session(parent)
	return w.step(ctx, at, &act{verb: "child", args: []string{name, parent}, do: func(ctx context.Context) (any, error) {
		answer, err := w.runtime.Ops.Log(ctx, w.store, session)
		if err != nil {
			return nil, err
		}
		var log result.Log
		if err := json.Unmarshal(answer, &log); err != nil {
			return nil, &subject.Error{Op: "child", Kind: subject.Crash, Message: fmt.Sprintf("the log of %s: %v", parent, err)}
		}
		found := 0
		for _, e := range log.Entries {
			if !e.Fork || e.Session != "" && e.Session != session {
				continue
			}
			if found++; found == n {
				return started{e.TargetSession}, nil
			}
		}
		return nil, &subject.Error{Op: "child", Kind: subject.Internal,
			Message: fmt.Sprintf("the log of %s has %d fork records, and number %d is wanted", parent, found, n)}
	}, took: func(output any) { w.evidence.Sessions[name] = output.(started).Session }})
}

// Inspect reads a session's dump.
func (w *World) Inspect(ctx context.Context, at At, name string) error {
	w.fresh["inspect "+name] = true
	session := w.session(name)
	return w.step(ctx, at, &act{verb: "inspect", args: []string{name}, do: func(ctx context.Context) (any, error) {
		return w.runtime.Ops.Inspect(ctx, w.store, session)
	}})
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
	log, dump := block.Looks()
	if block.Fed != nil && block.Fed.Slept {
		log = true
	}
	if log && !w.fresh["log "+name] {
		if err := w.Log(ctx, at, name); err != nil {
			return err
		}
	}
	if dump && !w.fresh["inspect "+name] {
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
