package storage

// Entry is the descriptor of one object of a log or of a memory namespace
// (S4/descriptor). The body lies under its digest.
type Entry struct {
	// Sequence numbers entries from 1 through the whole session (S4/sequence).
	Sequence int64 `json:"sequence"`
	// Digest is "sha256:" and the 64 lower-case hex digits of the stored bytes.
	Digest string `json:"digest"`
	// Size is the number of stored bytes.
	Size int64 `json:"size"`
	// ContentType is the MIME type of the decoded body.
	ContentType string `json:"content-type,omitempty"`
	// ContentEncoding is the coding of the stored bytes.
	ContentEncoding string `json:"content-encoding,omitempty"`
	// SchemaURL is the URL of the body's schema.
	SchemaURL string `json:"schema-url,omitempty"`
	// Name is the descriptor name; in a namespace, the object name.
	Name string `json:"name,omitempty"`
	// Metadata is what the writer attached.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Fork marks the record of a fork (S5/pending-fork).
	Fork bool `json:"fork,omitzero"`
	// TargetSession is the child of a fork; without Fork, the session that this
	// record's body is written to (section 12).
	TargetSession string `json:"target-session,omitempty"`
	// TargetVersion is a version the target had before this record was committed;
	// a delivery of it can only be later. It spares a look at the whole target.
	TargetVersion int64 `json:"target-version,omitzero"`
	// SourceSession and SourceVersion name the snapshot that a cross-session
	// write came from (S6/source-pair).
	SourceSession string `json:"source-session,omitempty"`
	SourceVersion int64  `json:"source-version,omitzero"`
	// Data is the body again when it has at most [InlineLimit] bytes, so that a
	// replay need not open it.
	Data []byte `json:"data,omitempty"`
}

// Inline reports whether Data is the whole body; an empty body is always inline.
func (e Entry) Inline() bool { return int64(len(e.Data)) == e.Size }

// InlineLimit is the largest body in bytes that a snapshot file repeats
// (section 7.1, S1/inline-limit).
const InlineLimit = 1024

// SnapshotType says who committed a snapshot (S3/types).
type SnapshotType string

// The snapshot types.
const (
	// Normal is committed by an invocation, or is a child's first snapshot.
	Normal SnapshotType = "normal"
	// Provisional is written by another session (section 12).
	Provisional SnapshotType = "provisional"
	// Queueing is pushed from outside.
	Queueing SnapshotType = "queueing"
)

// Head is a snapshot without its entries.
type Head struct {
	// Version counts from 1 without gaps (S3/version-step).
	Version int64 `json:"version"`
	// Type says who committed it.
	Type SnapshotType `json:"type,omitempty"`
	// Commit is the token of this commit.
	Commit string `json:"commit"`
	// Base is the sequence number of the last entry before this snapshot.
	Base int64 `json:"base,omitzero"`
	// Count is the number of entries that this snapshot adds.
	Count int64 `json:"count"`
	// Settled is a version of this session up to which every recorded fork,
	// cross-session write and memory write is known to be carried out.
	Settled int64 `json:"settled,omitzero"`
	// Invoked is the latest version, up to this one, that an invocation committed;
	// Controlled is the latest that has a control message. They spare whoever asks
	// for them a look at the whole log.
	Invoked    int64 `json:"invoked,omitzero"`
	Controlled int64 `json:"controlled,omitzero"`
	// Source is the snapshot that a delivery came from, else nil.
	Source *Version `json:"source,omitzero"`
	// Memory are memory writes that were committed together with the entries
	// and are carried out right after, or by the next invocation.
	Memory []MemoryWrite `json:"memory,omitempty"`
}

// Snapshot is a version of a session: the entries that it added, not the whole.
type Snapshot struct {
	Head
	Entries []Entry `json:"entries"`
}

// MemoryWrite is a write to a memory namespace (section 8.4).
type MemoryWrite struct {
	// Namespace may have slashes.
	Namespace string `json:"namespace"`
	// After is a version that the namespace had before the write was recorded;
	// a delivery of it can only be later.
	After int64 `json:"after,omitzero"`
	// Entry is the object; its Name has no slash.
	Entry Entry `json:"entry"`
}
