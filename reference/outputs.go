package reference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// outputs gathers what a handler writes (section 5.3). Bodies are stored as they
// come, everything else waits for the invocation's success.
type outputs struct {
	ctx      context.Context
	runtime  *Runtime
	manifest storage.Manifest

	// entries are the session's own, in stream order (P5.2/stream-order): local
	// ones, and the records of forks and of writes to other sessions.
	entries []storage.Entry
	memory  []storage.MemoryWrite
	pause   *pause
	// forks, writes and locals count the entries by kind.
	forks, writes, locals int

	// targets and namespaces are the versions that sessions and memory namespaces
	// had when they were first written to.
	targets, namespaces map[string]int64
}

func (r *Runtime) newOutputs(ctx context.Context, manifest storage.Manifest) *outputs {
	return &outputs{
		ctx: ctx, runtime: r, manifest: manifest,
		targets: make(map[string]int64), namespaces: make(map[string]int64),
	}
}

// pause is what a pause Output asks for.
type pause struct {
	reason string
	// sleep says that duration counts.
	sleep    bool
	duration time.Duration
}

// take handles one Output, of whichever kind and in whichever order (P5.2/any-order,
// P12/continues). The route is chosen by package protocol (P5.3/routing); a write to
// the own session is a local entry (P12/self). What is wrong with the Output is an [*InvocationError];
// another error is the runtime's own trouble.
func (o *outputs) take(record protocol.Record[protocol.Output]) error {
	out := record.Value
	if protocol.IsControl(out.ContentType) { // reading R8
		return o.refuse(record, errors.New("only the runtime writes control messages"))
	}
	encoding, err := servable(out.ContentType, out.ContentEncoding)
	if err != nil {
		return o.refuse(record, err)
	}
	route := out.Route(o.manifest.Session)
	switch route.Kind {
	case protocol.RouteNone:
		return nil // P3/no-op-output
	case protocol.RoutePause:
		return o.takePause(record, route)
	}
	entry := storage.Entry{
		ContentType: out.ContentType, ContentEncoding: encoding,
		SchemaURL: out.SchemaURL, Name: out.Name, Metadata: out.Metadata,
	}
	switch route.Kind {
	case protocol.RouteMemory: // P8.4/routed
		return o.takeMemory(record, route, entry)
	case protocol.RouteFork:
		return o.takeFork(record, route, entry)
	case protocol.RouteSession:
		return o.takeWrite(record, route, entry)
	}
	if err := o.store(record, &entry); err != nil {
		return err
	}
	o.entries = append(o.entries, entry)
	o.locals++
	return nil
}

// takePause remembers a pause; the last one counts (P10/last-pause). Outputs after
// it go on to be taken (P10/continue).
func (o *outputs) takePause(record protocol.Record[protocol.Output], route protocol.Route) error {
	reason, err := o.pauseReason(record)
	if err != nil {
		return err
	}
	p := pause{reason: reason}
	if route.Sleep {
		duration, err := protocol.ParseDuration(route.Duration)
		if err != nil { // reading R7: nothing is lost, and the pause counts as pure
			o.runtime.logger().Warn("a sleep counts as a pause", "session", o.manifest.Session, "error", err)
		} else {
			p.sleep, p.duration = true, duration
		}
	}
	o.pause = &p
	return nil
}

// pauseReason reads a reason, which is UTF-8 (section 10): the control message is
// JSON, and can hold no other text. What it can't hold, and what is over maxReason, is
// lost; the runtime says so, and keeps the pause and all other outputs, as it does
// for a duration that does not parse (reading R7).
func (o *outputs) pauseReason(record protocol.Record[protocol.Output]) (string, error) {
	body, err := o.body(record)
	if err != nil {
		return "", err
	}
	defer body.Close()
	encoding := record.Value.ContentEncoding
	if encoding == "" {
		encoding = body.ContentEncoding
	}
	plain, err := protocol.Decompress(encoding, body)
	if err != nil {
		return "", o.refuse(record, err)
	}
	defer plain.Close()
	reason, err := io.ReadAll(io.LimitReader(plain, maxReason+1))
	if err != nil {
		return "", o.refuse(record, err)
	}
	if len(reason) > maxReason {
		reason = reason[:lastBoundary(reason, maxReason)]
		o.runtime.logger().Warn("the reason of a pause was cut", "session", o.manifest.Session, "bytes", len(reason))
	}
	if !utf8.Valid(reason) {
		o.runtime.logger().Warn("the reason of a pause is not UTF-8; what is not was replaced by U+FFFD",
			"session", o.manifest.Session)
	}
	return strings.ToValidUTF8(string(reason), "\uFFFD"), nil
}

// lastBoundary is the last place up to at, in bytes, where a character of text may
// begin.
func lastBoundary(text []byte, at int) int {
	for from := at; from > at-utf8.UTFMax && from >= 0; from-- {
		if utf8.RuneStart(text[from]) {
			return from
		}
	}
	return at // no UTF-8 around here
}

// maxReason is how many bytes of a pause's reason are kept: it is free text of any
// size, and may unpack to any size.
const maxReason = 1 << 20

func (o *outputs) takeMemory(record protocol.Record[protocol.Output], route protocol.Route, entry storage.Entry) error {
	if err := storage.CheckMemoryName(route.Namespace, route.Object); err != nil {
		return o.refuse(record, fmt.Errorf("memory name %.200q: %w", record.Value.Name, err))
	}
	after, known := o.namespaces[route.Namespace]
	if !known {
		var err error
		after, err = o.runtime.Store.MemoryVersion(o.ctx, route.Namespace)
		if errors.Is(err, storage.ErrInvalidKey) {
			return o.refuse(record, fmt.Errorf("memory namespace %.200q: %w", route.Namespace, err))
		}
		if err != nil {
			return err
		}
		o.namespaces[route.Namespace] = after
	}
	entry.Name = route.Object
	if err := o.store(record, &entry); err != nil {
		return err
	}
	o.memory = append(o.memory, storage.MemoryWrite{Namespace: route.Namespace, After: after, Entry: entry})
	return nil
}

// takeFork records a fork; the child is made by the next invocation
// (P11.1/pending-first).
func (o *outputs) takeFork(record protocol.Record[protocol.Output], route protocol.Route, entry storage.Entry) error {
	child := route.Session
	if child == "" {
		child = o.runtime.newSessionID() // P11/child-id
	}
	if err := storage.CheckSession(child); err != nil {
		return o.refuse(record, err)
	}
	entry.Fork, entry.TargetSession = true, child
	if err := o.store(record, &entry); err != nil {
		return err
	}
	o.entries = append(o.entries, entry)
	o.forks++
	return nil
}

// takeWrite records a write to another session (reading R23). The session must
// exist (reading R42).
func (o *outputs) takeWrite(record protocol.Record[protocol.Output], route protocol.Route, entry storage.Entry) error {
	version, known := o.targets[route.Session]
	if !known {
		_, err := o.runtime.Store.Manifest(o.ctx, route.Session)
		if errors.Is(err, storage.ErrNotExist) || errors.Is(err, storage.ErrInvalidName) {
			return o.refuse(record, err)
		}
		if err != nil {
			return err
		}
		if version, err = o.runtime.Store.Version(o.ctx, route.Session); err != nil {
			return err
		}
		o.targets[route.Session] = version
	}
	entry.TargetSession, entry.TargetVersion = route.Session, version
	if err := o.store(record, &entry); err != nil {
		return err
	}
	o.entries = append(o.entries, entry)
	o.writes++
	return nil
}

// store stores the body of an Output like any other (P8.4/deduplicated) and makes
// entry its descriptor.
func (o *outputs) store(record protocol.Record[protocol.Output], entry *storage.Entry) error {
	body, err := o.body(record)
	if err != nil {
		return err
	}
	defer body.Close()
	if entry.ContentType == "" {
		entry.ContentType = body.ContentType
	}
	if entry.ContentEncoding == "" {
		entry.ContentEncoding = body.ContentEncoding
	}
	if entry.ContentEncoding, err = servable(entry.ContentType, entry.ContentEncoding); err != nil {
		return o.refuse(record, fmt.Errorf("the object at %.200q: %w", record.Value.URI, err))
	}
	return o.runtime.putBody(o.ctx, entry, body)
}

// body opens the body of an Output: data wins (P5.3/inline-body), else uri
// (P5.3/uri-body); neither is an empty body.
func (o *outputs) body(record protocol.Record[protocol.Output]) (*RemoteBody, error) {
	out := record.Value
	if out.URI == "" || len(out.Data) > 0 {
		return &RemoteBody{ReadCloser: io.NopCloser(bytes.NewReader(out.Data))}, nil
	}
	var sources Sources = noSources{}
	if o.runtime.Sources != nil {
		sources = o.runtime.Sources
	}
	body, err := sources.Open(o.ctx, out.URI)
	if err != nil {
		return nil, o.refuse(record, err)
	}
	return body, nil
}

// refuse makes a failed invocation of an Output that can't be carried out.
func (o *outputs) refuse(record protocol.Record[protocol.Output], err error) error {
	return &InvocationError{Reason: ReasonOutput, Err: fmt.Errorf("at byte %d of the stream: %w", record.Offset, err)}
}
