package fakehandler

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"pugmark.dev/conform/protocol"
)

// turn is one invocation of the agreement handler after its log was read.
type turn struct {
	inv         Invocation
	identity    func() protocol.Identity
	log         *sessionLog
	encoder     *protocol.Encoder
	diagnostics io.Writer
	fetcher     fetcher
	// session is the turn itself, as the seam Session lets code see it.
	session Session
}

// operation is one member of the instructions' `do` list.
type operation struct {
	Op              string            `json:"op"`
	Text            *string           `json:"text"`
	JSON            json.RawMessage   `json:"json"`
	Base64          *string           `json:"base64"`
	Name            string            `json:"name"`
	ContentType     string            `json:"content-type"`
	ContentEncoding string            `json:"content-encoding"`
	SchemaURL       string            `json:"schema-url"`
	Metadata        map[string]string `json:"metadata"`
	Session         string            `json:"session"`
	Fork            bool              `json:"fork"`
	URI             string            `json:"uri"`
	Reason          string            `json:"reason"`
	Seconds         *float64          `json:"seconds"`
	As              string            `json:"as"`
	Key             string            `json:"key"`
}

// fieldsOf is the fields that an operation takes, besides op.
func fieldsOf(op string) (fields []string, known bool) {
	entry := []string{"name", "content-type", "content-encoding", "schema-url", "metadata", "session", "fork"}
	switch op {
	case "observe", "fail":
		return nil, true
	case "write":
		return append(entry, "text", "json", "base64", "helper"), true // it has one call only
	case "write-remote":
		return append(entry, "uri"), true
	case "pause":
		return []string{"reason"}, true
	case "sleep":
		return []string{"reason", "seconds"}, true
	case "load":
		return []string{"name", "as"}, true
	case "memory":
		return []string{"key"}, true
	case "log":
		return []string{"text"}, true
	}
	return nil, false
}

// follow does what the latest instructions say; without any, nothing.
func (t *turn) follow(ctx context.Context) error {
	var entry *Entry
	for _, e := range t.session.Entries() {
		if e.Name == NameInstructions {
			entry = &e
		}
	}
	if entry == nil {
		return nil
	}
	body, err := entry.Body(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", NameInstructions, err)
	}
	var instructions struct {
		Do []json.RawMessage `json:"do"`
	}
	if err := json.Unmarshal(body, &instructions); err != nil {
		return fmt.Errorf("%s: %w", NameInstructions, err)
	}
	for i, text := range instructions.Do {
		if err := t.operate(ctx, text); err != nil {
			return fmt.Errorf("%s: operation %d: %w", NameInstructions, i+1, err)
		}
	}
	return nil
}

// operate does one operation, or answers that it can't.
func (t *turn) operate(ctx context.Context, text json.RawMessage) error {
	var members map[string]json.RawMessage
	var op operation
	if err := errors.Join(json.Unmarshal(text, &members), json.Unmarshal(text, &op)); err != nil {
		return err
	}
	fields, known := fieldsOf(op.Op)
	if !known {
		return t.unsupported(op.Op, "")
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if name != "op" && !slices.Contains(fields, name) {
			return t.unsupported(op.Op, name)
		}
	}
	switch op.Op {
	case "observe":
		return t.observe(ctx)
	case "write":
		return t.write(op)
	case "write-remote":
		return t.session.Write(op.output(nil, op.ContentType))
	case "pause", "sleep":
		return t.suspend(op)
	case "load":
		return t.load(ctx, op)
	case "memory":
		body, err := t.fetcher.memory(ctx, t.log.memory, op.Key)
		return t.answer(NameMemory, readMemory{op.Key, bodyOrError(body, err)})
	case "log":
		_, err := fmt.Fprintln(t.diagnostics, value(op.Text))
		return err
	default:
		return ErrToldToFail
	}
}

// observe reports all that the handler knows.
func (t *turn) observe(ctx context.Context) error {
	entries := t.session.Entries()
	who := t.identity()
	o := observed{
		Session: who.Session, Agent: who.Agent, Metadata: who.Metadata,
		Entries: make([]observedEntry, 0, len(entries)), Events: t.session.Events(),
	}
	if o.Metadata == nil {
		o.Metadata = map[string]string{}
	}
	if o.Events == nil {
		o.Events = []Event{}
	}
	if t.inv.SnapshotKnown {
		o.Snapshot = &who.Snapshot
	}
	for _, e := range entries {
		o.Entries = append(o.Entries, observedEntry{
			Event: e.Event, Name: e.Name, Size: e.Size, ContentType: e.ContentType, SchemaURL: e.SchemaURL,
			Metadata: e.Metadata, outcomeOf: bodyOrError(e.Body(ctx)),
		})
	}
	return t.answer(NameObserved, o)
}

// write appends an entry; each kind of value has its content type unless one is
// named (K2). What is base64 is encoded already, text and JSON are encoded here.
func (t *turn) write(op operation) error {
	given := 0
	for _, is := range []bool{op.Text != nil, op.JSON != nil, op.Base64 != nil} {
		if is {
			given++
		}
	}
	if given > 1 {
		return errors.New("write: one of text, json and base64 is wanted")
	}
	var body []byte
	var contentType string
	var err error
	switch {
	case op.Text != nil:
		body, contentType = []byte(*op.Text), "text/plain"
	case op.JSON != nil:
		body, contentType = op.JSON, "application/json"
	case op.Base64 != nil:
		contentType = "application/octet-stream"
		if body, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(*op.Base64, "=")); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	if op.Base64 == nil {
		body, err = protocol.Compress(op.ContentEncoding, body)
		var unknown *protocol.UnknownEncodingError
		if errors.As(err, &unknown) {
			return t.unsupported(op.Op, "content-encoding")
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	if op.ContentType != "" {
		contentType = op.ContentType
	}
	return t.session.Write(op.output(body, contentType))
}

func (op operation) output(body []byte, contentType string) protocol.Output {
	return protocol.Output{
		URI: op.URI, Data: body, ContentType: contentType, ContentEncoding: op.ContentEncoding, SchemaURL: op.SchemaURL,
		Name: op.Name, Metadata: op.Metadata, Fork: op.Fork, Session: op.Session,
	}
}

// suspend pauses or sleeps (section 10). The duration is written in decimal seconds
// with the digits that the instructions have, so no value is rounded (F47).
func (t *turn) suspend(op operation) error {
	out := protocol.Output{ContentType: protocol.TypePause, Data: []byte(op.Reason)}
	if op.Op == "sleep" {
		if op.Seconds == nil {
			return errors.New("sleep: seconds are wanted")
		}
		if *op.Seconds < 0 {
			return t.unsupported(op.Op, "seconds") // the grammar has no sign
		}
		seconds := strconv.FormatFloat(*op.Seconds, 'f', -1, 64)
		out.Metadata = map[string]string{protocol.MetadataDuration: seconds + "s"}
	}
	return t.session.Write(out)
}

// load looks the latest entry of a name up (K3).
func (t *turn) load(ctx context.Context, op operation) error {
	if op.As != "text" && op.As != "json" && op.As != "bytes" {
		return t.unsupported(op.Op, "as")
	}
	l := loaded{Name: op.Name, As: op.As}
	entry, found := t.session.Latest(op.Name)
	if !found {
		return t.answer(NameLoaded, l)
	}
	l.Found = true
	body, err := entry.Body(ctx)
	switch {
	case err != nil:
		l.Error = err.Error()
	case op.As == "bytes":
		l.Base64 = bodyOrError(body, nil).Body
	case !utf8.Valid(body):
		l.Error = "the body is not UTF-8"
	case op.As == "text":
		text := string(body)
		l.Text = &text
	case !json.Valid(body):
		l.Error = "the body is not JSON"
	default:
		l.JSON = body
	}
	return t.answer(NameLoaded, l)
}

func (t *turn) unsupported(op, field string) error {
	return t.answer(NameUnsupported, unsupported{Op: op, Field: field})
}

// answer writes an entry of the agreement.
func (t *turn) answer(name string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return t.session.Write(protocol.Output{Name: name, ContentType: "application/json", Data: body})
}
