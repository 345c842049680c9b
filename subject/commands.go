//go:build unix

package subject

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"pugmark.dev/conform/process"
)

// maxOutput is how many bytes of an operation's stdout are taken. The logs that
// cases look at have a few kilobytes, the greatest a few megabytes.
const maxOutput = 32 << 20

// Commands drives a runtime by the command templates of its file. dir is the
// folder of the file and cache its {cache}. Each operation is one command, whose
// processes have all ended when the operation returns: one that leaves a server
// behind can't be driven like this. When ctx ends, the command ends with it, and
// the error wraps the cause.
//
// An operation's failure is an *Error: of kind Unsupported where the file has no
// template for it or the request does not fit one, FailedInvocation for a run
// with another exit status than 0, BadRequest for another operation with one,
// Crash for an end by a signal and for an answer that makes no sense, which it
// quotes, and also for a command that does not start because of what it is, which
// is a *process.StartError too. Whatever else goes wrong is no *Error: a fault of
// the harness, or the end of ctx.
func Commands(f *File, dir, cache string) (Runtime, error) {
	return newCommands(f, dir, cache, Environment(os.Environ()))
}

func newCommands(f *File, dir, cache string, env []string) (Runtime, error) {
	switch {
	case f.Kind != KindRuntime:
		return nil, fmt.Errorf("subject %s: it is a %s, not a runtime", f.Name, f.Kind)
	case f.Driver != nil:
		return nil, fmt.Errorf("subject %s: it has a `driver`, and no commands", f.Name)
	}
	return &commands{templates: f.Commands, dir: dir, cache: cache, env: env, set: &process.Set{}}, nil
}

// commands is a Runtime. It keeps no state between operations.
type commands struct {
	templates  map[string]Args
	dir, cache string
	env        []string
	set        *process.Set
	closing    sync.Once
}

// Start implements Runtime: the session ID is the last line of stdout.
func (c *commands) Start(ctx context.Context, r StartRequest) (string, error) {
	metadata, err := object(r.Metadata)
	if err != nil {
		return "", &Error{opStart, Unsupported, err.Error()}
	}
	out, err := c.do(ctx, opStart, filling{
		texts: map[string]string{
			"store": r.Store, "session": r.Session, "agent": r.Agent, "handler": r.Handler, "metadata": metadata,
		},
		repeated: map[string][]string{"namespaces": r.Namespaces},
	})
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(out))
	last := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if !isSession(last) {
		return "", &Error{opStart, Crash, fmt.Sprintf("the last line of stdout is to be the session ID, 32 lower-case hex digits and not all zero; it is %s", quoted([]byte(last)))}
	}
	return last, nil
}

// Push implements Runtime. The body lies in a file for the time of the command.
func (c *commands) Push(ctx context.Context, r PushRequest) error {
	metadata, err := object(r.Metadata)
	if err != nil {
		return &Error{opPush, Unsupported, err.Error()}
	}
	if _, ok := c.templates[opPush]; !ok {
		return c.missing(opPush)
	}
	dir, err := os.MkdirTemp("", "pugmark-push-")
	if err != nil {
		return fmt.Errorf("%s: a file for the body: %w", opPush, err)
	}
	defer os.RemoveAll(dir)
	body := filepath.Join(dir, "body")
	if err := os.WriteFile(body, r.Body, 0o666); err != nil {
		return fmt.Errorf("%s: a file for the body: %w", opPush, err)
	}
	_, err = c.do(ctx, opPush, filling{texts: map[string]string{
		"store": r.Store, "session": r.Session, "body": body, "metadata": metadata, "name": r.Name,
		"content-type": r.ContentType, "content-encoding": r.ContentEncoding, "schema-url": r.SchemaURL,
	}})
	return err
}

// Run implements Runtime. A command line says nothing of version and state.
func (c *commands) Run(ctx context.Context, r RunRequest) (RunReply, error) {
	op, err := c.runTemplate(r)
	if err != nil {
		return RunReply{}, err
	}
	f := filling{
		texts:    map[string]string{"store": r.Store, "session": r.Session, "url": r.Default.URL},
		list:     r.Default.Command,
		repeated: map[string][]string{"handlers": registered(r.Named)},
	}
	if r.Default.RPC != nil {
		f.list = r.Default.RPC
	}
	var variables []string
	if r.TraceParent != "" {
		variables = append(variables, "TRACEPARENT="+r.TraceParent)
	}
	if r.TraceState != "" {
		variables = append(variables, "TRACESTATE="+r.TraceState)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Environment)) {
		variables = append(variables, name+"="+r.Environment[name])
	}
	_, err = c.do(ctx, op, f, variables...)
	return RunReply{}, err
}

// runTemplate chooses the template of a run: that of its handler's transport, and
// of one invocation or of as many as it takes. One does not stand in for the other:
// what goes on until it is idle may invoke the handler more than once.
func (c *commands) runTemplate(r RunRequest) (string, error) {
	op, once := opRun, opRunOnce
	switch {
	case len(r.Named) > 0:
		op, once = opRunNamed, opRunNamedOnce
	case r.Default.RPC != nil:
		op, once = opRunRPC, opRunRPCOnce
	case r.Default.URL != "":
		op, once = opRunURL, opRunURLOnce
	}
	if r.Once {
		op = once
	}
	if len(r.Named) > 0 {
		for _, spec := range append([]HandlerSpec{r.Default}, values(r.Named)...) {
			if spec.RPC != nil || spec.URL != "" {
				return "", &Error{op, Unsupported, "beside named handlers a template takes commands only, no RPC command and no URL"}
			}
		}
	}
	if _, ok := c.templates[op]; !ok {
		return "", c.missing(op)
	}
	return op, nil
}

// Log implements Runtime: one JSON object a line.
func (c *commands) Log(ctx context.Context, store, session string) (json.RawMessage, error) {
	out, err := c.do(ctx, opLog, filling{texts: map[string]string{"store": store, "session": session}})
	if err != nil {
		return nil, err
	}
	entries := []json.RawMessage{}
	number := 0
	for line := range bytes.Lines(out) {
		number++
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case !isObject(line):
			return nil, &Error{opLog, Crash, fmt.Sprintf("line %d of stdout is to be a JSON object; it is %s", number, quoted(line))}
		default:
			entries = append(entries, line)
		}
	}
	return encoded(struct {
		Entries []json.RawMessage `json:"entries"`
	}{entries})
}

// Inspect implements Runtime: the whole of stdout is the dump.
func (c *commands) Inspect(ctx context.Context, store, session string) (json.RawMessage, error) {
	out, err := c.do(ctx, opInspect, filling{texts: map[string]string{"store": store, "session": session}})
	if err != nil {
		return nil, err
	}
	out = bytes.TrimSpace(out)
	if !isObject(out) {
		return nil, &Error{opInspect, Crash, "stdout is to be one JSON object, the dump; it is " + quoted(out)}
	}
	return out, nil
}

// Close implements Runtime: it ends what still runs, and nothing starts after it.
func (c *commands) Close() error {
	var left int
	c.closing.Do(func() { left = c.set.EndAll(endGrace).Left })
	if left > 0 {
		return fmt.Errorf("close the runtime: %d processes are left", left)
	}
	return nil
}

// kill ends what runs by SIGKILL, and nothing starts after it.
func (c *commands) kill() error {
	if left := c.set.EndAll(0).Left; left > 0 {
		return fmt.Errorf("kill the runtime: %d processes are left", left)
	}
	return nil
}

func (c *commands) missing(op string) *Error {
	return &Error{op, Unsupported, "the subject file has no `commands." + op + "`"}
}

// do runs the template of an operation, with env on top of the environment, and
// returns what it printed.
func (c *commands) do(ctx context.Context, op string, f filling, env ...string) ([]byte, error) {
	template, ok := c.templates[op]
	if !ok {
		return nil, c.missing(op)
	}
	if word, ok := dropped(template, f); ok {
		return nil, &Error{op, Unsupported, fmt.Sprintf("`commands.%s` has no {%s}, so that what the request says of it would be lost", op, word)}
	}
	f.texts["cache"], f.texts["dir"] = c.cache, c.dir
	args := fill(template, f)
	for _, text := range append(args, env...) {
		if strings.ContainsRune(text, 0) {
			return nil, &Error{op, Unsupported, fmt.Sprintf("a command line can't carry a NUL: %s", quoted([]byte(text)))}
		}
	}
	out, errs := process.Capture{Limit: 2 * maxOutput}, process.Capture{}
	result, err := c.set.Run(ctx, process.Command{
		Args: args, Dir: c.dir, Env: append(c.env[:len(c.env):len(c.env)], env...), Stdout: &out, Stderr: &errs,
	}, endGrace)
	switch {
	case errors.Is(err, syscall.E2BIG):
		return nil, &Error{op, Unsupported, "the request does not fit a command line: " + err.Error()}
	case err != nil:
		return nil, startFailed(op, "the command", err)
	case result.Exit.Code < 0:
		return nil, &Error{op, Crash, fmt.Sprintf("%s: ended by %v%s", shown(args), result.Exit, lastOf(&errs))}
	case !result.Exit.OK():
		kind := BadRequest
		if strings.HasPrefix(op, opRun) {
			kind = FailedInvocation
		}
		return nil, &Error{op, kind, fmt.Sprintf("%s: %v%s", shown(args), result.Exit, lastOf(&errs))}
	case out.Total() > maxOutput:
		return nil, &Error{op, Crash, fmt.Sprintf("%s: %d bytes on stdout; no more than %d are taken", shown(args), out.Total(), maxOutput)}
	}
	return out.Captured().Head, nil
}

// isSession reports whether text is a session ID (S2/session-id).
func isSession(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == "" && strings.Trim(text, "0") != ""
}

// isObject reports whether text is one JSON object in UTF-8 and nothing else.
func isObject(text []byte) bool {
	return len(text) > 0 && text[0] == '{' && utf8.Valid(text) && json.Valid(text)
}

// quoted shows bytes that make no sense.
func quoted(text []byte) string {
	if len(text) == 0 {
		return "empty"
	}
	if len(text) <= excerptLine {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q and %d bytes more", text[:excerptLine], len(text)-excerptLine)
}

// object is metadata as a JSON object, or nothing when there is none.
func object(metadata map[string]string) (string, error) {
	if len(metadata) == 0 {
		return "", nil
	}
	for key, value := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return "", fmt.Errorf("metadata %q: %q is not UTF-8, which JSON has to be", key, value)
		}
	}
	text, err := encoded(metadata)
	return string(text), err
}

// encoded is JSON that leaves <, > and & as they are.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func values(named map[string]HandlerSpec) []HandlerSpec {
	list := make([]HandlerSpec, 0, len(named))
	for _, spec := range named {
		list = append(list, spec)
	}
	return list
}
