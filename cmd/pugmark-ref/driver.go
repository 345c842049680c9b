package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func (a *app) driverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "driver",
		Short: "Answer requests, one JSON object a line, as a conformance driver",
		Long: `Answer requests on standard input, one JSON object a line, with one JSON object a
line on standard output: the agreement with a driver of pugmark-conform. Each request
names its store. Runs are answered when they are done, requests after them meanwhile.
It ends with the request quit and with the end of input, and handlers that still run
end with it.`,
		Args: arguments(0, 0, "requests on standard input"),
		RunE: func(command *cobra.Command, _ []string) error {
			d := &driver{app: a}
			return d.serve(command.Context())
		},
	}
}

// driverRequest is the fields of all requests; each operation looks at its own.
type driverRequest struct {
	ID              int64             `json:"id"`
	Op              string            `json:"op"`
	Store           string            `json:"store"`
	Session         string            `json:"session"`
	Agent           string            `json:"agent"`
	Handler         string            `json:"handler"`
	Name            string            `json:"name"`
	ContentType     string            `json:"content-type"`
	ContentEncoding string            `json:"content-encoding"`
	SchemaURL       string            `json:"schema-url"`
	Metadata        map[string]string `json:"metadata"`
	Body            []byte            `json:"body"`
	Once            bool              `json:"once"`
	driverHandler
	Handlers    map[string]driverHandler `json:"handlers"`
	TraceParent string                   `json:"traceparent"`
	TraceState  string                   `json:"tracestate"`
}

// driverHandler is one of a command, a command for RPC mode, and a URL.
type driverHandler struct {
	Command []string `json:"command"`
	RPC     []string `json:"rpc"`
	URL     string   `json:"url"`
}

// driverAnswer is one line of output.
type driverAnswer struct {
	ID          int64          `json:"id"`
	OK          any            `json:"ok,omitzero"`
	Error       *driverFailure `json:"error,omitzero"`
	Unsupported bool           `json:"unsupported,omitzero"`
}

type driverFailure struct {
	Message string `json:"message"`
	Kind    string `json:"kind"`
}

// driver serves one input. It keeps nothing between requests: each opens its store.
type driver struct {
	app  *app
	runs sync.WaitGroup

	mu   sync.Mutex // held while an answer is written
	lost error      // the first answer that could not be
}

// serve answers until `quit`, the end of input, or the end of ctx.
func (d *driver) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer d.runs.Wait()
	defer cancel() // first: it ends the handlers that the runs wait for

	type input struct {
		line []byte
		err  error
	}
	lines := make(chan input)
	go func() {
		in := bufio.NewReader(d.app.in)
		for {
			line, err := in.ReadBytes('\n')
			select {
			case lines <- input{line, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		var next input
		select {
		case next = <-lines:
		case <-ctx.Done():
			return ctx.Err()
		}
		if line := bytes.TrimSpace(next.line); len(line) > 0 {
			var request driverRequest
			if err := json.Unmarshal(line, &request); err != nil {
				return hint(fmt.Errorf("a request that is none: %w: %.200q", err, line), "send JSON objects such as {\"id\":1,\"op\":\"quit\"}, one a line")
			}
			if request.Op == "quit" {
				d.answer(driverAnswer{ID: request.ID, OK: struct{}{}})
				return d.failure()
			}
			d.take(ctx, request)
		}
		switch {
		case errors.Is(next.err, io.EOF):
			return d.failure()
		case next.err != nil:
			return fmt.Errorf("reading requests: %w", next.err)
		case d.failure() != nil:
			return d.failure()
		}
	}
}

// take answers a request, a run in its own time.
func (d *driver) take(ctx context.Context, request driverRequest) {
	if request.Op != "run" {
		d.answer(d.act(ctx, request))
		return
	}
	d.runs.Go(func() { d.answer(d.act(ctx, request)) })
}

func (d *driver) answer(answer driverAnswer) {
	line, err := json.Marshal(answer, json.Deterministic(true))
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		_, err = d.app.out.Write(append(line, '\n'))
	}
	if err != nil && d.lost == nil {
		d.lost = fmt.Errorf("answering request %d: %w", answer.ID, err)
	}
}

func (d *driver) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// act carries a request out.
func (d *driver) act(ctx context.Context, request driverRequest) driverAnswer {
	answer := driverAnswer{ID: request.ID}
	operations := map[string]func(context.Context, *reference.Runtime, driverRequest) (any, error){
		"start": d.start, "push": d.push, "run": d.run, "log": d.log, "inspect": d.inspect,
	}
	operation, known := operations[request.Op]
	if !known {
		answer.Unsupported = true
		return answer
	}
	ok, err := d.withStore(ctx, request.Store, func(runtime *reference.Runtime) (any, error) {
		return operation(ctx, runtime, request)
	})
	if err == nil {
		answer.OK = ok
		return answer
	}
	answer.Error = &driverFailure{Message: err.Error(), Kind: "internal"}
	var failure *reference.InvocationError
	var refusal *reference.RequestError
	switch {
	case errors.As(err, &failure):
		answer.Error.Kind = "failed-invocation"
	case errors.As(err, &refusal):
		answer.Error.Kind = "request"
	}
	return answer
}

// withStore opens a store, which may be a new one, for one request: any number of
// drivers work on it, and none must keep it.
func (d *driver) withStore(ctx context.Context, place string, do func(*reference.Runtime) (any, error)) (any, error) {
	if !filepath.IsAbs(place) {
		return nil, &reference.RequestError{Err: fmt.Errorf("the store is to be the absolute path of a folder, not %.200q", place)}
	}
	store, err := openStoreAt(ctx, place, true)
	if err != nil {
		return nil, err
	}
	// What lies beside the store is the case's own.
	store.allow(filepath.Join(place, ".."))
	ok, err := do(&reference.Runtime{Store: &storage.Store{Bucket: store.bucket}, Logger: d.app.logger(), Sources: hintedSources{store.sources}})
	return ok, errors.Join(err, store.close())
}

func (d *driver) start(ctx context.Context, runtime *reference.Runtime, request driverRequest) (any, error) {
	started, err := runtime.StartSession(ctx, storage.Manifest{
		Session: request.Session, Agent: request.Agent, Handler: request.Handler, Metadata: request.Metadata,
	})
	return struct {
		Session string `json:"session"`
	}{started.Session}, err
}

func (d *driver) push(ctx context.Context, runtime *reference.Runtime, request driverRequest) (any, error) {
	version, err := runtime.Push(ctx, request.Session, reference.Object{
		Name: request.Name, ContentType: request.ContentType, ContentEncoding: request.ContentEncoding,
		SchemaURL: request.SchemaURL, Metadata: request.Metadata, Body: bytes.NewReader(request.Body),
	})
	return struct {
		Version int64 `json:"version"`
	}{version}, err
}

func (d *driver) run(ctx context.Context, runtime *reference.Runtime, request driverRequest) (any, error) {
	var closers []io.Closer
	defer func() {
		for _, one := range closers {
			_ = one.Close()
		}
	}()
	transport := func(h driverHandler) reference.Transport {
		switch {
		case len(h.Command) > 0:
			return reference.Subprocess{Command: h.Command, Stderr: d.app.err}
		case len(h.RPC) > 0:
			process := &reference.RPC{Command: h.RPC, Stderr: d.app.err}
			closers = append(closers, process)
			return process
		case h.URL != "":
			return reference.HTTP{URL: h.URL}
		}
		return nil
	}
	registry := reference.Registry{Default: transport(request.driverHandler), Named: map[string]reference.Transport{}}
	for name, handler := range request.Handlers {
		registry.Named[name] = transport(handler)
	}
	runSession := runtime.Run
	if request.Once {
		runSession = runtime.RunOnce
	}
	result, err := runSession(ctx, request.Session, reference.RunOptions{
		Handlers: registry, Trace: protocol.TraceContext{TraceParent: request.TraceParent, TraceState: request.TraceState},
	})
	return struct {
		Version int64           `json:"version"`
		State   reference.State `json:"state"`
	}{result.Version, result.State}, err
}

func (d *driver) log(ctx context.Context, runtime *reference.Runtime, request driverRequest) (any, error) {
	entries := []jsonEntry{}
	for entry, err := range runtime.Log(ctx, request.Session) {
		if err != nil {
			return nil, err
		}
		body, err := readBody(ctx, runtime, entry)
		if err != nil {
			return nil, err
		}
		entries = append(entries, jsonEntry{entry, body})
	}
	return struct {
		Entries []jsonEntry `json:"entries"`
	}{entries}, nil
}

func readBody(ctx context.Context, runtime *reference.Runtime, entry reference.LogEntry) ([]byte, error) {
	body, err := runtime.Body(ctx, entry.DumpEntry)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

func (d *driver) inspect(ctx context.Context, runtime *reference.Runtime, request driverRequest) (any, error) {
	return runtime.Inspect(ctx, request.Session)
}
