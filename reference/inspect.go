package reference

import (
	"context"
	"fmt"
	"io"
	"iter"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// Dump is a session as it is stored, without bodies: the neutral session dump.
type Dump struct {
	Session  string            `json:"session"`
	Agent    string            `json:"agent,omitempty"`
	Handler  string            `json:"handler,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Parent   *storage.Version  `json:"parent,omitzero"`
	// Version is the current one; 0 for a session with no snapshot.
	Version   int64          `json:"version"`
	Snapshots []DumpSnapshot `json:"snapshots"`
}

// DumpSnapshot is one version of a [Dump].
type DumpSnapshot struct {
	Version int64                `json:"version"`
	Type    storage.SnapshotType `json:"type"`
	Entries []DumpEntry          `json:"entries"`
}

// DumpEntry is one entry of a [Dump].
type DumpEntry struct {
	Sequence        int64             `json:"sequence"`
	Digest          string            `json:"digest"`
	Size            int64             `json:"size"`
	ContentType     string            `json:"content-type,omitempty"`
	ContentEncoding string            `json:"content-encoding,omitempty"`
	SchemaURL       string            `json:"schema-url,omitempty"`
	Name            string            `json:"name,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	Fork            bool              `json:"fork,omitzero"`
	TargetSession   string            `json:"target-session,omitempty"`
	SourceSession   string            `json:"source-session,omitempty"`
	SourceVersion   int64             `json:"source-version,omitzero"`
	// Control is the decoded body of a control message.
	Control *Control `json:"control,omitzero"`
}

// LogEntry is one entry of a session's log, inherited ones included.
type LogEntry struct {
	// Session and Version name the snapshot that added the entry.
	Session string `json:"session"`
	Version int64  `json:"version"`
	// Type is the snapshot's.
	Type storage.SnapshotType `json:"type"`
	DumpEntry
}

// Replayed reports whether handlers are fed the entry.
func (e LogEntry) Replayed() bool { return e.Control == nil && !e.Fork && e.TargetSession == "" }

// Inspect returns the dump of a session.
func (r *Runtime) Inspect(ctx context.Context, session string) (Dump, error) {
	manifest, err := r.Store.Manifest(ctx, session)
	if err != nil {
		return Dump{}, asRequest(err)
	}
	version, err := r.Store.Version(ctx, session)
	if err != nil {
		return Dump{}, err
	}
	dump := Dump{
		Session: manifest.Session, Agent: manifest.Agent, Handler: manifest.Handler, Metadata: manifest.Metadata,
		Parent: manifest.Parent, Version: version, Snapshots: []DumpSnapshot{},
	}
	for at := int64(1); at <= version; at++ {
		snapshot, err := r.dumpSnapshot(ctx, session, at)
		if err != nil {
			return Dump{}, fmt.Errorf("inspecting session %s: %w", session, err)
		}
		dump.Snapshots = append(dump.Snapshots, snapshot)
	}
	return dump, nil
}

func (r *Runtime) dumpSnapshot(ctx context.Context, session string, version int64) (DumpSnapshot, error) {
	reader, err := r.Store.OpenSnapshot(ctx, session, version)
	if err != nil {
		return DumpSnapshot{}, err
	}
	defer reader.Close()
	snapshot := DumpSnapshot{Version: version, Type: reader.Type, Entries: []DumpEntry{}}
	for entry, err := range reader.Entries() {
		if err != nil {
			return DumpSnapshot{}, err
		}
		dumped, err := r.dumpEntry(ctx, entry)
		if err != nil {
			return DumpSnapshot{}, err
		}
		snapshot.Entries = append(snapshot.Entries, dumped)
	}
	return snapshot, nil
}

func (r *Runtime) dumpEntry(ctx context.Context, entry storage.Entry) (DumpEntry, error) {
	dumped := bareDump(entry)
	if protocol.IsControl(entry.ContentType) {
		control, err := r.readControl(ctx, entry)
		if err != nil {
			return DumpEntry{}, err
		}
		dumped.Control = &control
	}
	return dumped, nil
}

func bareDump(entry storage.Entry) DumpEntry {
	return DumpEntry{
		Sequence: entry.Sequence, Digest: entry.Digest, Size: entry.Size,
		ContentType: entry.ContentType, ContentEncoding: entry.ContentEncoding, SchemaURL: entry.SchemaURL,
		Name: entry.Name, Metadata: entry.Metadata, Fork: entry.Fork, TargetSession: entry.TargetSession,
		SourceSession: entry.SourceSession, SourceVersion: entry.SourceVersion,
	}
}

// Log yields everything in a session's log, in the order of its replay: its
// ancestors' entries up to where it branched off, then its own, control messages
// and the records of forks and writes included. An error ends it.
func (r *Runtime) Log(ctx context.Context, session string) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		manifest, err := r.Store.Manifest(ctx, session)
		if err != nil {
			yield(LogEntry{}, asRequest(err))
			return
		}
		version, err := r.Store.Version(ctx, session)
		if err != nil {
			yield(LogEntry{}, err)
			return
		}
		parts, err := r.chain(ctx, manifest, version)
		if err != nil {
			yield(LogEntry{}, err)
			return
		}
		for entry, err := range r.entries(ctx, parts) {
			logged := LogEntry{Session: entry.In.Session, Version: entry.In.Version, Type: entry.Type}
			if err == nil {
				logged.DumpEntry, err = r.dumpEntry(ctx, entry.Entry)
			}
			if !yield(logged, err) || err != nil {
				return
			}
		}
	}
}

// Body opens the stored body of an entry. Close it when done.
func (r *Runtime) Body(ctx context.Context, entry DumpEntry) (io.ReadCloser, error) {
	return r.Store.OpenBody(ctx, entry.Digest)
}
