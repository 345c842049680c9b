package subject

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The types of this file are the agreement with a driver: one request a line on
// its stdin, one answer a line on its stdout. The tag `means` is the manual of a
// field; the published schema and the table of DriverOps are made from it. A
// field with omitempty is left out when it has no value.

//go:embed driver.schema.json
var driverSchema []byte

// DriverSchema is the JSON Schema (draft 2020-12) of what goes between the harness
// and a driver: `#/$defs/Request` and `#/$defs/Answer`, and for each operation
// its own `start-request`, `start-ok` and so on.
func DriverSchema() []byte { return driverSchema }

// opQuit ends a driver; it is no operation of a Runtime.
const opQuit = "quit"

// callHead is what all requests about a store have.
type callHead struct {
	ID    int64  `json:"id" means:"which request it is; the answer has the same"`
	Op    string `json:"op" means:"the operation"`
	Store string `json:"store" means:"the absolute path of a fresh folder for the case; it may not exist yet, and whoever opens it later finds what earlier drivers left"`
}

func (c *callHead) name() (id int64, op string) { return c.ID, c.Op }

type startCall struct {
	callHead
	Session    string            `json:"session,omitempty" means:"the ID that the session is to have, 32 lower-case hex digits; absent: the runtime makes one up"`
	Agent      string            `json:"agent,omitempty" means:"the agent identity"`
	Handler    string            `json:"handler,omitempty" means:"the name of the session's handler (section 15); absent: the default one"`
	Metadata   map[string]string `json:"metadata,omitempty" means:"the session's metadata"`
	Namespaces []string          `json:"namespaces,omitempty" means:"the memory namespaces that the case uses, for a runtime that must be told (R15)"`
}

type startOK struct {
	Session string `json:"session" means:"the session's ID, 32 lower-case hex digits and not all zero"`
}

type pushCall struct {
	callHead
	Session         string            `json:"session" means:"the session that the entry is appended to"`
	Body            []byte            `json:"body" means:"the body as it is to be stored, in standard base64"`
	Name            string            `json:"name,omitempty" means:"the entry's name"`
	ContentType     string            `json:"content-type,omitempty" means:"the MIME type of the decoded body"`
	ContentEncoding string            `json:"content-encoding,omitempty" means:"how the body is encoded already"`
	SchemaURL       string            `json:"schema-url,omitempty" means:"the URL of the body's schema"`
	Metadata        map[string]string `json:"metadata,omitempty" means:"the entry's metadata"`
}

type pushOK struct {
	Version *int64 `json:"version,omitempty" means:"the version that holds the entry"`
}

type runCall struct {
	callHead
	Session string `json:"session" means:"the session that is run"`
	Once    bool   `json:"once" means:"true: one invocation; false: until the session is idle or paused. Both wait out a sleep"`
	HandlerSpec
	Handlers    map[string]HandlerSpec `json:"handlers,omitempty" means:"the named handlers, each with one of command, rpc and url"`
	TraceParent string                 `json:"traceparent,omitempty" means:"the incoming trace context"`
	TraceState  string                 `json:"tracestate,omitempty" means:"the incoming trace state"`
}

type runOK struct {
	Version *int64 `json:"version,omitempty" means:"the session's version after the run"`
	State   string `json:"state,omitempty" means:"how the run left the session: ran, idle or paused"`
}

type logCall struct {
	callHead
	Session string `json:"session" means:"the session whose log is read"`
}

type logOK struct {
	Entries []logEntry `json:"entries" means:"the whole log in order, inherited entries first, control messages and the records of forks and writes included"`
}

type inspectCall struct {
	callHead
	Session string `json:"session" means:"the session that is dumped"`
}

// dump is the neutral session dump.
type dump struct {
	Session   string            `json:"session" means:"the session's ID"`
	Agent     string            `json:"agent,omitempty" means:"the agent identity"`
	Handler   string            `json:"handler,omitempty" means:"the name of its handler"`
	Metadata  map[string]string `json:"metadata,omitempty" means:"the session's metadata"`
	Parent    *dumpVersion      `json:"parent,omitempty" means:"for a child: the session and version that it branched off from"`
	Version   int64             `json:"version" means:"the current version; 0 without a snapshot"`
	Snapshots []dumpSnapshot    `json:"snapshots" means:"every version from 1 on"`
}

type dumpVersion struct {
	Session string `json:"session" means:"a session"`
	Version int64  `json:"version" means:"a version of it"`
}

type dumpSnapshot struct {
	Version int64       `json:"version" means:"the snapshot's version"`
	Type    string      `json:"type" means:"normal, provisional or queueing"`
	Entries []dumpEntry `json:"entries" means:"the entries that this version added"`
}

type dumpEntry struct {
	Sequence        int64             `json:"sequence" means:"the sequence number"`
	Digest          string            `json:"digest" means:"sha256: and 64 lower-case hex digits"`
	Size            int64             `json:"size" means:"the body's size in bytes (R3)"`
	ContentType     string            `json:"content-type,omitempty" means:"the MIME type"`
	ContentEncoding string            `json:"content-encoding,omitempty" means:"the encoding"`
	SchemaURL       string            `json:"schema-url,omitempty" means:"the schema's URL"`
	Name            string            `json:"name,omitempty" means:"the name"`
	Metadata        map[string]string `json:"metadata,omitempty" means:"the entry's metadata"`
	Fork            bool              `json:"fork,omitempty" means:"true for the record of a fork"`
	TargetSession   string            `json:"target-session,omitempty" means:"the child of a fork, or the session that a write goes to"`
	SourceSession   string            `json:"source-session,omitempty" means:"who wrote a cross-session entry"`
	SourceVersion   int64             `json:"source-version,omitempty" means:"the writer's version"`
	Control         *dumpControl      `json:"control,omitempty" means:"the decoded body of a control message"`
}

type dumpControl struct {
	Status  string `json:"status" means:"stopped"`
	Reason  string `json:"reason,omitempty" means:"the reason of the pause"`
	StartAt string `json:"start-at,omitempty" means:"the end of a sleep, RFC 3339"`
}

// logEntry is an entry of a log: a dump's, with where it stands and its body.
type logEntry struct {
	Session string `json:"session" means:"the session whose snapshot added the entry"`
	Version int64  `json:"version" means:"that snapshot's version"`
	dumpEntry
	Body []byte `json:"body" means:"the stored body in standard base64"`
}

type quitCall struct {
	ID int64  `json:"id" means:"which request it is"`
	Op string `json:"op" means:"the operation"`
}

func (c *quitCall) name() (id int64, op string) { return c.ID, c.Op }

type quitOK struct{}

// driverAnswer is one line of a driver's stdout. A null counts as absent, and so
// does an `unsupported` that is false; exactly one of the three has to be left.
type driverAnswer struct {
	ID          *int64         `json:"id" means:"the request's"`
	OK          jsontext.Value `json:"ok,omitempty" means:"what the operation gave"`
	Error       *driverError   `json:"error,omitempty" means:"why the operation did not succeed"`
	Unsupported bool           `json:"unsupported,omitempty" means:"true: the runtime has no such operation, or not with these fields"`
}

type driverError struct {
	Message string    `json:"message" means:"for people"`
	Kind    ErrorKind `json:"kind" means:"failed-invocation: the handler of a run failed; request: what was asked can't be done, and nothing was changed; internal: anything else"`
}

// driverOp is one operation of the agreement.
type driverOp struct {
	name, does  string
	request, ok reflect.Type
}

func driverOps() []driverOp {
	return []driverOp{
		{opStart, "creates a session; one that exists is returned as it is", reflect.TypeFor[startCall](), reflect.TypeFor[startOK]()},
		{opPush, "appends an entry from outside; a session that does not exist is an error of kind `request`", reflect.TypeFor[pushCall](), reflect.TypeFor[pushOK]()},
		{opRun, "invokes the session's handler; what was committed before an invocation failed stays. It may be answered late, and requests after it are answered meanwhile", reflect.TypeFor[runCall](), reflect.TypeFor[runOK]()},
		{opLog, "reads the log", reflect.TypeFor[logCall](), reflect.TypeFor[logOK]()},
		{opInspect, "reads the session dump", reflect.TypeFor[inspectCall](), reflect.TypeFor[dump]()},
		{opQuit, "ends the driver, and the handlers that still run; so does the end of its stdin", reflect.TypeFor[quitCall](), reflect.TypeFor[quitOK]()},
	}
}

// DriverOps is the agreement with a driver as Markdown tables: the operations,
// and the fields of what is asked and answered.
func DriverOps() string {
	var b strings.Builder
	b.WriteString("| op | request | `ok` | does |\n|---|---|---|---|\n")
	common := reflect.TypeFor[callHead]()
	for _, op := range driverOps() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", op.name, fieldNames(op.request, common), fieldNames(op.ok, nil), op.does)
	}
	b.WriteString("\nA field with `?` may be absent. The fields of requests:\n\n| op | field | type | means |\n|---|---|---|---|\n")
	fieldRows(&b, "every", common, nil)
	for _, op := range driverOps() {
		fieldRows(&b, "`"+op.name+"`", op.request, common)
	}
	b.WriteString("\nThe fields of answers:\n\n| in | field | type | means |\n|---|---|---|---|\n")
	fieldRows(&b, "answer", reflect.TypeFor[driverAnswer](), nil)
	fieldRows(&b, "`error`", reflect.TypeFor[driverError](), nil)
	for _, op := range driverOps() {
		fieldRows(&b, "`ok` of `"+op.name+"`", op.ok, nil)
	}
	for _, part := range []struct {
		in string
		of reflect.Type
	}{
		{"entry of `log`", reflect.TypeFor[logEntry]()}, {"parent", reflect.TypeFor[dumpVersion]()}, {"snapshot", reflect.TypeFor[dumpSnapshot]()},
		{"entry of a snapshot", reflect.TypeFor[dumpEntry]()}, {"control", reflect.TypeFor[dumpControl]()},
	} {
		// The two kinds of entry share most of their fields.
		except := reflect.Type(nil)
		if part.of == reflect.TypeFor[logEntry]() {
			except = reflect.TypeFor[dumpEntry]()
			part.in += ", beside those of a snapshot's"
		}
		fieldRows(&b, part.in, part.of, except)
	}
	return b.String()
}

// driverField is a field as it goes over the wire.
type driverField struct {
	name, kind, means string
	optional          bool
}

// fieldsOf returns the fields of a struct, those of embedded ones in their place;
// those of except are left out.
func fieldsOf(t, except reflect.Type) []driverField {
	var list []driverField
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			if f.Type != except {
				list = append(list, fieldsOf(f.Type, except)...)
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		list = append(list, driverField{name, kindOf(f.Type), f.Tag.Get("means"), strings.Contains(options, "omitempty")})
	}
	return list
}

func fieldNames(t, except reflect.Type) string {
	var names []string
	for _, f := range fieldsOf(t, except) {
		if t == reflect.TypeFor[quitCall]() {
			break // what every request has
		}
		name := "`" + f.name + "`"
		if f.optional {
			name += "?"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func fieldRows(b *strings.Builder, in string, t, except reflect.Type) {
	if t == reflect.TypeFor[quitCall]() {
		return
	}
	for _, f := range fieldsOf(t, except) {
		mark := ""
		if f.optional {
			mark = "?"
		}
		fmt.Fprintf(b, "| %s | `%s`%s | %s | %s |\n", in, f.name, mark, f.kind, f.means)
	}
}

// kindOf is a type in the words of JSON.
func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[jsontext.Value]():
		return "object"
	case t == reflect.TypeFor[[]byte]():
		return "base64"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Slice:
		return "list of " + kindOf(t.Elem()) + "s"
	case reflect.Map:
		return "object of " + kindOf(t.Elem()) + "s"
	case reflect.Struct:
		return "object"
	}
	return "integer"
}

// answerOf decodes a line strictly: exact names, no duplicates, UTF-8. Fields that
// nobody knows are passed over. The error says what is wrong with it.
func answerOf(line []byte) (driverAnswer, error) {
	var a driverAnswer
	if err := json.Unmarshal(line, &a); err != nil {
		return a, err
	}
	if string(a.OK) == "null" {
		a.OK = nil
	}
	given := 0
	for _, there := range []bool{a.OK != nil, a.Error != nil, a.Unsupported} {
		if there {
			given++
		}
	}
	switch {
	case a.ID == nil:
		return a, fmt.Errorf("it has no `id`")
	case given != 1:
		return a, fmt.Errorf("it is to have one of `ok`, `error` and `unsupported`, and has %d of them", given)
	case a.OK != nil && a.OK.Kind() != '{':
		return a, fmt.Errorf("`ok` is to be an object")
	}
	return a, nil
}

// maxMessage is how many bytes of a driver's message are kept.
const maxMessage = 4096

// outcome is what an answer means for the operation that it answers. wrong says
// why it is none, and take looks into the `ok`.
func (a driverAnswer) outcome(op string, take func(jsontext.Value) error) (failure *Error, wrong error) {
	switch {
	case a.Unsupported:
		return &Error{op, Unsupported, "the driver says that it does not support this"}, nil
	case a.OK != nil:
		if err := take(a.OK); err != nil {
			return nil, fmt.Errorf("`ok` of %s: %w", op, err)
		}
		return nil, nil
	}
	switch a.Error.Kind {
	case BadRequest, Internal:
	case FailedInvocation:
		if op != opRun {
			return nil, fmt.Errorf("%s can't be a failed invocation", op)
		}
	default:
		return nil, fmt.Errorf("the kind of an error is %s, %s or %s, not %s", FailedInvocation, BadRequest, Internal, quoted([]byte(a.Error.Kind)))
	}
	message := cut(a.Error.Message, maxMessage)
	if message == "" {
		message = "the driver gave no message"
	}
	return &Error{op, a.Error.Kind, message}, nil
}
