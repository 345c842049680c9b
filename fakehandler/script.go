package fakehandler

import "pugmark.dev/conform/script"

// Script is what the scripted handler does, one list of operations for each
// invocation. Invocations past the last list read everything, write nothing and
// succeed. An invocation whose first operation is not a read begins with `read: all`.
type Script struct {
	Turns [][]Op `json:"turns"`
	// First is how many invocations had been recorded in the folder when this
	// script was laid there: the first turn is played to the next one. Below zero,
	// so many turns are passed over: they were played to a folder before this one.
	First int `json:"first"`
}

// Op is one operation; exactly one field is set.
type Op struct {
	// Read is all (to the end of input), lifecycle (until the lifecycle event has
	// arrived), none, or a number of records.
	Read string `yaml:"read,omitempty" json:"read,omitempty"`
	// Emit writes one Output, rendered by the framing in force.
	Emit *Emit `yaml:"emit,omitempty" json:"emit,omitempty"`
	// Pause writes a pause or sleep signal.
	Pause *Pause `yaml:"pause,omitempty" json:"pause,omitempty"`
	// Raw writes bytes on the output stream as they are.
	Raw *script.Body `yaml:"raw,omitempty" json:"raw,omitempty"`
	// Stderr writes to standard error.
	Stderr *script.Body `yaml:"stderr,omitempty" json:"stderr,omitempty"`
	// Framing sets how the Outputs that follow are laid out and delivered.
	Framing *script.Framing `yaml:"framing,omitempty" json:"framing,omitempty"`
	// Fetch makes requests to the servers of section 7 and records the answers.
	Fetch *Fetch `yaml:"fetch,omitempty" json:"fetch,omitempty"`
	// Wait does nothing for this long.
	Wait script.Duration `yaml:"wait,omitempty" json:"wait,omitempty"`
	// WaitFor waits until a file of this name is in the record folder.
	WaitFor string `yaml:"wait-for,omitempty" json:"wait-for,omitempty"`
	// Close closes stdin or stdout (subprocess only).
	Close string `yaml:"close,omitempty" json:"close,omitempty"`
	// Grandchild starts a child that outlives the handler.
	Grandchild *Grandchild `yaml:"grandchild,omitempty" json:"grandchild,omitempty"`
	// Answer shapes the HTTP response (rpc, http); it stands before any Output.
	Answer *script.Answer `yaml:"answer,omitempty" json:"answer,omitempty"`
	// Exit ends the invocation at once with this status (on rpc and http: any
	// but 0 is an answer with status 500).
	Exit *int `yaml:"exit,omitempty" json:"exit,omitempty"`
	// Signal ends the process by sending itself this signal: KILL, SEGV, TERM.
	Signal string `yaml:"signal,omitempty" json:"signal,omitempty"`
	// Hang never ends, and ignores SIGTERM.
	Hang bool `yaml:"hang,omitempty" json:"hang,omitempty"`
}

// Emit is one Output. Only the fields that are set are written.
type Emit struct {
	// URI is where the body is; {file:NAME} is a file of the story.
	URI             string            `yaml:"uri,omitempty" json:"uri,omitempty"`
	Body            *script.Body      `yaml:"body,omitempty" json:"body,omitempty"`
	Data            *string           `yaml:"data,omitempty" json:"data,omitempty"` // raw text of the field
	ContentType     *string           `yaml:"content-type,omitempty" json:"content-type,omitempty"`
	ContentEncoding *string           `yaml:"content-encoding,omitempty" json:"content-encoding,omitempty"`
	SchemaURL       string            `yaml:"schema-url,omitempty" json:"schema-url,omitempty"`
	Name            string            `yaml:"name,omitempty" json:"name,omitempty"`
	Metadata        map[string]string `yaml:"metadata,omitempty" json:"metadata,omitempty"`
	Fork            bool              `yaml:"fork,omitempty" json:"fork,omitempty"`
	// Session is a session ID, or {name} for a session of the case.
	Session string                 `yaml:"session,omitempty" json:"session,omitempty"`
	Extra   map[string]script.JSON `yaml:"extra,omitempty" json:"extra,omitempty"`
	Null    []string               `yaml:"null,omitempty" json:"null,omitempty"`
	// Times writes the record this many times; {n} in its name is the count from 1.
	Times int `yaml:"times,omitempty" json:"times,omitempty"`
}

// Pause is the pause signal of section 10.
type Pause struct {
	Reason string `yaml:"reason,omitempty" json:"reason,omitempty"`
	// Duration is metadata.duration, written as it stands here.
	Duration string `yaml:"duration,omitempty" json:"duration,omitempty"`
}

// Fetch is one or more requests.
type Fetch struct {
	// Entries fetches the url of every replayed entry that has one.
	Entries bool `yaml:"entries,omitempty" json:"entries,omitempty"`
	// Name fetches the url of the latest entry of this name.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Object is a path on the object server, sent as it stands; the server's address
	// is taken from the first entry that has a url.
	Object string `yaml:"object,omitempty" json:"object,omitempty"`
	// Memory is a key, fetched below the announced memory root, each segment
	// percent-encoded once (reading R31).
	Memory string `yaml:"memory,omitempty" json:"memory,omitempty"`
	// MemoryPath is a path on the memory server, sent as it stands.
	MemoryPath string `yaml:"memory-path,omitempty" json:"memory-path,omitempty"`
	// Method replaces GET.
	Method string `yaml:"method,omitempty" json:"method,omitempty"`
	// Parallel makes this many requests at the same time; zero is one.
	Parallel int `yaml:"parallel,omitempty" json:"parallel,omitempty"`
	// Kept makes the requests, and those of other kept fetches, over one connection
	// for each server where the server lets it, and leaves it open until the end.
	Kept bool `yaml:"kept,omitempty" json:"kept,omitempty"`
}

// Grandchild is a process that outlives the handler.
type Grandchild struct {
	// Holds is the streams it keeps open: stdout, stderr.
	Holds []string `yaml:"holds,omitempty" json:"holds,omitempty"`
	// For is how long it lives.
	For script.Duration `yaml:"for" json:"for"`
	// Detached puts it in a session of its own.
	Detached bool `yaml:"detached,omitempty" json:"detached,omitempty"`
}
