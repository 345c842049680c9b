package casefile

import (
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/script"
)

// Runtime is what happens in a runtime case that is data: one session, pushes,
// one run of the scripted handler.
type Runtime struct {
	// Session is the manifest of the session, which the case calls `main`.
	Session Start `yaml:"session,omitempty"`
	// Push is the entries that are pushed before the run, in order.
	Push []Push `yaml:"push,omitempty"`
	// Script is what the handler does; empty: it reads everything and succeeds.
	Script []fakehandler.Op `yaml:"script,omitempty"`
	// Handlers is the named handlers that the run is given besides, each with what
	// it does.
	Handlers map[string][]fakehandler.Op `yaml:"handlers,omitempty"`
	// Run is once (the default) or idle.
	Run string `yaml:"run,omitempty"`
	// Around is what surrounds the run.
	Around `yaml:",inline"`
	// Expect is what must be seen, one block for each requirement.
	Expect []RuntimeExpect `yaml:"-"`
}

// Around is what surrounds a run.
type Around struct {
	// Environment is variables of the runtime's own process. What is driven by a
	// driver can't be given any.
	Environment map[string]string `yaml:"environment,omitempty"`
	// Trace is the trace context that the run is started with.
	Trace Trace `yaml:"trace,omitempty"`
}

// Start is a session's manifest.
type Start struct {
	// Chosen is a session ID to ask for, or {name} for a session of the case.
	Chosen   string            `yaml:"chosen,omitempty"`
	Agent    string            `yaml:"agent,omitempty"`
	Handler  string            `yaml:"handler,omitempty"`
	Metadata map[string]string `yaml:"metadata,omitempty"`
	// Namespaces is the memory namespaces that the case writes to, for runtimes that
	// must be told beforehand (R15).
	Namespaces []string `yaml:"namespaces,omitempty"`
}

// Push is an entry pushed from outside.
type Push struct {
	Name            string            `yaml:"name,omitempty"`
	Body            script.Body       `yaml:"body"`
	ContentType     string            `yaml:"content-type,omitempty"`
	ContentEncoding string            `yaml:"content-encoding,omitempty"`
	SchemaURL       string            `yaml:"schema-url,omitempty"`
	Metadata        map[string]string `yaml:"metadata,omitempty"`
	// Times pushes it this many times; {n} in its name is the count from 1.
	Times int `yaml:"times,omitempty"`
}

// RuntimeExpect is one block of expectations on a runtime. Its checks cite
// Requirement. In a story, the files of `expect` commands have this shape.
type RuntimeExpect struct {
	Requirement string   `yaml:"requirement,omitempty"`
	Readings    []string `yaml:"readings,omitempty"`

	// Session is the session meant, by its name in the case; main when empty.
	Session string `yaml:"session,omitempty"`
	// Run is success or failure: the outcome of the last run.
	Run string `yaml:"run,omitempty"`
	// Says is text that the failure's message contains.
	Says string `yaml:"says,omitempty"`
	// Waited is how long the last run took.
	Waited *Waited `yaml:"waited,omitempty"`
	// Invocations is how often the handler was invoked by the last run.
	Invocations *int `yaml:"invocations,omitempty"`
	// Fed is what the handler of the last invocation was fed.
	Fed *Fed `yaml:"fed,omitempty"`
	// Log is the session's log after the run, parents' entries first, control and
	// fork records included only when WholeLog is set.
	Log *[]EntryMatch `yaml:"log,omitempty"`
	// WholeLog makes Log include control messages and fork records.
	WholeLog bool `yaml:"whole-log,omitempty"`
	// AnyOrder: the entries of Log stand in any order.
	AnyOrder bool `yaml:"any-order,omitempty"`
	// Version is the session's version, from the dump.
	Version *int64 `yaml:"version,omitempty"`
	// Types is the snapshot types in version order, from the dump; pushed stands
	// for the two that a push may have (S3/types).
	Types []string `yaml:"types,omitempty"`
	// Snapshots is the session's snapshots in version order, from the dump. Their
	// versions are 1, 2, 3 and so on.
	Snapshots *[]SnapshotMatch `yaml:"snapshots,omitempty"`
	// Rising: the sequence numbers of every snapshot's entries rise. There has to be
	// a snapshot with two entries.
	Rising bool `yaml:"rising,omitempty"`
	// Manifest is the session's manifest, from the dump.
	Manifest *ManifestMatch `yaml:"manifest,omitempty"`
	// Parent is the parent's name, from the dump.
	Parent string `yaml:"parent,omitempty"`
	// ParentVersion is the version that the dump's parent pointer names.
	ParentVersion *int64 `yaml:"parent-version,omitempty"`
	// AnyOf: at least one of these blocks holds.
	AnyOf []RuntimeExpect `yaml:"any-of,omitempty"`
}

// looksAtDump reports whether the block has a key that comes from the dump.
func (e RuntimeExpect) looksAtDump() bool {
	return e.Version != nil || e.Types != nil || e.Snapshots != nil || e.Rising || e.Manifest != nil || e.Parent != "" ||
		e.ParentVersion != nil
}

// Looks returns what the block, its alternatives left out, is judged by besides
// the run: the session's log, its dump.
func (e RuntimeExpect) Looks() (log, dump bool) { return e.Log != nil, e.looksAtDump() }

// Waited bounds how long a run took. AtMost is multiplied by the run's time scale.
type Waited struct {
	AtLeast script.Duration `yaml:"at-least,omitempty"`
	AtMost  script.Duration `yaml:"at-most,omitempty"`
}

// SnapshotMatch is a snapshot of the dump; only the fields that are given are
// compared.
type SnapshotMatch struct {
	// Type is normal, provisional, queueing, or pushed: one of the last two.
	Type    string        `yaml:"type,omitempty"`
	Entries *[]EntryMatch `yaml:"entries,omitempty"`
}

// ManifestMatch is a manifest as the dump has it; only the fields that are given
// are compared.
type ManifestMatch struct {
	Agent    *string           `yaml:"agent,omitempty"`
	Handler  *string           `yaml:"handler,omitempty"`
	Metadata map[string]string `yaml:"metadata,omitempty"`
}

// Fed is what one invocation's handler was fed.
type Fed struct {
	// Entries is the replayed entries in order.
	Entries *[]EntryMatch `yaml:"entries,omitempty"`
	// Lifecycle is the last Input's event: start, fork, wake or none.
	Lifecycle string `yaml:"lifecycle,omitempty"`
	// MemoryFirst: the first Input, and only that, is the memory announcement.
	MemoryFirst bool `yaml:"memory-first,omitempty"`
	// Stream is rules of section 3 that the stream keeps; see StreamRules.
	Stream []string `yaml:"stream,omitempty"`
	// Environment is variables of the handler; an empty value: absent or empty. On
	// rpc and http those of section 13 are what the request says.
	Environment map[string]string `yaml:"environment,omitempty"`
	// Request is the POST that carried the invocation (rpc and http).
	Request *RequestMatch `yaml:"request,omitempty"`
	// Trace: a valid trace context whose trace ID is the session ID.
	Trace bool `yaml:"trace,omitempty"`
	// Fetched is the answers to the script's fetches, in order.
	Fetched *[]Fetched `yaml:"fetched,omitempty"`
	// ObjectURLs: every entry's url is http://<host>:<port>/sha256:<64 hex>, there is
	// at least one, and the digest is that of the body that the script fetched.
	ObjectURLs bool `yaml:"object-urls,omitempty"`
	// Identical: where an entry has both data and a url, the script fetched the same
	// bytes from there. There has to be an entry whose body is known.
	Identical bool `yaml:"identical,omitempty"`
	// InputClosed: the runtime ended the input stream.
	InputClosed bool `yaml:"input-closed,omitempty"`
	// Slept: the invocation began no earlier than the start-at of the last control
	// message in the session's log.
	Slept bool `yaml:"slept,omitempty"`
}

// RequestMatch is the request of section 2.2; only the fields that are given are
// compared.
type RequestMatch struct {
	Method string `yaml:"method,omitempty"`
	// Path is the path that the request went to. Over HTTP the handler's URL has
	// /handlers/conform.
	Path string `yaml:"path,omitempty"`
	// Query is the parameters; {name} is the ID of a session, and an empty value is
	// a parameter that is there and empty, or absent.
	Query map[string]string `yaml:"query,omitempty"`
	// Headers is header fields; an empty value: absent. Of Content-Type only the
	// media type is compared.
	Headers map[string]string `yaml:"headers,omitempty"`
	// Length: Content-Length is there once, and is the number of bytes in the body,
	// which the script read to its end.
	Length bool `yaml:"length,omitempty"`
	// Loopback: the request came in on a socket of the IPv4 loopback.
	Loopback bool `yaml:"loopback,omitempty"`
}

// Fetched is one answer of the runtime's servers.
type Fetched struct {
	Status int `yaml:"status,omitempty"`
	// Headers is header fields; an empty value: absent.
	Headers map[string]string `yaml:"headers,omitempty"`
	// Body is compared decoded.
	Body *script.Body `yaml:"body,omitempty"`
	// Stored: the bytes that came over the wire are this body with its encoding, and
	// Content-Length, where there is one, is their number.
	Stored *script.Body `yaml:"stored,omitempty"`
}
