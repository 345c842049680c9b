package result

// Dump is the session dump of the agreement with a runtime: what `inspect`
// returns. Empty fields are omitted.
type Dump struct {
	Session   string            `json:"session"`
	Agent     string            `json:"agent,omitempty"`
	Handler   string            `json:"handler,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Parent    *Parent           `json:"parent,omitempty"`
	Version   int64             `json:"version"`
	Snapshots []Snapshot        `json:"snapshots,omitempty"`
}

// Parent is a child session's pointer to its parent (section 11.1).
type Parent struct {
	Session string `json:"session"`
	Version int64  `json:"version"`
}

// Snapshot is one committed version.
type Snapshot struct {
	Version int64   `json:"version"`
	Type    string  `json:"type"` // normal, provisional or queueing
	Entries []Entry `json:"entries,omitempty"`
}

// Entry is one descriptor. In the answer of `log` it also carries Session,
// Version and Body.
type Entry struct {
	Session         string            `json:"session,omitempty"`
	Version         int64             `json:"version,omitempty"`
	Sequence        int64             `json:"sequence,omitempty"`
	Digest          string            `json:"digest,omitempty"`
	Size            int64             `json:"size,omitempty"`
	ContentType     string            `json:"content-type,omitempty"`
	ContentEncoding string            `json:"content-encoding,omitempty"`
	SchemaURL       string            `json:"schema-url,omitempty"`
	Name            string            `json:"name,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	Fork            bool              `json:"fork,omitempty"`
	TargetSession   string            `json:"target-session,omitempty"`
	SourceSession   string            `json:"source-session,omitempty"`
	SourceVersion   int64             `json:"source-version,omitempty"`
	Control         *Control          `json:"control,omitempty"`
	// Body is the stored body in base64.
	Body []byte `json:"body,omitempty"`
}

// Control is the body of a control message (section 9).
type Control struct {
	Status  string `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
	StartAt string `json:"start-at,omitempty"`
}

// Log is the answer of `log`.
type Log struct {
	Entries []Entry `json:"entries"`
}
