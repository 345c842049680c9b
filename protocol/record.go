package protocol

// Input is one record of the stream a runtime sends to a handler (section 4).
// Every field is optional on the wire and a missing one reads as its zero value
// (section 3.2).
type Input struct {
	// Event is one of the Event constants, or empty.
	Event string `json:"event,omitempty"`
	// URL is where GET returns the body; for a memory announcement, the root of
	// the memory server.
	URL string `json:"url,omitempty"`
	// Size is the length in bytes of the body as stored (reading R3).
	Size int64 `json:"size,omitempty"`
	// ContentType is the MIME type of the decoded body.
	ContentType string `json:"content-type,omitempty"`
	// ContentEncoding is the coding of the body as delivered: gzip, zstd, or none.
	ContentEncoding string `json:"content-encoding,omitempty"`
	// SchemaURL is the URL of the body's schema.
	SchemaURL string `json:"schema-url,omitempty"`
	// Name is the descriptor name.
	Name string `json:"name,omitempty"`
	// Metadata is what the entry's writer attached.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Data is the body itself when the runtime inlined it (section 7.1). It is
	// nil when the record carries no data field or a null one, and not nil but
	// empty for an empty string.
	Data []byte `json:"data,omitempty"`
}

// Output is one record of the stream a handler sends to its runtime (section 5).
type Output struct {
	// URI names a stored object that holds the body; Data wins over it.
	URI string `json:"uri,omitempty"`
	// Data is the body inline, of any size; nil and empty as in [Input].
	Data []byte `json:"data,omitempty"`
	// ContentType is the MIME type of the decoded body.
	ContentType string `json:"content-type,omitempty"`
	// ContentEncoding is the coding of the body as written.
	ContentEncoding string `json:"content-encoding,omitempty"`
	// SchemaURL is the URL of the body's schema.
	SchemaURL string `json:"schema-url,omitempty"`
	// Name is the descriptor name; memories/<namespace>/<name> routes the
	// record to a memory namespace (section 8.4).
	Name string `json:"name,omitempty"`
	// Metadata is attached to the entry; on a pause, duration asks for sleep.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Fork makes the entry start a child session (section 11).
	Fork bool `json:"fork,omitempty"`
	// Session is the child's chosen ID with Fork, else the session to write to
	// (section 12).
	Session string `json:"session,omitempty"`
}

// The event values of version 1 (section 6; the set is closed by section 17).
const (
	// EventMemory announces the memory server and is always the first Input.
	EventMemory = "memory"
	// EventPush tags a replayed entry that is new (section 4.3).
	EventPush = "push"
	// EventStart is the lifecycle event of a root session's first invocation.
	EventStart = "start"
	// EventFork is the lifecycle event of a child session's first invocation.
	EventFork = "fork"
	// EventWake is the lifecycle event after a pause or a sleep.
	EventWake = "wake"
	// EventNone is the lifecycle event of any other invocation (reading R1).
	EventNone = ""
	// EventProtocol leads a stream of a later version of the protocol (section 17).
	EventProtocol = "protocol"
)

// The content types that carry meaning (closed by section 17).
const (
	// TypePause marks an Output as a pause or sleep signal (section 10).
	TypePause = "application/vnd.pugmark.pause+text"
	// TypeControl marks an entry as a control message (section 9).
	TypeControl = "application/vnd.pugmark.control+json"
)

// MetadataDuration is the metadata key of a pause that asks for sleep (section 10).
const MetadataDuration = "duration"

// MemoryPrefix begins the name of an Output that is a memory write (section 8.4).
const MemoryPrefix = "memories/"

// InlineLimit is the largest body, in bytes, that a runtime may inline (section 7.1).
const InlineLimit = 1024

// Identity is what a handler may know of its invocation (sections 2.2 and 13).
type Identity struct {
	// Agent is the agent identity; it may be empty.
	Agent string
	// Session is the session ID, 32 lower-case hex digits.
	Session string
	// Snapshot is the version the handler is invoked on.
	Snapshot int64
	// Metadata is the manifest's metadata; nil or empty means there is none.
	Metadata map[string]string
}

// The variables of the subprocess transport and RPC mode (section 13).
const (
	EnvAgent       = "PUGMARK_AGENT_ID"
	EnvSession     = "PUGMARK_SESSION_ID"
	EnvMetadata    = "PUGMARK_SESSION_METADATA"
	EnvRPCURL      = "PUGMARK_RPC_URL"
	EnvTraceParent = "TRACEPARENT"
	EnvTraceState  = "TRACESTATE"
)

// The parts of the invocation request of the HTTP RPC transport (section 2.2).
const (
	QueryAgent     = "agent"
	QuerySession   = "session"
	QuerySnapshot  = "snapshot"
	HeaderMetadata = "X-Pugmark-Session-Metadata"
	// RPCURL is the value of PUGMARK_RPC_URL: descriptor 3 is a listening socket.
	RPCURL = "fd://3"
)

// The names of the three transports, as cases, subjects and reports write them.
const (
	TransportSubprocess = "subprocess"
	TransportRPC        = "rpc"
	TransportHTTP       = "http"
)

// IsZero reports whether every field of the record is empty. In the middle of a
// stream such a record is a no-op (section 3, P3/no-op-record); at its end it is
// the empty lifecycle event (readings R1 and R27).
func (in Input) IsZero() bool {
	return in.Event == "" && in.URL == "" && in.Size == 0 && in.ContentType == "" &&
		in.ContentEncoding == "" && in.SchemaURL == "" && in.Name == "" &&
		len(in.Metadata) == 0 && len(in.Data) == 0
}

// IsZero reports whether every field of the record is empty: a no-op that adds
// nothing to the session (section 3, P3/no-op-output).
func (out Output) IsZero() bool {
	return out.URI == "" && len(out.Data) == 0 && out.ContentType == "" &&
		out.ContentEncoding == "" && out.SchemaURL == "" && out.Name == "" &&
		len(out.Metadata) == 0 && !out.Fork && out.Session == ""
}
