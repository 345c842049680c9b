package casefile

import (
	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/script"
)

// Case is one case file. Exactly one of Handler, Runtime and Story is set.
type Case struct {
	// ID is the path below the cases folder without its extension:
	// handler/framing/no-whitespace.
	ID string
	// Kind is handler or runtime: the first segment of the ID.
	Kind string
	// File is the path that errors and annotations point at.
	File string
	// Digest is of the file's bytes, sha256:<hex>: evidence of a case that has changed
	// since is told by it. It is empty for a case that no file is behind.
	Digest string
	// Why is one sentence that says which sentence of the protocol the case rests on.
	Why string
	// Covers is the requirements that the case puts to the test, in order.
	Covers []string
	// Readings is the readings that the whole case rests on.
	Readings []string
	// Needs is the features that the subject has to claim.
	Needs []string
	// Transports is where the case makes sense; empty means everywhere.
	Transports []string
	// Limit is the time limit of the case; zero means DefaultLimit, and
	// DefaultStoryLimit for a story.
	Limit script.Duration

	Handler *Handler
	Runtime *Runtime
	Story   *Story
}

// Handler is what happens in a handler case, and what must be seen.
type Handler struct {
	// Identity is what the handler is told of its invocation.
	Identity Identity `yaml:"identity,omitempty"`
	// Environment is further variables of the handler's process. On rpc and http
	// a case that has some starts a process of its own.
	Environment map[string]string `yaml:"environment,omitempty"`
	// Trace is the trace context of the invocation; by default a fresh span of
	// the session's trace.
	Trace Trace `yaml:"trace,omitempty"`
	// Input is the stream.
	Input fakeruntime.Script `yaml:"input"`
	// Control is a second invocation of the same handler, made before the main
	// one. What it expects is a premise: when it does not hold, the subject gives
	// no way to see what the case is about, and its checks are not run.
	Control *Control `yaml:"control,omitempty"`
	// Beside is a second invocation of the same process, which is in flight while the
	// main one is played. It is for subjects that claim `concurrent`, on rpc and http.
	Beside *Beside `yaml:"beside,omitempty"`
	// Invocations is how often the stream is played; zero is once. Each must meet
	// the expectations.
	Invocations int `yaml:"invocations,omitempty"`
	// KeepServers keeps the servers of each invocation, the control's too, up until
	// the case is over, for `own-servers`.
	KeepServers bool `yaml:"keep-servers,omitempty"`
	// Expect is what must be seen, one block for each requirement.
	Expect []HandlerExpect `yaml:"-"`
}

// Control is the premise of a case that could be met by doing nothing.
type Control struct {
	// Input is the stream. The framing fields that are absent are the zero
	// framing, not the main stream's; records that are absent are the main
	// stream's.
	Input fakeruntime.Script `yaml:"input"`
	// Environment and Identity replace the main ones when given.
	Environment map[string]string `yaml:"environment,omitempty"`
	Identity    *Identity         `yaml:"identity,omitempty"`
	Expect      HandlerExpect     `yaml:"expect"`
}

// Beside is an invocation that is in flight while the main one is played: all of
// its input but the last record is sent, then the main invocation is played until
// its answer has come, then the last record follows and this answer is waited for.
// What it expects is judged like what the case expects.
type Beside struct {
	// Identity is what the handler is told of this invocation; without a session it
	// has another one than the main invocation.
	Identity Identity `yaml:"identity,omitempty"`
	// Input is the stream. A handler has read what stands well before a record with a
	// `filler` of a million bytes when the main invocation begins: nothing else tells
	// that a request was taken up before there is an answer.
	Input fakeruntime.Script `yaml:"input"`
	// Expect is what must be seen of this invocation, one block for each requirement.
	Expect []HandlerExpect `yaml:"expect"`
}

// Identity is what a handler is told of its invocation. Fields that are absent
// have a default: agent conform-agent, a session ID made from the seed,
// snapshot 1, no metadata. An empty agent is written "".
type Identity struct {
	Agent    *string           `yaml:"agent,omitempty"`
	Session  string            `yaml:"session,omitempty"`
	Snapshot *int64            `yaml:"snapshot,omitempty"`
	Metadata map[string]string `yaml:"metadata,omitempty"`
}

// Trace is a W3C trace context. None leaves it out.
type Trace struct {
	Parent string `yaml:"parent,omitempty"`
	State  string `yaml:"state,omitempty"`
	None   bool   `yaml:"none,omitempty"`
}

// HandlerExpect is one block of expectations, all of which must hold. Its checks
// cite Requirement.
type HandlerExpect struct {
	// Requirement is needed when the case covers several.
	Requirement string `yaml:"requirement,omitempty"`
	// Readings is what these checks rest on, besides the case's.
	Readings []string `yaml:"readings,omitempty"`

	// Exit is "0" (the invocation succeeds: status 0, or a whole 200 answer),
	// "failure" (it ends by itself in any other way), or "any" (it ends by itself).
	Exit string `yaml:"exit,omitempty"`
	// Observed is what the handler says it saw, in conform/observed.
	Observed *Observed `yaml:"observed,omitempty"`
	// Outputs is the Outputs, in order, besides the conform/ answers.
	Outputs *[]OutputMatch `yaml:"outputs,omitempty"`
	// Silent: no Output at all.
	Silent bool `yaml:"silent,omitempty"`
	// Loaded and Memory are the answers to load and memory, in order.
	Loaded []LoadedMatch `yaml:"loaded,omitempty"`
	Memory []MemoryMatch `yaml:"memory,omitempty"`
	// Stream is rules of section 3 that the handler's stream keeps, with at least
	// one record to show it; see StreamRules.
	Stream []string `yaml:"stream,omitempty"`
	// Stderr is text that the handler's diagnostics contain.
	Stderr string `yaml:"stderr,omitempty"`
	// Fetches is requests that the servers saw.
	Fetches []FetchMatch `yaml:"fetches,omitempty"`
	// BeforeClose: the handler ended before its held input was closed.
	BeforeClose bool `yaml:"before-close,omitempty"`
	// AfterLifecycle: no Output came before the last record, which is `late`, went out.
	AfterLifecycle bool `yaml:"after-lifecycle,omitempty"`
	// OwnServers: the handler asked the servers of its own invocation, and none of
	// the earlier ones, which are kept up.
	OwnServers bool `yaml:"own-servers,omitempty"`
	// SameOutputs: all invocations of the case gave the same Outputs.
	SameOutputs bool `yaml:"same-outputs,omitempty"`
	// Delivered is the least number of separate writes that the input went out in;
	// it holds the harness to what the case says.
	Delivered int `yaml:"delivered,omitempty"`
	// AnyOf: at least one of these blocks holds.
	AnyOf []HandlerExpect `yaml:"any-of,omitempty"`
}

// Observed is conform/observed; only the fields that are given are compared.
type Observed struct {
	Session  *string           `yaml:"session,omitempty"`
	Agent    *string           `yaml:"agent,omitempty"`
	Snapshot *int64            `yaml:"snapshot,omitempty"`
	Metadata map[string]string `yaml:"metadata,omitempty"`
	// Entries is the log entries in order; the instructions, lifecycle records and
	// entries that are wholly empty are left out of the comparison.
	Entries *[]EntryMatch `yaml:"entries,omitempty"`
	// Events is the typed events, in order.
	Events *[]EventMatch `yaml:"events,omitempty"`
	// OnlyEntries: the reading call yields log entries and nothing else.
	OnlyEntries bool `yaml:"only-entries,omitempty"`
}

// EntryMatch is an entry as a peer must see it; only the fields that are given
// are compared, and an empty one must be empty or absent.
type EntryMatch struct {
	Event           *string           `yaml:"event,omitempty"`
	Name            *string           `yaml:"name,omitempty"`
	Size            *int64            `yaml:"size,omitempty"`
	ContentType     *string           `yaml:"content-type,omitempty"`
	ContentEncoding *string           `yaml:"content-encoding,omitempty"`
	SchemaURL       *string           `yaml:"schema-url,omitempty"`
	Metadata        map[string]string `yaml:"metadata,omitempty"`
	// Body is compared decoded. Error wants the peer to report an error instead.
	Body  *script.Body `yaml:"body,omitempty"`
	Error bool         `yaml:"error,omitempty"`
	// Fork, Target, Source and Control are for a runtime's log and dump; Target
	// and Source are session names of the case.
	Fork *bool `yaml:"fork,omitempty"`
	// `fork: false` wants no target either.
	Target string `yaml:"target,omitempty"`
	Source string `yaml:"source,omitempty"`
	// SourceVersion is the version that a write from another session carries.
	SourceVersion *int64        `yaml:"source-version,omitempty"`
	Control       *ControlMatch `yaml:"control,omitempty"`
	// Inline wants the body in data (true) or not (false), on a fed Input.
	Inline *bool `yaml:"inline,omitempty"`
}

// ControlMatch is a control message.
type ControlMatch struct {
	Status  *string `yaml:"status,omitempty"`
	Reason  *string `yaml:"reason,omitempty"`
	StartAt *bool   `yaml:"start-at,omitempty"` // whether there is one
	// After is how long after the commit its start-at is. The commit is known to lie
	// within the session's last run.
	After script.Duration `yaml:"after,omitempty"`
}

// EventMatch is a typed event of an SDK.
type EventMatch struct {
	Event string  `yaml:"event"`
	Name  *string `yaml:"name,omitempty"`
}

// OutputMatch is an Output as it must stand on the wire.
type OutputMatch struct {
	URI             *string           `yaml:"uri,omitempty"`
	Body            *script.Body      `yaml:"body,omitempty"` // compared decoded
	ContentType     *string           `yaml:"content-type,omitempty"`
	ContentEncoding *string           `yaml:"content-encoding,omitempty"`
	SchemaURL       *string           `yaml:"schema-url,omitempty"`
	Name            *string           `yaml:"name,omitempty"`
	Metadata        map[string]string `yaml:"metadata,omitempty"`
	Fork            *bool             `yaml:"fork,omitempty"`
	Session         *string           `yaml:"session,omitempty"`
	// Duration is metadata.duration by value: "1.5s" matches "1500ms".
	Duration *script.Duration `yaml:"duration,omitempty"`
}

// LoadedMatch is the answer to load.
type LoadedMatch struct {
	Name  string      `yaml:"name"`
	Found *bool       `yaml:"found,omitempty"`
	Text  *string     `yaml:"text,omitempty"`
	JSON  script.JSON `yaml:"json,omitempty"`
	Bytes *string     `yaml:"base64,omitempty"`
	Error bool        `yaml:"error,omitempty"`
}

// MemoryMatch is the answer to memory.
type MemoryMatch struct {
	Key   string       `yaml:"key"`
	Body  *script.Body `yaml:"body,omitempty"`
	Error bool         `yaml:"error,omitempty"`
}

// FetchMatch is a request that a server saw.
type FetchMatch struct {
	// Entry is the name of the record whose url was asked for; Memory a key.
	Entry  string `yaml:"entry,omitempty"`
	Memory string `yaml:"memory,omitempty"`
	// Method is GET when empty.
	Method string `yaml:"method,omitempty"`
	// AtLeast and AtMost count such requests; AtLeast is 1 when both are absent.
	AtLeast *int `yaml:"at-least,omitempty"`
	AtMost  *int `yaml:"at-most,omitempty"`
	// SameTrace: each carries a valid traceparent with the invocation's trace ID.
	SameTrace bool `yaml:"same-trace,omitempty"`
	// Path is an exact path as sent.
	Path string `yaml:"path,omitempty"`
}

// Story is a .txtar case: its script and its files.
type Story struct {
	Script string
	// ScriptLine is the line of the file that the script begins on.
	ScriptLine int
	Files      map[string][]byte
	// Expects is the parsed expectation files, by name.
	Expects map[string][]RuntimeExpect
	// Kills tells that the story kills the runtime.
	Kills bool
}

// StreamRules maps the words of `stream` to the requirement that each is about.
// They are facts about emitted bytes, judged from the raw stream.
func StreamRules() map[string]string {
	return map[string]string{
		"single-object":      "P3/single-object",
		"never-split":        "P3/never-split",
		"utf8":               "P3/utf8",
		"no-bom":             "P3/no-bom",
		"no-foreign-content": "P3/no-foreign-content",
		"trailing-lf":        "P3/trailing-lf",
		"standard-alphabet":  "P3.1/standard-alphabet",
		"no-line-breaks":     "P3.1/no-line-breaks",
		"omit-empty":         "P3.2/omit-empty",
		"closed-fields":      "P17/closed-fields",
		"closed-events":      "P17/closed-events",
	}
}
